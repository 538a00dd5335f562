#pragma once

namespace millpond::core {

/// Prefetches the cache line of an address that will be written soon. Never faults, whatever the address.
inline void prefetch_for_write(const void* address) noexcept {
    __builtin_prefetch(address, 1);
    // g++ 12 removes calls of functions that only prefetch, since these change nothing. This keeps them.
    asm volatile("");
}

}  // namespace millpond::core
