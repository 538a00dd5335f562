#pragma once

#include <sched.h>

#include <cstdint>

#include <millpond/memory/pool_policy.hpp>

namespace millpond::memory {

/// A pool that gives the processor away at one in eight of its racy points, so that another thread comes between; at
/// most 200 times a thread, because on a busy machine it may be long until it comes back.
struct Preempting : Unchecked {
    static void racy_point() noexcept {
        static thread_local std::uint64_t state = reinterpret_cast<std::uintptr_t>(&state) | 1;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        static thread_local int left = 200;
        if (state % 8 == 0 && left > 0) {
            --left;
            sched_yield();
        }
    }
};

}  // namespace millpond::memory
