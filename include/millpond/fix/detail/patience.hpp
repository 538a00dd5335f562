#pragma once

#include <algorithm>
#include <cstdint>

namespace millpond::fix::detail {

/// Backoff for predictions: after a wrong prediction the next one follows soon, then ever later until one is right
/// twice.
class Patience {
public:
    void matched() noexcept {
        misses_ = 0;
        patience_ = kMinWait;
    }
    /// Call after a wrong prediction. Returns whether to make another.
    [[nodiscard]] bool missed() noexcept {
        if (++misses_ < patience_) return false;
        misses_ = 0;
        patience_ = std::min(2 * patience_, kMaxWait);
        return true;
    }

private:
    static constexpr std::uint32_t kMinWait = 2;
    static constexpr std::uint32_t kMaxWait = 1024;

    std::uint32_t misses_{0};  // consecutive misses
    std::uint32_t patience_{kMinWait};
};

}  // namespace millpond::fix::detail
