#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/memory/message_pool.hpp>

namespace millpond::memory {

/// Default number of messages in the pool of a type.
inline constexpr std::size_t kGlobalPoolCapacity = 8192;

namespace detail {

/// Capacity of global_pool<T>; the lowest bit is set once the pool exists.
template <class T>
inline constinit std::atomic<std::size_t> global_pool_capacity{kGlobalPoolCapacity << 1};

/// The pool's name, "global_pool<Order>", with the type as the compiler writes it.
template <class T>
[[nodiscard]] std::string global_pool_name() {
    const std::string_view function = __PRETTY_FUNCTION__;
    constexpr std::string_view kBefore = "T = ";
    const auto from = function.find(kBefore) + kBefore.size();
    const auto to = std::min(function.find(';', from), function.rfind(']'));
    return "global_pool<" + std::string(function.substr(from, to - from)) + ">";
}

}  // namespace detail

/// Sets the capacity of global_pool<T>. Returns false and changes nothing if the pool exists already.
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

/// The program's pool of T, created at first use. Shared libraries share it: see docs/internals/memory.md.
/// It is never destroyed, so that any destructor of the program may release messages.
template <class T>
[[nodiscard]] MessagePool<T>& global_pool() {
    static auto& pool = *new MessagePool<T>(detail::global_pool_capacity<T>.fetch_or(1, std::memory_order_relaxed) >> 1,
                                            {.pool = {.name = detail::global_pool_name<T>()}});
    return pool;
}

/// Makes a message in global_pool<T>; null if it is exhausted.
template <class T, class... Args>
    requires std::constructible_from<T, Args...>
[[nodiscard]] Pooled<T> make_message(Args&&... args) {
    return global_pool<T>().try_make(std::forward<Args>(args)...);
}

}  // namespace millpond::memory
