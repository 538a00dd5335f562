#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/engine/detail/sender.hpp>
#include <millpond/engine/send_outcome.hpp>
#include <millpond/fix/session.hpp>

#include "src/engine/session/output_path.hpp"

namespace millpond::engine {

/// Lets the senders of a session send messages in turn, and reports written messages to them.
///
/// Threads: the I/O thread's.
class SenderPump final : public detail::SenderHost {
public:
    /// All arguments must outlive it. stamp: the latest known time.
    SenderPump(fix::Session& session, const OutputPath& output, const core::Moment& stamp) noexcept
        : session_(&session), output_(&output), stamp_(&stamp) {}
    ~SenderPump() = default;

    void add(detail::Sender& sender) { senders_.push_back(&sender); }
    void remove(detail::Sender& sender) noexcept { std::erase(senders_, &sender); }
    [[nodiscard]] bool empty() const noexcept { return senders_.empty(); }

    /// Lets each sender send some messages, and calls flush() if output is queued. Returns true if there may be more.
    template <class Flush>
    [[nodiscard]] bool run(core::Moment now, Flush&& flush) {
        constexpr std::size_t kMessagesPerTurn = 64;  // messages of a sender before others are served
        bool more = false;
        for (std::size_t i = 0; i < senders_.size(); ++i) {
            more = senders_[i]->pump(*this, now, kMessagesPerTurn) || more;
            // Messages of the sender may be written already.
            if (!output_->queue().empty()) flush();
        }
        return more;
    }
    /// Called when messages up to this number are written. Returns true if a message that waited for that may be sent.
    [[nodiscard]] bool on_written(std::uint64_t sequence) noexcept {
        bool may_continue = false;
        for (auto* sender : senders_) may_continue = sender->on_written(sequence, output_->resets()) || may_continue;
        return may_continue;
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

    /// Closes the senders: they refuse further messages of producers.
    void close() noexcept {
        for (auto* sender : senders_) sender->close();
    }
    void fail_all(SendFailure failure) noexcept {
        for (auto* sender : senders_) sender->fail_all(failure);
    }
    /// Whether no message is queued or in flight.
    [[nodiscard]] bool idle() const noexcept {
        return std::ranges::all_of(senders_, [](auto* sender) { return sender->idle(); });
    }
    /// When the next queued message expires; kNever if none does.
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept {
        auto next = core::kNever;
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
