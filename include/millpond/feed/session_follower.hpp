#pragma once

#include <cstdint>

namespace millpond::feed {

/// Decides for each datagram whether its session is the current one, a new one or a past one.
///
/// A datagram of the session that was left last, or of one that the caller knows to be older, is past: it was
/// overtaken. When kBelieveAfter of them have come in a row the next one is believed, so that a sender whose numbering
/// went back is heard again.
///
/// Threads: one.
template <class Session>
class SessionFollower {
public:
    static constexpr std::uint32_t kBelieveAfter = 32;

    enum class Verdict : std::uint8_t {
        joined,   ///< The first datagram of all.
        current,  ///< As before.
        changed,  ///< A new session: forget everything of the channel, then apply the datagram.
        past,     ///< Do not apply the datagram.
    };

    /// believe_after: datagrams of a past session in a row before it is believed.
    explicit SessionFollower(std::uint32_t believe_after = kBelieveAfter) noexcept : believe_after_(believe_after) {}

    Verdict observe(const Session& session, bool known_older = false) noexcept {
        if (!joined_) {
            joined_ = true;
            current_ = left_ = session;
            return Verdict::joined;
        }
        if (session == current_) {
            past_run_ = 0;
            return Verdict::current;
        }
        if (known_older || session == left_) {
            past_run_ = session == past_ ? past_run_ + 1 : 1;
            past_ = session;
            if (past_run_ <= believe_after_) return Verdict::past;
        }
        past_run_ = 0;
        left_ = current_;
        current_ = session;
        return Verdict::changed;
    }

    /// The current session is this one, as the caller has found out.
    void enter(const Session& session) noexcept {
        past_run_ = 0;
        if (joined_ && session == current_) return;
        left_ = joined_ ? current_ : session;
        joined_ = true;
        current_ = session;
    }

    [[nodiscard]] bool has_joined() const noexcept { return joined_; }
    /// True for the session before the current one.
    [[nodiscard]] bool was_left(const Session& session) const noexcept { return session == left_; }
    /// True when observe would not say `current`. A datagram that is not whole should not be the first of a session.
    [[nodiscard]] bool is_new(const Session& session) const noexcept { return !joined_ || session != current_; }

    /// Of the datagram that was applied last.
    [[nodiscard]] const Session& session() const noexcept { return current_; }

private:
    std::uint32_t believe_after_;
    bool joined_{false};
    std::uint32_t past_run_{0};
    Session current_{};
    Session left_{};
    Session past_{};
};

}  // namespace millpond::feed
