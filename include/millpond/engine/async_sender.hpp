#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/engine/detail/sender.hpp>
#include <millpond/engine/encoding.hpp>
#include <millpond/engine/send_outcome.hpp>
#include <millpond/engine/session_handle.hpp>
#include <millpond/memory/message_pool.hpp>
#include <millpond/memory/pooled.hpp>
#include <millpond/queue/priority_lanes.hpp>

namespace millpond::engine {

/// A message that a producer is about to send, with the duration of its allocation.
template <class T>
class Draft {
public:
    Draft() noexcept = default;
    Draft(memory::Pooled<T>&& message, std::uint64_t acquire_ticks = 0) noexcept
        : message_(std::move(message)), acquire_ticks_(acquire_ticks) {}

    [[nodiscard]] T& operator*() const noexcept { return *message_; }
    [[nodiscard]] T* operator->() const noexcept { return message_.get(); }
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(message_); }

private:
    template <class, class, class>
    friend class AsyncSender;
    memory::Pooled<T> message_;
    std::uint64_t acquire_ticks_{0};
};

/// Sends messages of any number of threads through one session. A producer acquires a message from the pool, fills it
/// and pushes it to one of four lanes; the session's I/O thread pops the most urgent one, encodes it into the message
/// store, sends the bytes from there and releases the message. A producer never waits: a full lane refuses at once. A
/// message that cannot be encoded uses no sequence number.
///
/// Threads: try_make and try_send on any; the listener is called on the I/O thread; constructed and destroyed on any
///          but the I/O thread's callbacks. The session and the pool must outlive it.
/// Memory:  the lanes and the memory of Sender, allocated in the constructor.
template <class T, class Encoder, class Policy = memory::Unchecked>
class AsyncSender final : public detail::Sender {
    static_assert(EncoderOf<Encoder, T>);

public:
    using Pool = memory::MessagePool<T, Policy>;

    /// listener: null, or outlives the sender. Throws std::invalid_argument if a capacity is not a power of two.
    AsyncSender(SessionHandle& session, Pool& pool, Encoder encoder = {}, const SenderOptions& options = {},
                SendListener<T>* listener = nullptr)
        : Sender(session, options),
          pool_(&pool),
          encoder_(std::move(encoder)),
          listener_(listener),
          lanes_(options.lane_capacity, options.patience) {
        attach();
    }
    /// Reports waiting messages as failed with shut_down.
    ~AsyncSender() {
        close();
        detach();
        fail_all(SendFailure::shut_down);
    }

    /// Acquires a message from the pool; empty if the pool is exhausted.
    template <class... Args>
    [[nodiscard]] Draft<T> try_make(Args&&... args) {
        const auto before = core::ticks();
        auto message = pool_->try_make(std::forward<Args>(args)...);
        return {std::move(message), core::ticks() - before};
    }

    /// Passes the message to the I/O thread. If it returns `full` or `closed`, the caller keeps the message.
    [[nodiscard]] Handed try_send(Draft<T>&& draft, const SendTerms& terms = {}) noexcept;
    [[nodiscard]] Handed try_send(memory::Pooled<T>&& message, const SendTerms& terms = {}) noexcept {
        Draft<T> draft{std::move(message)};
        const auto handed = try_send(std::move(draft), terms);
        message = std::move(draft.message_);
        return handed;
    }

    [[nodiscard]] std::size_t depth() const noexcept override {
        std::size_t sum = 0;
        for (std::size_t lane = 0; lane < kLanes; ++lane) sum += lanes_.size(lane);
        return sum;
    }
    [[nodiscard]] std::size_t depth(Lane lane) const noexcept { return lanes_.size(static_cast<std::size_t>(lane)); }

private:
    [[nodiscard]] static T* as_message(const detail::Outgoing& outgoing) noexcept {
        return static_cast<T*>(outgoing.message);
    }

    bool pop(detail::Outgoing& into) noexcept override { return lanes_.try_pop(into).has_value(); }
    bool send(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now) override {
        return detail::hand_encoded<false>(encoder_, *as_message(outgoing), session, now);
    }
    bool keep(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now) override {
        return detail::hand_encoded<true>(encoder_, *as_message(outgoing), session, now);
    }
    bool is_filling() const noexcept override { return depth() > lanes_.capacity() / 2; }
    void release(const detail::Outgoing& outgoing) noexcept override { pool_->release(as_message(outgoing)); }
    void report_sent(const Sent& sent) noexcept override {
        if (listener_ != nullptr) listener_->on_sent(sent);
    }
    void report_failed(const detail::Outgoing& outgoing, SendFailure failure) noexcept override {
        if (listener_ != nullptr) listener_->on_failed(*as_message(outgoing), failure, outgoing.token);
    }

    Pool* pool_;
    Encoder encoder_;
    SendListener<T>* listener_;
    queue::PriorityLanes<detail::Outgoing, kLanes> lanes_;
};

template <class T, class Encoder, class Policy>
Handed AsyncSender<T, Encoder, Policy>::try_send(Draft<T>&& draft, const SendTerms& terms) noexcept {
    if (closed()) {
        count_refused();
        return Handed::closed;
    }
    const detail::Outgoing outgoing{.message = draft.message_.get(),
                                    .token = terms.token,
                                    .deadline_utc_ns = terms.deadline_utc_ns,
                                    .handed_ticks = core::ticks(),
                                    .acquire_ticks = draft.acquire_ticks_};
    if (!lanes_.try_push(static_cast<std::size_t>(terms.lane), outgoing)) {
        count_refused();
        return Handed::full;
    }
    static_cast<void>(draft.message_.release());  // the lane owns it
    signal();
    return Handed::queued;
}

}  // namespace millpond::engine
