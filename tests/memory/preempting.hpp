#pragma once

#include <sched.h>

#include <cstdint>

#include <millpond/core/idle.hpp>
#include <millpond/memory/pool_policy.hpp>

namespace millpond::memory {

/// A pool that waits at one in eight of its racy points, so that another thread can run. Mostly it spins for up to a
/// microsecond; at most 200 times per thread it yields the processor, because on a busy machine that may take long.
struct Preempting : Unchecked {
    static void racy_point() noexcept {
        static thread_local std::uint64_t state = reinterpret_cast<std::uintptr_t>(&state) | 1;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if (state % 8 != 0) return;
        static thread_local int yields_left = 200;
        if (state % 128 == 0 && yields_left > 0) {
            --yields_left;
            sched_yield();
        }
        for (auto spins = (state >> 32) % 64; spins > 0; --spins) core::cpu_relax();
    }
};

}  // namespace millpond::memory
