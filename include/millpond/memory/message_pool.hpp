#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/core/exceptions.hpp>
#include <millpond/memory/block_pool.hpp>
#include <millpond/memory/detail/message_maker.hpp>
#include <millpond/memory/exhaustion.hpp>
#include <millpond/memory/pooled.hpp>

namespace millpond::memory {

/// Behaviour of a pool that is destroyed while messages are in use.
enum class LiveAtEnd : std::uint8_t {
    destroy,  ///< Destroy each message once, in no particular order, also if one of them owns another.
    fault,    ///< End the program with a message: a pointer into the pool is still held.
};

template <class Pool>
struct BasicMessagePoolOptions {
    Pool pool{};  ///< Its alignment is raised to that of T.
    Exhaustion when_exhausted{};
    LiveAtEnd live_at_end{LiveAtEnd::destroy};
};

using MessagePoolOptions = BasicMessagePoolOptions<PoolOptions>;

/// Pool of objects of type T in the blocks of `Blocks`: a block pool or a NUMA pool.
///
/// Threads: any thread makes messages, any may release them; see BlockPool.
/// Memory:  see BlockPool. A message returns to the pool that made it.
template <class T, class Policy = Unchecked, class Blocks = BasicBlockPool<Policy>>
class MessagePool final : public detail::MessageMaker<MessagePool<T, Policy, Blocks>, T, Policy>, private BlockHome {
public:
    using Place = typename Policy::Place;
    using Options = BasicMessagePoolOptions<typename Blocks::Options>;

    /// Throws like its block pool, and std::invalid_argument if an exhaustion policy lacks its handler or resource.
    /// of_blocks: further arguments of the block pool.
    template <class... OfBlocks>
    explicit MessagePool(std::size_t capacity, const Options& options = {}, OfBlocks&&... of_blocks);
    MessagePool(const MessagePool&) = delete;
    MessagePool& operator=(const MessagePool&) = delete;
    ~MessagePool();

    /// place: what a checked pool names if the message is misused or leaked.
    template <class... Args>
        requires std::constructible_from<T, Args...>
    [[nodiscard]] T* acquire_at(Place place, Args&&... args);

    /// Destroys the message and releases its block. A pointer that is not a message of this pool, or null, ends the
    /// program with a message before any destructor runs.
    void release(T* message) noexcept {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            if (!may_destroy(message)) return;
            std::destroy_at(message);
        }
        release_block(message);
    }

    /// Takes ownership of a raw message.
    [[nodiscard]] Pooled<T> adopt(T* message) noexcept {
        return message == nullptr ? nullptr : Pooled<T>(message, *this);
    }

    /// Destination of a batch, and the line of code that asks for it.
    struct Batch {
        template <std::convertible_to<std::span<T*>> To>
        Batch(To&& to, Place from = Place::current())  // NOLINT(google-explicit-constructor): a span is one
            : messages(std::forward<To>(to)), place(from) {}
        std::span<T*> messages;
        [[no_unique_address]] Place place;
    };

    /// Makes all messages of the batch from the same arguments, or returns false and makes none. If a constructor
    /// throws, all blocks are released. The exhaustion policy does not apply.
    template <class... Args>
        requires std::constructible_from<T, const Args&...>
    [[nodiscard]] bool acquire_batch(Batch batch, const Args&... args);
    void release_batch(std::span<T* const> messages) noexcept {
        for (T* const message : messages) release(message);
    }

    /// Creates the calling thread's cache now.
    bool prewarm() noexcept { return blocks_.prewarm(); }

    /// Resets the statistics. Returns false and does nothing if a message is in use. The pool must be idle.
    bool reset() noexcept { return exhaustion_.is_idle() && blocks_.reset() && exhaustion_.reset(); }

    /// Closes the pool: no message is made any more, messages in use may still be released. Returns their number.
    std::uint64_t shutdown() {
        open_.store(false, std::memory_order_relaxed);
        return stats().in_use;
    }

    /// Counts of the block pool and of the exhaustion resource together. The high-water mark is the sum of
    /// their high-water marks.
    [[nodiscard]] PoolStats stats() const;
    [[nodiscard]] const Blocks& blocks() const noexcept { return blocks_; }
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
    static typename Blocks::Options with_alignment(typename Blocks::Options options) {
        auto& alignment = pool_options(options).alignment;
        alignment = std::max(alignment, alignof(T));
        return options;
    }
    /// False during the pool's destruction, which destroys each message itself. Ends the program for other pointers.
    [[nodiscard]] bool may_destroy(T* message) noexcept;
    [[gnu::noinline]] void require_lent(T* message) noexcept;
    [[nodiscard]] void* acquire_block(Place place);
    void release_block(void* block) noexcept override;

