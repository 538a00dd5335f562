#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include <millpond/memory/message_pool.hpp>

namespace millpond::memory {

/// Default number of messages in the pool of a type.
inline constexpr std::size_t kGlobalPoolCapacity = 8192;

namespace detail {

/// The capacity that global_pool<T> has or will have; the lowest bit is set once it is made.
template <class T>
inline constinit std::atomic<std::size_t> global_pool_capacity{kGlobalPoolCapacity << 1};

}  // namespace detail

/// Sets the capacity of global_pool<T>. False, and nothing changes, when that was used already.
template <class T>
bool set_global_pool_capacity(std::size_t capacity) noexcept {
    auto now = detail::global_pool_capacity<T>.load(std::memory_order_relaxed);
    while ((now & 1) == 0) {
        if (detail::global_pool_capacity<T>.compare_exchange_weak(now, capacity << 1, std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/// The program's pool of T, made at first use. One across shared libraries: docs/internals/memory.md has the rule.
/// It never ends, so that a message may be released by any destructor of the program, however late it runs.
template <class T>
[[nodiscard]] MessagePool<T>& global_pool() {
    static auto& pool =
        *new MessagePool<T>(detail::global_pool_capacity<T>.fetch_or(1, std::memory_order_relaxed) >> 1);
    return pool;
}

/// A message of global_pool<T>; null when that is exhausted.
template <class T, class... Args>
[[nodiscard]] Pooled<T> make_message(Args&&... args) {
    return global_pool<T>().try_make(std::forward<Args>(args)...);
}

/// A message of `pool`; null when that is exhausted.
template <class T, class Policy, class... Args>
[[nodiscard]] Pooled<T> make_message(MessagePool<T, Policy>& pool, Args&&... args) {
    return pool.try_make(std::forward<Args>(args)...);
}

}  // namespace millpond::memory
