#pragma once

#include <chrono>
#include <cstdint>

namespace millpond::gateway {

/// A default of a sink's options in the unit of its key.
template <class Unit>
constexpr std::uint64_t count_of(std::chrono::nanoseconds time) noexcept {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<Unit>(time).count());
}

}  // namespace millpond::gateway
