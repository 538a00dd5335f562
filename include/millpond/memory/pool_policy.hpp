#pragma once

#include <source_location>

namespace millpond::memory {

/// What a pool does beyond handing out blocks. A policy is a type, so that objects built with and without debugging can
/// be linked together.

/// Only the check that is always made: a pointer that is not a block of the pool.
struct Unchecked {
    static constexpr bool kChecked = false;

    /// Where a block was acquired; not recorded here, so it costs nothing to pass.
    struct Place {
        static constexpr Place current() noexcept { return {}; }
        /// Only for a checked pool.
        [[nodiscard]] static constexpr const char* file() noexcept { return ""; }
        [[nodiscard]] static constexpr unsigned line() noexcept { return 0; }
    };

    /// Between two steps that another thread may come between; tests put a preemption here.
    static void racy_point() noexcept {}
};

/// Double release, overrun, write after release (with PoolOptions::fill_released) and leaks are caught too, and the
/// message names the place of acquisition. Costs a state and a place per block and canary words after it.
struct Checked {
    static constexpr bool kChecked = true;

    class Place {
    public:
        static constexpr Place current(std::source_location where = std::source_location::current()) noexcept {
            return Place(where);
        }
        [[nodiscard]] constexpr const char* file() const noexcept { return where_.file_name(); }
        [[nodiscard]] constexpr unsigned line() const noexcept { return where_.line(); }

    private:
        constexpr explicit Place(std::source_location where) noexcept : where_(where) {}
        std::source_location where_;
    };

    static void racy_point() noexcept {}
};

}  // namespace millpond::memory
