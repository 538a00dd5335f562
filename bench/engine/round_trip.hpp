#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "bench/engine/raw_path.hpp"
#include "bench/engine/session_path.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#ifdef MILLPOND_RIVAL_QUICKFIX_PEER
#include "bench/rivals/free_port.hpp"
#include "bench/rivals/quickfix_peer.hpp"
#endif

namespace millpond::bench {

inline const core::TickRate kRate;
inline constexpr std::uint64_t kFirstId = 1'000'000;  // all ids have the same width

/// Microseconds of `count` round trips after a warm-up.
template <class Path>
[[nodiscard]] Finding round_trips(Path&& path, std::size_t count) {
    const auto warm = count / 10;
    Finding found;
    found.latencies.reserve(count);
    for (std::size_t i = 0; i < warm + count; ++i) {
        const auto begin = core::ticks();
        const auto id = path.round_trip(kFirstId + i);
        const auto end = core::ticks();
        if (id != kFirstId + i) throw Refused("another order was answered");
        if (i < warm) continue;
        found.answer += id;
        found.latencies.push_back(static_cast<float>(static_cast<double>(end - begin) * kRate.nanos_per_tick() / 1e3));
    }
    return found;
}

/// Adds raw sockets, then our sessions with a store in memory and in a file; each side has its own processor.
template <core::Poll kPoll>
[[nodiscard]] std::vector<Contender> round_trip_contenders(std::size_t count) {
    const auto ours = [count](bool in_files) {
        return [count, in_files] {
            run_on(two_cores().first);
            return round_trips(SessionPath{kPoll, in_files}, count);
        };
    };
    const auto raw = [count] {
        run_on(two_cores().first);
        return round_trips(RawPath < kPoll == core::Poll::spin > {}, count);
    };
    return {{"raw sockets", raw}, {"millpond, memory store", ours(false)}, {"millpond, file store", ours(true)}};
}

/// compare() with the unit and the goals of round trips.
inline void compare_round_trips(Question question, const std::vector<Contender>& contenders) {
    question.unit = "us";
    question.goals = {
        {.contender = "millpond, memory store", .to = "raw sockets", .of = Statistic::p50, .at_most = 1.15},
        {.contender = "millpond, file store", .to = "raw sockets", .of = Statistic::p50, .at_most = 1.15}};
    compare(question, contenders);
}

#ifdef MILLPOND_RIVAL_QUICKFIX_PEER
/// QuickFIX on both sides, the threads of each side on one processor. The next order is sent on the thread that
/// received the report, like ours.
class QuickFixPath {
public:
    QuickFixPath(bool in_files, std::size_t count)
        : folder_(std::filesystem::temp_directory_path() / ("millpond_quickfix_" + std::to_string(::getpid()))),
          warm_(count / 10),
          count_(count) {
        found_.latencies.reserve(count);
        const auto port = free_port();
        run_on(two_cores().second);  // threads started from here on run there
        house_ =
            std::make_unique<QuickFixPeer>(QuickFixPeer::Options{.initiates = false,
                                                                 .port = port,
                                                                 .sender = "HOUSE",
                                                                 .target = "DESK",
                                                                 .folder = in_files ? (folder_ / "house").string() : "",
                                                                 .answers = true},
                                           nullptr);
        run_on(two_cores().first);
        desk_ =
            std::make_unique<QuickFixPeer>(QuickFixPeer::Options{.initiates = true,
                                                                 .port = port,
                                                                 .sender = "DESK",
                                                                 .target = "HOUSE",
                                                                 .folder = in_files ? (folder_ / "desk").string() : ""},
                                           [this](const QuickFixPeer::Received& report) { on_report(report.id); });
        spin_until([&] { return desk_->logged_on() && house_->logged_on(); });
    }
    QuickFixPath(const QuickFixPath&) = delete;
    QuickFixPath& operator=(const QuickFixPath&) = delete;
    ~QuickFixPath() {
        desk_.reset();
        house_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    [[nodiscard]] Finding run() {
        send_next();
        state_.wait(State::runs);
        if (state_ == State::failed) throw Refused("another order was answered, or one was refused");
        return std::move(found_);
    }

private:
    enum class State : std::uint8_t { runs, done, failed };

    void send_next() {
        begin_ = core::ticks();
        if (!desk_->send_order(kFirstId + done_)) finish(State::failed);
    }
    void on_report(std::uint64_t id) {
        const auto end = core::ticks();
        if (id != kFirstId + done_) return finish(State::failed);
        if (done_ >= warm_) {
            found_.answer += id;
            found_.latencies.push_back(
                static_cast<float>(static_cast<double>(end - begin_) * kRate.nanos_per_tick() / 1e3));
        }
        if (++done_ == warm_ + count_) return finish(State::done);
        send_next();
    }
    void finish(State state) {
        state_ = state;
        state_.notify_one();
    }

    std::filesystem::path folder_;
    std::size_t warm_;
    std::size_t count_;
    std::size_t done_{0};
    std::uint64_t begin_{0};
    Finding found_;
    std::atomic<State> state_{State::runs};
    std::unique_ptr<QuickFixPeer> house_;
    std::unique_ptr<QuickFixPeer> desk_;
};

[[nodiscard]] inline Finding quickfix_round_trips(bool in_files, std::size_t count) {
    return QuickFixPath{in_files, count}.run();
}
#endif

}  // namespace millpond::bench
