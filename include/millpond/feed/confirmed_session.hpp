#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/session_follower.hpp>

namespace millpond::feed {

/// Decides when a line has changed its session, so that a stray datagram of another session does not void the books.
///
/// The first datagram of a new session is held. The next one of that session confirms it, a heartbeat too; a copy of
/// the held datagram does not, unless both are heartbeats. The caller then applies the held datagram and the new one,
/// so that a real change loses nothing. A datagram of any other session drops what is held. When the current session
/// has been silent for kSilentNs, by the receive times of datagrams, a new one needs no confirmation. A session that
/// was left is past, as SessionFollower says.
///
/// Threads: one; strays() may be read on any.
/// Memory:  kMostHeldBytes, taken and touched in the constructor. A longer datagram is not held: when its session is
///          confirmed, its messages are a gap.
template <class Session>
class ConfirmedSession {
public:
    static constexpr std::int64_t kSilentNs = 5'000'000'000;
    static constexpr std::size_t kMostHeldBytes = 2'048;

    enum class Verdict : std::uint8_t {
        joined,   ///< The first datagram of all.
        current,  ///< As before.
        changed,  ///< A new session: forget everything of the channel, apply what is held, then the datagram;
                  ///< release().
        held,     ///< The first of a new session: do nothing until it is confirmed.
        copy,     ///< Of the held datagram: do nothing.
        past,     ///< Do not apply the datagram.
    };
    struct Datagram {
        Session session{};
        std::uint64_t first{0};  ///< As in SequencedDatagram.
        std::uint64_t count{0};
        std::span<const std::byte> bytes;
        Arrival arrival;
    };

    explicit ConfirmedSession(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : bytes_(kMostHeldBytes, std::byte{}, memory) {}

    /// heard_utc_ns: when the newest datagram of the current session was received; 0 where that is not known.
    [[nodiscard]] Verdict observe(const Datagram& datagram, std::int64_t heard_utc_ns) noexcept;

    /// The current session is this one, as the caller has found out. Drops what is held, unless it is of this
    /// session.
    void enter(const Session& session) noexcept;
    /// As new, but for the counter.
    void restart() noexcept {
        drop();
        follower_ = SessionFollower<Session>{};
    }

    /// True when observe would not say `current`.
    [[nodiscard]] bool is_new(const Session& session) const noexcept { return follower_.is_new(session); }
    [[nodiscard]] const Session& session() const noexcept { return follower_.session(); }

    [[nodiscard]] bool holding() const noexcept { return holding_; }
    /// What is held, only while holding; `bytes` is empty where it was too long.
    [[nodiscard]] const Datagram& held() const noexcept { return held_; }
    /// The held datagram has been applied.
    void release() noexcept { holding_ = false; }
    /// The held datagram is a stray one.
    void drop() noexcept {
        if (std::exchange(holding_, false)) strays_.add();
    }
    /// Datagrams that were held and that nothing confirmed.
    [[nodiscard]] const core::Tally& strays() const noexcept { return strays_; }

private:
    void hold(const Datagram& datagram) noexcept;

    SessionFollower<Session> follower_;
    bool holding_{false};
    Datagram held_{};
    std::pmr::vector<std::byte> bytes_;
    core::Tally strays_;
};

template <class Session>
auto ConfirmedSession<Session>::observe(const Datagram& datagram, std::int64_t heard_utc_ns) noexcept -> Verdict {
    if (!follower_.is_new(datagram.session)) {
        if (holding_) [[unlikely]]
            drop();
        static_cast<void>(follower_.observe(datagram.session));
        return Verdict::current;
    }
    const bool same = holding_ && held_.session == datagram.session;
    if (!same) drop();
    if (!follower_.has_joined()) {
        static_cast<void>(follower_.observe(datagram.session));
        return Verdict::joined;
    }
    if (follower_.was_left(datagram.session)) {
        const bool believed = follower_.observe(datagram.session) == SessionFollower<Session>::Verdict::changed;
        return believed ? Verdict::changed : Verdict::past;
    }
    const bool copy = datagram.count != 0 && datagram.first == held_.first && datagram.count == held_.count;
    const bool silent = heard_utc_ns != 0 && datagram.arrival.receive_utc_ns - heard_utc_ns >= kSilentNs;
    if ((same && !copy) || silent) {
        static_cast<void>(follower_.observe(datagram.session));
        return Verdict::changed;
    }
    if (same) return Verdict::copy;
    hold(datagram);
    return Verdict::held;
}

template <class Session>
void ConfirmedSession<Session>::enter(const Session& session) noexcept {
    if (holding_ && !(held_.session == session)) drop();
    follower_.enter(session);
}

template <class Session>
void ConfirmedSession<Session>::hold(const Datagram& datagram) noexcept {
    held_ = datagram;
    held_.bytes = {};
    holding_ = true;
    if (datagram.bytes.empty() || datagram.bytes.size() > bytes_.size()) return;
    std::memcpy(bytes_.data(), datagram.bytes.data(), datagram.bytes.size());
    held_.bytes = {bytes_.data(), datagram.bytes.size()};
}

}  // namespace millpond::feed
