#include "bench/harness/clock_step.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include <millpond/core/clock.hpp>

namespace millpond::bench {

std::uint64_t step_of(std::span<const std::uint64_t> readings) {
    constexpr std::size_t kRare = 10;  // less than one difference in so many
    std::map<std::uint64_t, std::size_t> differences;
    std::size_t count = 0;
    for (std::size_t i = 1; i < readings.size(); ++i) {
        if (readings[i] <= readings[i - 1]) continue;
        ++differences[readings[i] - readings[i - 1]];
        ++count;
    }
    std::uint64_t step = 0;
    for (const auto& [difference, times] : differences) {
        if (times * kRare >= count) step = std::gcd(step, difference);
    }
    return step == 0 && count != 0 ? 1 : step;
}

double clock_step_nanos() {
    static const double step = [] {
        std::vector<std::uint64_t> readings(20'000);
        for (auto& reading : readings) reading = core::ticks();
        return static_cast<double>(step_of(readings)) * core::TickRate{}.nanos_per_tick();
    }();
    return step;
}

double unit_nanos(std::string_view unit) noexcept {
    const auto name = unit.substr(0, unit.find_first_of("/, "));
    if (name == "ns") return 1;
    if (name == "us") return 1e3;
    if (name == "ms") return 1e6;
    return name == "s" ? 1e9 : 0;
}

std::size_t block_of(double nanos) {
    const auto steps = kResolvedSteps * clock_step_nanos();
    return nanos >= steps ? 1 : static_cast<std::size_t>(std::ceil(steps / std::max(nanos, 0.1)));
}

}  // namespace millpond::bench
