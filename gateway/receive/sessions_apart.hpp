#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <millpond/feed/sequencing.hpp>
#include <millpond/queue/sequenced_words.hpp>

namespace millpond::gateway {

/// The session that a line brings, and that of its feed, while they differ: the line is ignored then.
struct SessionsApart {
    feed::SessionName line;
    feed::SessionName feed;

    friend bool operator==(const SessionsApart&, const SessionsApart&) noexcept = default;
};

/// Passes them on.
///
/// Threads: set on the receive thread, read on any. Neither waits.
class SharedSessionsApart {
public:
    /// Both empty: they do not differ.
    void set(const SessionsApart& sessions) noexcept {
        if (sessions == set_) return;
        set_ = sessions;
        queue::mark_writing(sequence_, ++number_);
        queue::store_words(words_.data(), sessions);
        queue::mark_complete(sequence_, number_);
    }
    /// Nothing where they do not differ, or are being set at the moment.
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
