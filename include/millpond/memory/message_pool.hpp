#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/memory/block_pool.hpp>
#include <millpond/memory/exhaustion.hpp>
#include <millpond/memory/pooled.hpp>

namespace millpond::memory {

/// What happens to messages that are alive when their pool ends.
enum class LiveAtEnd : std::uint8_t {
    destroy,  ///< Their destructors run.
    fault,    ///< The program ends with a message: a pointer into the pool is still held.
};

struct MessagePoolOptions {
    PoolOptions pool;  ///< Its alignment is raised to that of T.
    Exhaustion when_exhausted;
    LiveAtEnd live_at_end{LiveAtEnd::destroy};
};

/// Makes objects of type T in the blocks of a pool.
///
/// Threads: as BlockPool: any thread makes, any other may release.
/// Memory:  as BlockPool. A message made by one pool goes back to the same.
template <class T, class Policy = Unchecked>
class MessagePool final : private BlockHome {
public:
    using Place = typename Policy::Place;

    /// Throws as BasicBlockPool does, and std::invalid_argument when an exhaustion policy lacks what it needs.
    explicit MessagePool(std::size_t capacity, const MessagePoolOptions& options = {});
    MessagePool(const MessagePool&) = delete;
    MessagePool& operator=(const MessagePool&) = delete;
    ~MessagePool();

    /// Null when the pool is exhausted, or as its exhaustion policy says. What the constructor throws goes through; the
    /// block is back in the pool then.
    template <class... Args>
    [[nodiscard]] Pooled<T> try_make(Args&&... args) {
        return adopt(acquire_at(Place::current(), std::forward<Args>(args)...));
    }

    /// As try_make, for messages that travel as raw pointers.
    template <class... Args>
    [[nodiscard]] T* acquire(Args&&... args) {
        return acquire_at(Place::current(), std::forward<Args>(args)...);
    }
    /// A checked pool names `place` when the message is misused or never comes back.
    template <class... Args>
    [[nodiscard]] T* acquire_at(Place place, Args&&... args);

    /// Destroys the message and takes its block back.
    void release(T* message) noexcept {
        std::destroy_at(message);
        release_block(message);
    }

    /// Owns a raw message again.
    [[nodiscard]] Pooled<T> adopt(T* message) noexcept {
        return message == nullptr ? nullptr : Pooled<T>(message, *this);
    }

    /// Makes a message of each place from the same arguments, or none and gives false. What a constructor throws goes
    /// through; nothing is kept then. The exhaustion policy does not come into it.
    template <class... Args>
    [[nodiscard]] bool acquire_batch(std::span<T*> messages, const Args&... args);
    void release_batch(std::span<T* const> messages) noexcept {
        for (T* const message : messages) release(message);
    }

    /// Gives the calling thread its cache now.
    bool prewarm() noexcept { return blocks_.prewarm(); }

    /// Forgets the statistics. False, and nothing happens, while a message is in use. The pool must be idle.
    bool reset() noexcept { return blocks_.reset(); }

    /// From now on nothing is made; messages in use may still be released. Gives how many there are.
    std::uint64_t shutdown() noexcept {
        open_.store(false, std::memory_order_relaxed);
        return blocks_.stats().in_use;
    }

    [[nodiscard]] PoolStats stats() const { return blocks_.stats(); }
    [[nodiscard]] ExhaustionStats exhaustion_stats() const { return exhaustion_.stats(); }
    [[nodiscard]] std::string audit() const { return blocks_.audit(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return blocks_.capacity(); }
    [[nodiscard]] const std::string& name() const noexcept { return blocks_.name(); }

    /// Calls visit(T&) for each message in use. The pool must be idle.
    template <class Visit>
    void for_each_live(Visit&& visit) const {
        const auto as_message = [&](void* block) { visit(*std::launder(static_cast<T*>(block))); };
        blocks_.for_each_live(as_message);
        exhaustion_.for_each_lent(as_message);
    }

private:
    static PoolOptions with_alignment(PoolOptions options) {
        options.alignment = std::max(options.alignment, alignof(T));
        return options;
    }
    [[nodiscard]] void* acquire_block(Place place);
    void release_block(void* block) noexcept override;

    BasicBlockPool<Policy> blocks_;
    detail::ExhaustionPath exhaustion_;
    LiveAtEnd live_at_end_;
    std::atomic<bool> open_{true};
};

template <class T, class Policy>
MessagePool<T, Policy>::MessagePool(std::size_t capacity, const MessagePoolOptions& options)
    : blocks_(sizeof(T), capacity, with_alignment(options.pool)),
      exhaustion_(options.when_exhausted, blocks_.name().c_str(), sizeof(T), blocks_.alignment()),
      live_at_end_(options.live_at_end) {}

template <class T, class Policy>
MessagePool<T, Policy>::~MessagePool() {
    std::vector<T*> live;
    for_each_live([&](T& message) { live.push_back(&message); });
    if (live.empty()) return;
    if (live_at_end_ == LiveAtEnd::fault) {
        detail::misuse(blocks_.name().c_str(), "destroyed while a message is in use", live.front());
    }
    for (T* const message : live) release(message);
}

template <class T, class Policy>
template <class... Args>
T* MessagePool<T, Policy>::acquire_at(Place place, Args&&... args) {
    void* const block = acquire_block(place);
    if (block == nullptr) return nullptr;
    if constexpr (std::is_nothrow_constructible_v<T, Args...>) {
        return std::construct_at(static_cast<T*>(block), std::forward<Args>(args)...);
    } else {
        try {
            return std::construct_at(static_cast<T*>(block), std::forward<Args>(args)...);
        } catch (...) {
            release_block(block);
            throw;
        }
    }
}

template <class T, class Policy>
template <class... Args>
bool MessagePool<T, Policy>::acquire_batch(std::span<T*> messages, const Args&... args) {
    if (!open_.load(std::memory_order_relaxed) || !blocks_.acquire_batch_as(messages, Place::current())) return false;
    if constexpr (std::is_nothrow_constructible_v<T, const Args&...>) {
        for (T* const block : messages) std::construct_at(block, args...);
    } else {
        std::size_t made = 0;
        try {
            for (; made < messages.size(); ++made) std::construct_at(messages[made], args...);
        } catch (...) {
            for (std::size_t i = 0; i < made; ++i) std::destroy_at(messages[i]);
            for (T* const block : messages) blocks_.release(block);
            throw;
        }
    }
    return true;
}

template <class T, class Policy>
void* MessagePool<T, Policy>::acquire_block(Place place) {
    if (!open_.load(std::memory_order_relaxed)) return nullptr;
    void* const block = blocks_.try_acquire(place);
    if (block != nullptr) [[likely]]
        return block;
    return exhaustion_.acquire([&] { return blocks_.try_acquire(place); });
}

template <class T, class Policy>
void MessagePool<T, Policy>::release_block(void* block) noexcept {
    // A block of the resource is recognised by its address; the pool refuses anything else with a message.
    if (exhaustion_.lends() && !blocks_.owns(block) && exhaustion_.release(block)) return;
    blocks_.release(block);
}

}  // namespace millpond::memory
