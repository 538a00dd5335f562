#pragma once

#include <cstdint>

namespace millpond::journal {

/// True if the interval has passed. If the clock was set back, everything is due now, not only when the clock has
/// caught up.
[[nodiscard]] constexpr bool is_due(std::int64_t now_ns, std::int64_t last_ns, std::int64_t interval_ns) noexcept {
    return now_ns < last_ns || now_ns - last_ns >= interval_ns;
}

}  // namespace millpond::journal
