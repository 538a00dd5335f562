#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/sequenced_datagram.hpp>

namespace millpond::feed {

/// Maximum bytes of a held datagram. No UDP datagram is longer.
inline constexpr std::size_t kMaxHeldBytes = 65'536;

/// Decides when a line has changed its session, so that a stray datagram of another session does not void the quotes.
///
/// The first datagram of another session is held. The next datagram of that session, which may be a heartbeat, confirms
/// it; a copy of the held datagram does not. The caller then applies both, so that a real change loses nothing. A
/// datagram of the current session drops the held one, and so does one of a third session, unless it is a heartbeat and
/// the held one is not. If the current session has been silent for kSilentNs, by the receive times of datagrams,
/// another session needs no confirmation.
///
/// Heartbeats alone do not end a session that has not announced its end, not even a silent one: the sender of an old
/// session may send them for days. A datagram that announces the end of its session neither begins nor confirms one:
/// senders repeat it during the next session.
///
/// Threads: one; strays() may be read on any.
/// Memory:  kMaxHeldBytes, allocated and touched in the constructor.
template <class Session>
class ConfirmedSession {
public:
    static constexpr std::int64_t kSilentNs = 5'000'000'000;
    enum class Verdict : std::uint8_t {
        joined,   ///< The first datagram ever: apply it.
        changed,  ///< A new session: forget everything of the channel, then apply_confirmed().
        held,     ///< The first datagram of another session: do nothing until it is confirmed.
        copy,     ///< A copy of the held datagram, or a heartbeat after it: do nothing.
        foreign,  ///< New data of the held session, which may not end the current one: do nothing.
        ignored,  ///< The datagram does not start a session: do nothing.
    };
    struct Datagram {
        SequencedDatagram<Session> numbers;
        std::span<const std::byte> bytes;
        Arrival arrival;
    };

