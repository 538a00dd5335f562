#pragma once

#include <algorithm>
#include <cstdint>

#include <millpond/core/clock.hpp>
#include <millpond/feed/decode_counters.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/quote_board.hpp>

#include "gateway/sinks/new_session.hpp"

namespace millpond::gateway {

/// Publishes a Gap for losses that no sequence number shows: for feeds without numbers, datagrams that the kernel
/// dropped or that had a wrong checksum; for all feeds, a silence longer than the feed's limit.
///
/// If a feed with sequence numbers continues after a silence and none is missing, nothing was lost: its quotes are
/// published once more, a few at each beat.
///
/// Threads: the feed's receive thread.
class FeedLoss {
public:
    struct Options {
        std::uint16_t channel{0};
        std::int64_t patience_ns{0};  ///< Silence that counts as a loss; 0: never.
        bool sequenced{false};
    };
    /// Current counts of the feed.
    struct Seen {
        std::uint64_t datagrams{0};  ///< Any count that changes with each datagram of the feed.
        std::uint64_t dropped{0};    ///< Datagrams dropped by the kernel, or for a wrong checksum.
        std::uint64_t next{0};       ///< Next sequence number.
        std::uint64_t agreed{0};     ///< Heartbeats that named exactly the next number.
        bool over{false};            ///< The session has ended.
    };

    explicit FeedLoss(const Options& options) noexcept : options_(options) {}

    /// Checks for losses; call it a few times a second. O(1), and O(kConfirmed) while quotes are confirmed after a
    /// silence. Returns true if a silence has ended without a loss.
    template <class Publisher>
    bool beat(const Seen& seen, std::int64_t now_ns, Publisher& publisher) noexcept {
        const bool heard = seen.datagrams != seen_.datagrams;
        if (heard) heard_ns_ = now_ns;
        if (!options_.sequenced) note_drops(seen, publisher);
        seen_.datagrams = seen.datagrams;
        seen_.dropped = seen.dropped;
        if (state_ != State::sound && publisher.board().gapped(options_.channel) != silence_) {
            state_ = State::sound;  // a later loss: remaining quotes of the silence stay incomplete
        }
        bool lost_nothing = false;
        if (state_ == State::silent) {
            if (options_.sequenced && (seen.next != seen_.next || seen.agreed != seen_.agreed)) {
                state_ = State::confirming;
                confirmed_ = 0;
                lost_nothing = true;
            } else if (!options_.sequenced && heard) {
                state_ = State::sound;
            }
        }
        if (state_ == State::confirming) confirm(publisher);
        if (state_ == State::silent || seen.over || !falls_silent(now_ns, publisher)) return lost_nothing;
        // Quotes with higher numbers were complete before this silence, and before one that is still being confirmed.
        if (publisher.board().gapped(options_.channel) != silence_) lost_ = publisher.board().gapped(options_.channel);
        publish(feed::GapReason::silence, publisher);
        silence_ = publisher.board().gapped(options_.channel);
        seen_ = seen;
        state_ = State::silent;
        return false;
    }

    /// Whether the feed has been silent for longer than its limit, until it continues.
    [[nodiscard]] bool is_silent() const noexcept { return state_ == State::silent; }
    /// Time of the beat after the feed's last datagram, on the caller's clock; 0 before the first.
    [[nodiscard]] std::int64_t heard_ns() const noexcept { return heard_ns_; }

private:
    /// Quotes checked in each beat.
    static constexpr feed::InstrumentId kConfirmed = 1'024;
    enum class State : std::uint8_t { sound, silent, confirming };

    template <class Publisher>
    void note_drops(const Seen& seen, Publisher& publisher) noexcept {
        // The socket's buffer still holds datagrams from before the drop; at the next beat they have been read.
        if (seen.dropped != seen_.dropped) beats_to_mark_ = 2;
        if (beats_to_mark_ == 0) return;
        --beats_to_mark_;
        publish(feed::GapReason::dropped, publisher);
    }

    template <class Publisher>
    [[nodiscard]] bool falls_silent(std::int64_t now_ns, Publisher& publisher) const noexcept {
        if (options_.patience_ns == 0 || heard_ns_ == 0 || now_ns - heard_ns_ <= options_.patience_ns) return false;
        const auto status = publisher.board().channel_status(options_.channel);
        return status.state != market::RecordState::whole || !ends_session(status.event.state);
    }

    template <class Publisher>
    void confirm(Publisher& publisher) noexcept {
        const auto& board = publisher.board();
        const auto end = std::min(confirmed_ + kConfirmed, board.instruments());
        for (; confirmed_ < end; ++confirmed_) {
            const auto quote = board.quote(confirmed_);
            if (quote.state != market::RecordState::whole || quote.event.channel != options_.channel) continue;
            const bool only_silence = quote.number > lost_ && quote.number <= silence_;
            if (only_silence && quote.number > board.cleared(options_.channel)) publisher.confirm(quote.event);
        }
        if (confirmed_ == board.instruments()) state_ = State::sound;
    }

    template <class Publisher>
    void publish(feed::GapReason reason, Publisher& publisher) noexcept {
        publisher.on(feed::make_gap({.receive_utc_ns = core::utc_nanos(), .channel = options_.channel}, 0, 0, reason));
    }

    Options options_;
    Seen seen_{};  // counts at the last beat; its numbers are those of the time when the silence was noticed
    std::int64_t heard_ns_{0};
    int beats_to_mark_{0};
    State state_{State::sound};
    std::uint64_t silence_{0};  // ring number of the last silence's Gap
    std::uint64_t lost_{0};     // ring number of the last Gap before it for another reason
    feed::InstrumentId confirmed_{0};
};

}  // namespace millpond::gateway
