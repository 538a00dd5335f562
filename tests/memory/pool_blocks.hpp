#pragma once

#include <vector>

#include <millpond/memory/block_pool.hpp>

namespace millpond::memory {

/// Acquires blocks until the pool refuses.
inline std::vector<void*> acquire_all(BlockPool& pool) {
    std::vector<void*> blocks;
    while (void* const block = pool.try_acquire()) blocks.push_back(block);
    return blocks;
}

inline void give_back(BlockPool& pool, const std::vector<void*>& blocks) {
    for (void* const block : blocks) pool.release(block);
}

}  // namespace millpond::memory
