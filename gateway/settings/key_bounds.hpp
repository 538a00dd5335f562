#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include <millpond/core/idle.hpp>

/// Bounds and words that several of the gateway's tables share.
namespace millpond::gateway {

inline constexpr std::pair<std::string_view, core::Poll> kPolls[] = {
    {"spin", core::Poll::spin}, {"block", core::Poll::block}, {"adaptive", core::Poll::adaptive}};

inline constexpr std::size_t kLongestName = 32;
inline constexpr std::uint64_t kHighestCpu = 1023;
inline constexpr std::uint64_t kHighestChannel = std::numeric_limits<std::uint16_t>::max();

template <class Int>
Int narrow(std::uint64_t checked) {
    return static_cast<Int>(checked);
}

}  // namespace millpond::gateway
