#pragma once

#include <cstdint>

namespace millpond::traffic {

/// Clock of the transmitter, which tests replace.
class Clock {
public:
    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock() = default;

    /// Monotonic nanoseconds.
    [[nodiscard]] virtual std::int64_t now() = 0;
    /// Waits until a time. Returns earlier after a signal and after kMaxWait, so that a stop is noticed.
    virtual void wait_until(std::int64_t time) = 0;

    static constexpr std::int64_t kMaxWait = 50'000'000;
};

/// The machine's monotonic clock. Waits in the kernel; with `spin`, spins at the end of the wait.
class MonotonicClock final : public Clock {
public:
    explicit MonotonicClock(bool spin = false) noexcept;

    [[nodiscard]] std::int64_t now() override;
    void wait_until(std::int64_t time) override;

private:
    bool spin_;
};

}  // namespace millpond::traffic
