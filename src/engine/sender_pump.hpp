#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/engine/detail/sender.hpp>
#include <millpond/engine/send_outcome.hpp>
#include <millpond/fix/session.hpp>

#include "output_path.hpp"

namespace millpond::engine {

/// Lets the senders of a session send some messages in turn, and reports to them what was written to the socket.
///
/// Threads: the I/O thread's.
class SenderPump final : public detail::SenderHost {
public:
    /// All must outlive it. stamp: the latest known time.
    SenderPump(fix::Session& session, const OutputPath& output, const core::Moment& stamp) noexcept
        : session_(&session), output_(&output), stamp_(&stamp) {}
    ~SenderPump() = default;

    void add(detail::Sender& sender) { senders_.push_back(&sender); }
    void remove(detail::Sender& sender) noexcept { std::erase(senders_, &sender); }
    [[nodiscard]] bool empty() const noexcept { return senders_.empty(); }

    /// Calls flush() if something is queued. True: there may be more to send at once.
    template <class Flush>
    [[nodiscard]] bool run(core::Moment now, Flush&& flush) {
        constexpr std::size_t kMessagesATurn = 64;  // of a sender, before others get theirs
        bool more = false;
        for (std::size_t i = 0; i < senders_.size(); ++i) {
            more = senders_[i]->pump(*this, now, kMessagesATurn) || more;
            // Messages of the sender may be written already.
            if (!output_->queue().empty()) flush();
        }
        return more;
    }
    /// Every message up to this number is written to the socket. True: a message that waited for that may be sent.
    [[nodiscard]] bool on_written(std::uint64_t sequence) noexcept {
        bool may_go_on = false;
        for (auto* sender : senders_) may_go_on = sender->on_written(sequence, output_->resets()) || may_go_on;
        return may_go_on;
    }
    void on_logon() noexcept {
        for (auto* sender : senders_) sender->on_logon(*session_);
    }
    void on_history_lost(const fix::LostHistory& lost) noexcept {
        for (auto* sender : senders_) sender->on_history_lost(lost);
    }
    void on_disconnect() noexcept {
        for (auto* sender : senders_) sender->on_disconnect();
    }

    /// Refuses messages of producers from now on.
    void close() noexcept {
        for (auto* sender : senders_) sender->close();
    }
    void fail_all(SendFailure failure) noexcept {
        for (auto* sender : senders_) sender->fail_all(failure);
    }
    /// Whether nothing is queued and nothing is in flight.
    [[nodiscard]] bool idle() const noexcept {
        return std::ranges::all_of(senders_, [](auto* sender) { return sender->idle(); });
    }
    /// When the next queued message expires; kNever: none does.
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept {
        auto next = detail::kNever;
        for (const auto* sender : senders_) next = std::min(next, sender->next_deadline_ns());
        return next;
    }

    // SenderHost
    fix::Session& session() noexcept override { return *session_; }
    bool congested() const override { return output_->is_congested(); }
    core::Moment stamp() const noexcept override { return *stamp_; }

private:
    fix::Session* session_;
    const OutputPath* output_;
    const core::Moment* stamp_;
    std::vector<detail::Sender*> senders_;
};

}  // namespace millpond::engine
