#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <millpond/feed/sequencing.hpp>
#include <millpond/queue/sequenced_words.hpp>

namespace millpond::gateway {

/// Sessions of a line and of its feed while they differ and the line is ignored.
struct SessionsApart {
    feed::SessionName line;
    feed::SessionName feed;
    std::uint64_t data{0};  ///< 1: the line has messages, and not only heartbeats.

    friend bool operator==(const SessionsApart&, const SessionsApart&) noexcept = default;
};

/// Passes SessionsApart from the receive thread to any other.
///
/// Threads: set on the receive thread, read on any. Neither waits.
class SharedSessionsApart {
public:
    /// Sets the sessions; both are empty if they do not differ.
    void set(const SessionsApart& sessions) noexcept {
        if (sessions == set_) return;
        set_ = sessions;
        queue::mark_writing(sequence_, ++number_);
        queue::store_words(words_.data(), sessions);
        queue::mark_complete(sequence_, number_);
    }
    /// Returns the sessions; nullopt if they do not differ or are being written.
    [[nodiscard]] std::optional<SessionsApart> read() const noexcept {
        const auto mark = sequence_.load(std::memory_order_acquire);  // sync "n complete": set
        if (!queue::is_complete(mark)) return std::nullopt;
        SessionsApart sessions;
        queue::load_words(words_.data(), sessions);
        if (!queue::still_marked(sequence_, mark) || sessions.line.empty()) return std::nullopt;
        return sessions;
    }

private:
    SessionsApart set_;
    std::uint64_t number_{0};
    queue::Word sequence_{0};
    std::array<queue::Word, sizeof(SessionsApart) / sizeof(queue::Word)> words_{};
};

}  // namespace millpond::gateway
