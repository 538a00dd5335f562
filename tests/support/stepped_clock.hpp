#pragma once

#include <cstdint>

namespace millpond::test {

/// Steps the system clock, for this process and during its lifetime only: it replaces clock_gettime, so that the tested
/// code does not change. Link with millpond::stepped_clock.
///
/// Threads: any; one at a time. The kernel's own timestamps do not change.
class ClockStep {
public:
    explicit ClockStep(std::int64_t nanos) noexcept;
    ~ClockStep();
    ClockStep(const ClockStep&) = delete;
    ClockStep& operator=(const ClockStep&) = delete;
};

}  // namespace millpond::test
