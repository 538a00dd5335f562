#pragma once

#include <source_location>

namespace millpond::memory {

/// Debug checks of a pool. A policy is a type, so that objects built with and without debugging can be linked together.

/// Only checks that released pointers are blocks of the pool.
struct Unchecked {
    static constexpr bool kChecked = false;

    /// Source location of an acquire; empty here, so passing it costs nothing.
    struct Place {
        static constexpr Place current() noexcept { return {}; }
        static constexpr Place unknown() noexcept { return {}; }
        /// Required by the interface; called only by checked pools.
        [[nodiscard]] static constexpr const char* file() noexcept { return ""; }
        [[nodiscard]] static constexpr unsigned line() noexcept { return 0; }
    };

    /// Called where another thread may intervene; tests preempt the thread here.
    static void racy_point() noexcept {}
};

/// Also detects double release, overrun, write after release (with PoolOptions::fill_released) and leaks, and reports
/// the place of acquisition. Costs a state and a place for each block and canary words after it.
struct Checked {
    static constexpr bool kChecked = true;

    class Place {
    public:
        static constexpr Place current(std::source_location where = std::source_location::current()) noexcept {
            return Place(where);
        }
        static constexpr Place unknown() noexcept { return Place({}); }
        [[nodiscard]] constexpr const char* file() const noexcept { return where_.file_name(); }
        [[nodiscard]] constexpr unsigned line() const noexcept { return where_.line(); }

    private:
        constexpr explicit Place(std::source_location where) noexcept : where_(where) {}
        std::source_location where_;
    };

    static void racy_point() noexcept {}
};

}  // namespace millpond::memory