    explicit ConfirmedSession(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : bytes_(kMaxHeldBytes, std::byte{}, memory) {}

    /// True for a datagram of the current session, the usual case. Drops a held datagram as a stray.
    [[nodiscard]] bool is_current(const Session& session, std::int64_t receive_utc_ns) noexcept {
        if (!joined_ || !(session == current_)) return false;
        if (holding_) [[unlikely]]
            drop();
        heard_utc_ns_ = receive_utc_ns;
        return true;
    }
    /// Handles a valid datagram for which is_current returned false. may_change: it can end the current session.
    [[nodiscard]] Verdict observe(const Datagram& datagram, bool may_change = true) noexcept;
    /// The current session has announced its end.
    void end() noexcept { ended_ = true; }
    /// The session has changed: calls apply(datagram) for the held datagram, if any, and for `newest`, ordered by their
    /// numbers.
    template <class Apply>
    void apply_confirmed(const Datagram& newest, Apply&& apply);
    /// The lower first number of the held datagram, if any, and `newest`.
    [[nodiscard]] std::uint64_t first_number(const Datagram& newest) const noexcept {
        return holding_ && held_.numbers.first < newest.numbers.first ? held_.numbers.first : newest.numbers.first;
    }
    /// The arrival of the held datagram, if any, else of `newest`: the events that begin the session must not be later
    /// than those of its messages.
    [[nodiscard]] const Arrival& first_arrival(const Datagram& newest) const noexcept {
        return holding_ ? held_.arrival : newest.arrival;
    }

    /// True for the current session.
    [[nodiscard]] bool is_in(const Session& session) const noexcept { return joined_ && session == current_; }
    /// Enters a session that the caller has confirmed. Drops a held datagram of any other session.
    void enter(const Session& session) noexcept;
    /// Sets when the current session was last heard, for callers that do not pass every datagram to is_current.
    void set_heard(std::int64_t receive_utc_ns) noexcept { heard_utc_ns_ = receive_utc_ns; }
    [[nodiscard]] bool is_silent(std::int64_t receive_utc_ns) const noexcept {
        return heard_utc_ns_ != 0 && receive_utc_ns - heard_utc_ns_ >= kSilentNs;
    }
    /// Resets everything but the counter.
    void restart() noexcept {
        drop();
        joined_ = false;
        heard_utc_ns_ = 0;
    }

    /// The current session.
    [[nodiscard]] const Session& session() const noexcept { return current_; }
    /// True while a datagram of this session is held until it is confirmed.
    [[nodiscard]] bool holds(const Session& session) const noexcept {
        return holding_ && held_.numbers.session == session;
    }
    [[nodiscard]] bool holding() const noexcept { return holding_; }
    /// A datagram of a third session replaces the held one, except that a heartbeat does not replace data.
    [[nodiscard]] bool gives_way_to(const SequencedDatagram<Session>& numbers) const noexcept {
        return !holds(numbers.session) && (numbers.count != 0 || held_.numbers.count == 0);
    }
    /// The held datagram; valid only while holding.
    [[nodiscard]] const Datagram& held() const noexcept { return held_; }
    /// The held datagram has been applied.
    void release() noexcept { holding_ = false; }
    /// Counts the held datagram as a stray.
    void drop() noexcept {
        if (std::exchange(holding_, false)) strays_.add();
    }
    /// Counts datagrams of another session that was not confirmed.
    [[nodiscard]] const core::Tally& strays() const noexcept { return strays_; }
    /// Number of datagrams that were not applied: strays and copies.
    [[nodiscard]] std::uint64_t not_applied() const noexcept { return strays_.read() + copies_; }

private:
    void hold(const Datagram& datagram) noexcept;

    Session current_{};
    bool joined_{false};
    bool holding_{false};
    bool ended_{false};  // the current session has announced its end
    std::uint64_t copies_{0};
    std::int64_t heard_utc_ns_{0};  // when the current session was last heard; 0: unknown
    Datagram held_{};
    std::pmr::vector<std::byte> bytes_;
    core::Tally strays_;
};

template <class Session>
auto ConfirmedSession<Session>::observe(const Datagram& datagram, bool may_change) noexcept -> Verdict {
    const auto& numbers = datagram.numbers;
    if (!joined_) {
        enter(numbers.session);
        heard_utc_ns_ = datagram.arrival.receive_utc_ns;
        return Verdict::joined;
    }
    if (numbers.ends || datagram.bytes.size() > kMaxHeldBytes) {
        strays_.add();
        return Verdict::ignored;
    }
    const bool same = holds(numbers.session);
    if (holding_ && !same) {
        if (!gives_way_to(numbers)) {
            strays_.add();
            return Verdict::ignored;
        }
        drop();
    }
    const auto& held = held_.numbers;
    const bool copy = same && numbers.count != 0 && numbers.first == held.first && numbers.count == held.count;
    const bool confirmed = (same && !copy) || is_silent(datagram.arrival.receive_utc_ns);
    const bool brings_data = numbers.count != 0 || (same && held.count != 0);
    if (confirmed && may_change && (brings_data || ended_)) {
        enter(numbers.session);
        heard_utc_ns_ = datagram.arrival.receive_utc_ns;
        return Verdict::changed;
    }
    if (same) {
        ++copies_;
        if (!may_change && numbers.count != 0) hold(datagram);  // keep the newest: the next datagram may follow it
        return copy || numbers.count == 0 ? Verdict::copy : Verdict::foreign;
    }
    hold(datagram);
    return Verdict::held;
}

template <class Session>
template <class Apply>
void ConfirmedSession<Session>::apply_confirmed(const Datagram& newest, Apply&& apply) {
    const bool held_first = holding_ && held_.numbers.first <= newest.numbers.first;
    if (held_first) apply(held_);
    apply(newest);
    if (holding_ && !held_first) apply(held_);
    release();
}

template <class Session>
void ConfirmedSession<Session>::enter(const Session& session) noexcept {
    if (!holds(session)) drop();
    joined_ = true;
    ended_ = false;
    current_ = session;
}

template <class Session>
void ConfirmedSession<Session>::hold(const Datagram& datagram) noexcept {
    assert(datagram.bytes.size() <= bytes_.size());
    held_ = datagram;
    held_.bytes = {bytes_.data(), datagram.bytes.size()};
    if (!datagram.bytes.empty()) std::memcpy(bytes_.data(), datagram.bytes.data(), datagram.bytes.size());
    holding_ = true;
}

}  // namespace millpond::feed
