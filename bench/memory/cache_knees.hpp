#pragma once

#include <cmath>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "bench/harness/compare.hpp"

namespace millpond::bench {

/// Numbers of blocks, of which `line_bytes` each are touched, beyond which they exceed one of this processor's caches,
/// as listed by the kernel.
inline std::vector<Knee> cache_knees(std::size_t line_bytes) {
    struct Level {
        const char* index;
        const char* name;
        const char* next;
    };
    constexpr Level kLevels[]{
        {"0", "first-level cache", "the second level"},
        {"2", "second-level cache", "the third level, and their pages from the second level of the address cache"},
        {"3", "third-level cache", "memory"}};
    std::vector<Knee> knees;
    for (const auto& level : kLevels) {
        std::ifstream file(std::string("/sys/devices/system/cpu/cpu0/cache/index") + level.index + "/size");
        double kilobytes = 0;
        if (!(file >> kilobytes)) continue;
        knees.push_back({.at = std::floor(kilobytes * 1024 / static_cast<double>(line_bytes)),
                         .why = std::string("the touched lines of the blocks fill the ") + level.name + " of " +
                                std::to_string(static_cast<long>(kilobytes)) + " KiB; beyond it they come from " +
                                level.next});
    }
    return knees;
}

}  // namespace millpond::bench
