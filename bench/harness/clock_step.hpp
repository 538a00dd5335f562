#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// The step of the counter of ticks, which may be longer than an operation: 10 ns on some virtual machines.
namespace millpond::bench {

/// A shorter time is a number of steps rather than a measurement.
inline constexpr double kResolvedSteps = 10;

/// The step in ticks: the greatest common divisor of the differences between readings in a row. Rare differences are
/// left out, such as a step that two readings divide. 1 if all differences are rare, 0 if there are none.
[[nodiscard]] std::uint64_t step_of(std::span<const std::uint64_t> readings);

/// The step of this machine's counter in nanoseconds, measured once.
[[nodiscard]] double clock_step_nanos();

/// Nanoseconds of a unit such as "us" or "ns/message"; 0 if it is not one of time.
[[nodiscard]] double unit_nanos(std::string_view unit) noexcept;

/// The number of operations to time together so that they take kResolvedSteps, at least 1. nanos: of one operation.
[[nodiscard]] std::size_t block_of(double nanos);

}  // namespace millpond::bench
