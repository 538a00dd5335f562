#pragma once

#include <cstdint>

namespace millpond::traffic {

/// Time as the transmitter sees it; tests replace it.
class Clock {
public:
    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock() = default;

    /// Monotonic nanoseconds.
    [[nodiscard]] virtual std::int64_t now() = 0;
    /// Returns at this time, or earlier: after a signal, and after kLongestWait, so that a stop is noticed.
    virtual void wait_until(std::int64_t time) = 0;

    static constexpr std::int64_t kLongestWait = 50'000'000;
};

/// The machine's monotonic clock. Waits in the kernel, or spins for the last part of the way when `spin` is set.
class MonotonicClock final : public Clock {
public:
    explicit MonotonicClock(bool spin = false) noexcept;

    [[nodiscard]] std::int64_t now() override;
    void wait_until(std::int64_t time) override;

private:
    bool spin_;
};

}  // namespace millpond::traffic
