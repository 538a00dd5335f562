#pragma once

#include <algorithm>
#include <cstdint>

namespace millpond::fix::detail {

/// When to repeat a guess that was wrong: soon at first, then less and less often while none is right twice.
class Patience {
public:
    void matched() noexcept {
        misses_ = 0;
        patience_ = kLeast;
    }
    /// The guess was wrong. Returns whether to make another.
    [[nodiscard]] bool missed() noexcept {
        if (++misses_ < patience_) return false;
        misses_ = 0;
        patience_ = std::min(2 * patience_, kMost);
        return true;
    }

private:
    static constexpr std::uint32_t kLeast = 2;
    static constexpr std::uint32_t kMost = 1024;

    std::uint32_t misses_{0};  // in a row
    std::uint32_t patience_{kLeast};
};

}  // namespace millpond::fix::detail
