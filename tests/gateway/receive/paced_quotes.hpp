#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include <millpond/core/clock.hpp>
#include <millpond/feed/quotes_encoder.hpp>

#include "gateway/gateway.hpp"
#include "gateway/sinks/consumer.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/gateway/sinks/events.hpp"

namespace millpond::gateway::test {

/// Number of quotes that a test of a broker sends: MILLPOND_BROKER_QUOTES, or `usual` if unset.
inline std::uint64_t broker_quotes(std::uint64_t usual) {
    const char* wanted = std::getenv("MILLPOND_BROKER_QUOTES");
    return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

/// Sends quotes of several symbols in turn to a running gateway, the n-th with the bid n, at the rate at which the
/// gateway receives them, so that none is lost.
class PacedQuotes {
public:
    static constexpr std::uint64_t kSymbols = 16;
    static constexpr std::uint64_t kMaxOnTheWay = 1'000;

    /// follower: a consumer that the ring must never lap; the ring holds at least four times kMaxOnTheWay.
    explicit PacedQuotes(RunningGateway& gateway, const Consumer* follower = nullptr)
        : gateway_(gateway), follower_(follower) {}

    static std::string symbol(std::uint64_t n) { return "S" + std::to_string(n % kSymbols); }
    /// Number of the newest of the first `count` quotes with the symbol of the n-th.
    static std::uint64_t newest_of(std::uint64_t n, std::uint64_t count) {
        return count - (count - n % kSymbols) % kSymbols;
    }

    /// Sends quotes until `count` have been sent in total.
    void send_up_to(std::uint64_t count) {
        std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
        while (sent_ < count) {
            while (published() + kMaxOnTheWay < sent_ || consumed() + kMaxOnTheWay < published()) {
                std::this_thread::yield();
            }
            encoder_.begin(buffer);
            while (sent_ < count && add(sent_ + 1)) ++sent_;
            gateway_.send(encoder_.finish(core::utc_nanos()));
        }
    }
    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
    /// Number of events on the ring, including those of the feed's start.
    [[nodiscard]] std::uint64_t published() const {
        return gateway_.gateway().pipelines().front()->publisher().published().read();
    }
    /// Expects that the receive path has received all quotes without a counted loss, error or rejection.
    void expect_all_received() {
        Totals totals;
        EXPECT_TRUE(gateway_.watch_until([&](const health::State&) {
            gateway_.gateway().read_totals(totals);
            return totals.quotes == sent_;
        }));
        EXPECT_EQ(totals.missing + totals.malformed + totals.kernel_drops, 0U);
        EXPECT_EQ(gateway_.gateway().pipelines().front()->ring().refused_events().read(), 0U);
    }

private:
    [[nodiscard]] std::uint64_t consumed() const {
        if (follower_ == nullptr) return published();
        const auto account = follower_->account();
        return account.published - account.queued;
    }
    bool add(std::uint64_t n) {
        return encoder_.add(quote_of(0, static_cast<feed::Price>(n)), feed::Venue{"X"}, feed::Symbol{symbol(n)});
    }

    RunningGateway& gateway_;
    const Consumer* follower_;
    feed::QuotesEncoder encoder_{{.channel = 0, .session = 1}};
    std::uint64_t sent_{0};
};

}  // namespace millpond::gateway::test
