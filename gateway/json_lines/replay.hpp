#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/queue/spsc_ring.hpp>

#include "gateway/json_lines/depth_books.hpp"
#include "gateway/json_lines/request.hpp"
#include "gateway/json_lines/snapshot.hpp"
#include "gateway/json_lines/subscriptions.hpp"
#include "gateway/sinks/account.hpp"

namespace millpond::gateway::json_lines {

/// What a client knows after a replay, when it goes over to the live events.
struct ReplayedState {
    Snapshot snapshot{};                        ///< The quotes and states that were sent.
    std::vector<DepthBooks::Complete> books{};  ///< By instrument.
    std::uint64_t received{0};                  ///< Entries of the ring since the replay's start.
    std::uint64_t missed{0};                    ///< Those of them that are lost.

    [[nodiscard]] bool has_complete_quote(feed::InstrumentId id) const noexcept {
        return id < snapshot.size() && snapshot.has_complete_quote(id);
    }
    [[nodiscard]] DepthBooks::Complete books_of(feed::InstrumentId id) const noexcept {
        return id < books.size() ? books[id] : DepthBooks::Complete{};
    }
};

/// A part of a replay, made on the reader's thread.
struct ReplayPart {
    std::string text{};
    Account account{};                       ///< From the start up to here, as if all text were delivered.
    std::uint64_t epoch{0};                  ///< The ring entry up to which the replay has read.
    std::uint64_t number{0};                 ///< Likewise.
    bool begins{false};                      ///< The start was found.
    std::string failure{};                   ///< Why the replay ends here; empty otherwise.
    bool is_refused{false};                  ///< The failure is the request's, such as a start that is not there.
    std::unique_ptr<ReplayedState> state{};  ///< The offered number is reached: the reader waits.
};

/// A replay for one client: the reader's thread makes parts of text, the sink's thread sends them. Once the replay is
/// close to the events that the sink has read, the sink offers the number of the newest one. The replay stops there,
/// and the client continues with the log's line after it.
///
/// Threads: parts and offers as named below; the rest on the sink's.
/// Memory:  kMaxParts parts.
class Replay {
public:
    static constexpr std::size_t kMaxParts = 2;

    Replay(ReplayStart start, WantedSymbols wanted) : start_(start), wanted_(std::move(wanted)) {}

    /// On both threads.
    [[nodiscard]] const ReplayStart& start() const noexcept { return start_; }
    [[nodiscard]] const WantedSymbols& wanted() const noexcept { return wanted_; }

    /// On the reader's thread.
    [[nodiscard]] bool is_full() const noexcept { return parts_.size() == kMaxParts; }
    /// Only if it is not full.
    void push(ReplayPart&& part) { static_cast<void>(parts_.try_push(std::move(part))); }
    /// Number at which to stop; 0: none.
    [[nodiscard]] std::uint64_t offered() const noexcept { return offered_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool is_over() const noexcept { return over_.load(std::memory_order_relaxed); }

    /// On the sink's thread.
    [[nodiscard]] bool has_part() const noexcept { return parts_.size() != 0; }
    [[nodiscard]] bool try_pop(ReplayPart& into) noexcept { return parts_.try_pop(into); }
    void offer(std::uint64_t number) noexcept { offered_.store(number, std::memory_order_relaxed); }
    void end() noexcept { over_.store(true, std::memory_order_relaxed); }

private:
    const ReplayStart start_;
    const WantedSymbols wanted_;
    queue::SpscRing<ReplayPart> parts_{kMaxParts};
    std::atomic<std::uint64_t> offered_{0};
    std::atomic<bool> over_{false};
};

}  // namespace millpond::gateway::json_lines
