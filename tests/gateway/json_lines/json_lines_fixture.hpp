#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/sink.hpp"
#include "tests/gateway/sinks/events.hpp"

namespace millpond::gateway {

/// A sink of JSON lines without a thread: the test runs it and publishes to it.
template <class Sink>
class JsonLinesFixture : public ::testing::Test {
protected:
    static constexpr std::int64_t kPatienceNs = 20'000'000'000;
    static constexpr int kSmallBuffer = 4'096;

    /// Constructs the sink with these arguments and names its instruments.
    template <class... Arguments>
    void make(Arguments&&... arguments) {
        sink_.emplace(std::forward<Arguments>(arguments)...,
                      [this](service::Severity, std::string_view, const std::string& text) { said_.push_back(text); });
        for (feed::InstrumentId id = 0; id < symbols_.size(); ++id) {
            sink_->name(id, feed::Venue{"X"}, feed::Symbol{symbols_[id]}, feed::kDefaultDecimals);
        }
    }

    /// Runs the sink until `done` returns true; false after a timeout.
    bool run_until(const std::function<bool()>& done, std::int64_t skipped_ns = 0) {
        return run_until_by([&] { return core::monotonic_nanos() + skipped_ns; }, done);
    }
    /// Runs the sink until `done` returns true with its clock stopped, so that no interval of a client ends.
    bool run_until_at(std::int64_t monotonic_ns, const std::function<bool()>& done) {
        return run_until_by([&] { return monotonic_ns; }, done);
    }
    template <class Client>
    bool run_until_lines(Client& client, std::size_t count) {
        return run_until([&] {
            client.receive();
            return client.lines().size() >= count;
        });
    }
    template <class Client>
    bool run_until_over(Client& client, std::int64_t skipped_ns = 0) {
        return run_until(
            [&] {
                client.receive();
                return client.over();
            },
            skipped_ns);
    }
    /// Publishes `count` quotes, of each instrument in turn.
    void publish(std::uint64_t count, std::size_t instruments = 2) {
        for (std::uint64_t i = 0; i < count; ++i) {
            ++number_;
            sink_->on(quote_of(static_cast<feed::InstrumentId>(i % instruments), static_cast<feed::Price>(number_)),
                      number_);
        }
    }
    /// Requests the client's account from the sink, as the last line.
    template <class Client>
    Account account_of(Client& client) {
        const auto accounts = [&] {
            client.receive();
            std::vector<std::string> lines;
            for (const auto& line : client.lines()) {
                if (line.starts_with("{\"type\":\"account\"")) lines.push_back(line);
            }
            return lines;
        };
        sink_->step(core::monotonic_nanos());
        const auto before = accounts().size();
        client.send_text("{\"account\":true}\n");
        std::string last;
        EXPECT_TRUE(run_until([&] {
            const auto now = accounts();
            if (now.size() == before) return false;
            last = now.back();
            return true;
        }));
        const auto part = [&](std::string_view key) { return static_cast<std::uint64_t>(number_in(last, key)); };
        return {.published = part("published"),
                .delivered = part("delivered"),
                .filtered = part("filtered"),
                .conflated = part("conflated"),
                .missed = part("missed"),
                .queued = part("queued"),
                .snapshot = part("snapshot")};
    }

    bool run_until_by(const std::function<std::int64_t()>& clock, const std::function<bool()>& done) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (!done()) {
            if (core::monotonic_nanos() > deadline) return false;
            sink_->wait(std::chrono::milliseconds{1});
            sink_->step(clock());
        }
        return true;
    }

    std::vector<std::string> symbols_{"AAPL", "MSFT"};
    std::optional<Sink> sink_;
    std::vector<std::string> said_;
    std::uint64_t number_{0};
};

}  // namespace millpond::gateway
