#pragma once

#include <cstdint>

namespace millpond::test {

/// Sets the system's clock by so much, for this process only and for as long as the object lives: it replaces
/// clock_gettime, so that nothing under test needs to know. LINK millpond::stepped_clock.
///
/// Threads: any; one at a time. The kernel's own timestamps do not step.
class ClockStep {
public:
    explicit ClockStep(std::int64_t nanos) noexcept;
    ~ClockStep();
    ClockStep(const ClockStep&) = delete;
    ClockStep& operator=(const ClockStep&) = delete;
};

}  // namespace millpond::test
