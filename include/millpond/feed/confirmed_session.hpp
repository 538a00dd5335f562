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

/// Of a datagram of another session. No UDP datagram is longer.
inline constexpr std::size_t kMostHeldBytes = 65'536;

/// Decides when a line has changed its session, so that a stray datagram of another session does not void the quotes.
///
/// The first datagram of another session is held. The next one of that session confirms it, a heartbeat too; a copy of
/// the held datagram does not, unless both are heartbeats. The caller then applies both, so that a real change loses
/// nothing. A datagram of the current session, or of a third one, drops what is held. When the current session has been
/// silent for kSilentNs, by the receive times of datagrams, another one needs no confirmation. A datagram that says
/// that its session is over neither begins nor confirms one: senders repeat it during the next session.
///
/// Threads: one; strays() may be read on any.
/// Memory:  kMostHeldBytes, taken and touched in the constructor.
template <class Session>
class ConfirmedSession {
public:
    static constexpr std::int64_t kSilentNs = 5'000'000'000;
    enum class Verdict : std::uint8_t {
        joined,   ///< The first datagram of all: apply it.
        changed,  ///< A new session: forget everything of the channel, then apply_confirmed().
        held,     ///< The first of another session: do nothing until it is confirmed.
        copy,     ///< Of the held datagram: do nothing.
        ignored,  ///< It does not start a session: do nothing.
    };
    struct Datagram {
        SequencedDatagram<Session> numbers;
        std::span<const std::byte> bytes;
        Arrival arrival;
    };

    explicit ConfirmedSession(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : bytes_(kMostHeldBytes, std::byte{}, memory) {}

    /// True for a datagram of the current session, which most are; what is held is then a stray one.
    [[nodiscard]] bool is_current(const Session& session, std::int64_t receive_utc_ns) noexcept {
        if (!joined_ || !(session == current_)) return false;
        if (holding_) [[unlikely]]
            drop();
        heard_utc_ns_ = receive_utc_ns;
        return true;
    }
    /// A whole datagram for which is_current has returned false.
    [[nodiscard]] Verdict observe(const Datagram& datagram) noexcept;
    /// The session has changed: calls apply(datagram) for the held datagram, if one is, and `newest`, by their numbers.
    template <class Apply>
    void apply_confirmed(const Datagram& newest, Apply&& apply);
    /// The lower of the first numbers of the held datagram, if one is, and `newest`.
    [[nodiscard]] std::uint64_t first_number(const Datagram& newest) const noexcept {
        return holding_ && held_.numbers.first < newest.numbers.first ? held_.numbers.first : newest.numbers.first;
    }

    /// Whether this is the current session.
    [[nodiscard]] bool is_in(const Session& session) const noexcept { return joined_ && session == current_; }
    /// The caller has found out that this is the current session. Drops what is held of any other.
    void enter(const Session& session) noexcept;
    /// When the current session was heard last, where not only is_current is asked about it.
    void set_heard(std::int64_t receive_utc_ns) noexcept { heard_utc_ns_ = receive_utc_ns; }
    [[nodiscard]] bool is_silent(std::int64_t receive_utc_ns) const noexcept {
        return heard_utc_ns_ != 0 && receive_utc_ns - heard_utc_ns_ >= kSilentNs;
    }
    /// As new, but for the counter.
    void restart() noexcept {
        drop();
        joined_ = false;
        heard_utc_ns_ = 0;
    }

    /// The current session.
    [[nodiscard]] const Session& session() const noexcept { return current_; }
    /// True while a datagram of this session waits for another one.
    [[nodiscard]] bool holds(const Session& session) const noexcept {
        return holding_ && held_.numbers.session == session;
    }
    [[nodiscard]] bool holding() const noexcept { return holding_; }
    /// Only while holding.
    [[nodiscard]] const Datagram& held() const noexcept { return held_; }
    /// The held datagram has been applied.
    void release() noexcept { holding_ = false; }
    /// The held datagram is a stray one.
    void drop() noexcept {
        if (std::exchange(holding_, false)) strays_.add();
    }
    /// Datagrams of another session that was not confirmed.
    [[nodiscard]] const core::Tally& strays() const noexcept { return strays_; }

private:
    void hold(const Datagram& datagram) noexcept;

    Session current_{};
    bool joined_{false};
    bool holding_{false};
    std::int64_t heard_utc_ns_{0};  // the current session; 0 where that is not known
    Datagram held_{};
    std::pmr::vector<std::byte> bytes_;
    core::Tally strays_;
};

template <class Session>
auto ConfirmedSession<Session>::observe(const Datagram& datagram) noexcept -> Verdict {
    const auto& numbers = datagram.numbers;
    if (!joined_) {
        enter(numbers.session);
        heard_utc_ns_ = datagram.arrival.receive_utc_ns;
        return Verdict::joined;
    }
    if (numbers.ends || datagram.bytes.size() > kMostHeldBytes) {
        strays_.add();
        return Verdict::ignored;
    }
    const bool same = holds(numbers.session);
    if (!same) drop();
    const auto& held = held_.numbers;
    const bool copy = same && numbers.count != 0 && numbers.first == held.first && numbers.count == held.count;
    if ((same && !copy) || is_silent(datagram.arrival.receive_utc_ns)) {
        enter(numbers.session);
        heard_utc_ns_ = datagram.arrival.receive_utc_ns;
        return Verdict::changed;
    }
    if (copy) return Verdict::copy;
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