    Blocks blocks_;
    detail::ExhaustionPath exhaustion_;
    LiveAtEnd live_at_end_;
    std::atomic<bool> open_{true};
};

template <class T, class Policy, class Blocks>
template <class... OfBlocks>
MessagePool<T, Policy, Blocks>::MessagePool(std::size_t capacity, const Options& options, OfBlocks&&... of_blocks)
    : blocks_(sizeof(T), capacity, with_alignment(options.pool), std::forward<OfBlocks>(of_blocks)...),
      exhaustion_(options.when_exhausted, blocks_.name().c_str(), sizeof(T), blocks_.alignment()),
      live_at_end_(options.live_at_end) {}

template <class T, class Policy, class Blocks>
MessagePool<T, Policy, Blocks>::~MessagePool() {
    open_.store(false, std::memory_order_relaxed);  // Destructors must not make messages here any more.
    std::vector<T*> live;
    for_each_live([&](T& message) { live.push_back(&message); });
    if (live.empty()) return;
    if (live_at_end_ == LiveAtEnd::fault) {
        detail::misuse(blocks_.name().c_str(), "destroyed while a message is in use", live.front());
    }
    // Messages that a message owns or releases are destroyed here too, and only once.
    this->ending_ = true;
    for (T* const message : live) std::destroy_at(message);
    for (T* const message : live) release_block(message);
}

template <class T, class Policy, class Blocks>
bool MessagePool<T, Policy, Blocks>::may_destroy(T* message) noexcept {
    if (this->is_ending()) [[unlikely]]
        return false;
    if (!blocks_.owns(message)) [[unlikely]] {
        require_lent(message);
    } else {
        blocks_.require_in_use(message);
    }
    return true;
}

template <class T, class Policy, class Blocks>
void MessagePool<T, Policy, Blocks>::require_lent(T* message) noexcept {
    if (!exhaustion_.holds(message)) blocks_.release(message);  // Ends the program.
}

template <class T, class Policy, class Blocks>
PoolStats MessagePool<T, Policy, Blocks>::stats() const {
    auto stats = blocks_.stats();
    const auto extra = exhaustion_.stats();
    stats.in_use += extra.in_use;
    stats.acquired += extra.from_resource;
    stats.released += extra.from_resource - extra.in_use;
    stats.high_water += extra.high_water;  // The resource is used only while the pool is exhausted.
    return stats;
}

template <class T, class Policy, class Blocks>
template <class... Args>
    requires std::constructible_from<T, Args...>
T* MessagePool<T, Policy, Blocks>::acquire_at(Place place, Args&&... args) {
    void* const block = acquire_block(place);
    if (block == nullptr) return nullptr;
    if constexpr (std::is_nothrow_constructible_v<T, Args...>) {
        return std::construct_at(static_cast<T*>(block), std::forward<Args>(args)...);
    } else {
        MILLPOND_TRY { return std::construct_at(static_cast<T*>(block), std::forward<Args>(args)...); }
        MILLPOND_CATCH(...) {
            release_block(block);
            MILLPOND_RETHROW;
        }
    }
}

template <class T, class Policy, class Blocks>
template <class... Args>
    requires std::constructible_from<T, const Args&...>
bool MessagePool<T, Policy, Blocks>::acquire_batch(Batch batch, const Args&... args) {
    const auto messages = batch.messages;
    if (!open_.load(std::memory_order_relaxed) || !blocks_.acquire_batch_as(messages, batch.place)) return false;
    if constexpr (std::is_nothrow_constructible_v<T, const Args&...>) {
        for (T* const block : messages) std::construct_at(block, args...);
    } else {
        std::size_t made = 0;
        MILLPOND_TRY {
            for (; made < messages.size(); ++made) std::construct_at(messages[made], args...);
        }
        MILLPOND_CATCH(...) {
            for (std::size_t i = 0; i < made; ++i) std::destroy_at(messages[i]);
            for (T* const block : messages) blocks_.release(block);
            MILLPOND_RETHROW;
        }
    }
    return true;
}

template <class T, class Policy, class Blocks>
void* MessagePool<T, Policy, Blocks>::acquire_block(Place place) {
    if (!open_.load(std::memory_order_relaxed)) return nullptr;
    void* const block = blocks_.try_acquire(place);
    if (block != nullptr) [[likely]]
        return block;
    return exhaustion_.acquire([&] { return blocks_.try_acquire(place); });
}

template <class T, class Policy, class Blocks>
void MessagePool<T, Policy, Blocks>::release_block(void* block) noexcept {
    // Blocks of the resource are recognised by their address; for any other pointer the pool ends the program.
    if (exhaustion_.uses_resource() && !blocks_.owns(block) && exhaustion_.release(block)) return;
    blocks_.release(block);
}

}  // namespace millpond::memory
