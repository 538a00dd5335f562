#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/engine/detail/sender.hpp>
#include <millpond/engine/encoding.hpp>
#include <millpond/engine/send_outcome.hpp>
#include <millpond/engine/session_handle.hpp>
#include <millpond/queue/channel.hpp>

namespace millpond::engine {

/// AsyncSender for one producer thread that needs no lanes: the message is written where it stays, and messages go out
/// in order.
///
/// Threads: claim and publish on one thread; else as AsyncSender.
/// Memory:  a queue::Channel of SenderOptions::lane_capacity messages.
template <class T, class Encoder>
class ChannelSender final : public detail::Sender {
    static_assert(EncoderOf<Encoder, T>);

public:
    ChannelSender(SessionHandle& session, Encoder encoder = {}, const SenderOptions& options = {},
                  SendListener<T>* listener = nullptr)
        : Sender(session, options), encoder_(std::move(encoder)), listener_(listener), channel_(options.lane_capacity) {
        attach();
    }
    ~ChannelSender() {
        close();
        detach();
        fail_all(SendFailure::shut_down);
    }

    /// The next message to write, as its last use left it; null, and counted as refused, when all are taken or the
    /// sender is closed. Before `publish` it gives the same one again.
    [[nodiscard]] T* claim() noexcept {
        const auto before = core::ticks();
        claimed_ = closed() ? nullptr : channel_.claim();
        if (claimed_ == nullptr) {
            count_refused();
            return nullptr;
        }
        claimed_->outgoing.acquire_ticks = core::ticks() - before;
        return &claimed_->message;
    }
    /// Hands the claimed message over; the lane of `terms` does not matter.
    void publish(const SendTerms& terms = {}) noexcept {
        claimed_->outgoing.token = terms.token;
        claimed_->outgoing.deadline_utc_ns = terms.deadline_utc_ns;
        claimed_->outgoing.handed_ticks = core::ticks();
        published_.store(published_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        channel_.publish();
        signal();
    }

    [[nodiscard]] std::size_t depth() const noexcept override {
        const auto taken = counters().taken.read();
        return static_cast<std::size_t>(published_.load(std::memory_order_relaxed) - taken);
    }

private:
    struct Slot {
        detail::Outgoing outgoing{};
        T message{};
    };

    bool take(detail::Outgoing& into) noexcept override {
        auto* const slot = channel_.front();
        if (slot == nullptr) return false;
        into = slot->outgoing;
        into.message = &slot->message;
        return true;
    }
    bool send(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now) override {
        return detail::hand_encoded<false>(encoder_, *static_cast<const T*>(outgoing.message), session, now);
    }
    bool keep(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now) override {
        return detail::hand_encoded<true>(encoder_, *static_cast<const T*>(outgoing.message), session, now);
    }
    bool is_filling() const noexcept override { return depth() > channel_.capacity() / 2; }
    void release(const detail::Outgoing& outgoing) noexcept override {
        static_cast<void>(outgoing);
        channel_.release();
    }
    void tell_sent(const Sent& sent) noexcept override {
        if (listener_ != nullptr) listener_->on_sent(sent);
    }
    void tell_failed(const detail::Outgoing& outgoing, SendFailure failure) noexcept override {
        if (listener_ == nullptr) return;
        listener_->on_failed(*static_cast<const T*>(outgoing.message), failure, outgoing.token);
    }

    Encoder encoder_;
    SendListener<T>* listener_;
    queue::Channel<Slot> channel_;
    Slot* claimed_{nullptr};
    std::atomic<std::uint64_t> published_{0};
};

}  // namespace millpond::engine
