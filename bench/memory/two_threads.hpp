#pragma once

#include <cstddef>

/// Benches of two threads on two processors.
namespace millpond::bench {

/// One thread acquires and writes blocks, the other reads and releases them; a ring passes the blocks. block_bytes: 64,
/// 192 or 640.
void ask_cross_thread(std::size_t block_bytes);
/// Both threads acquire `burst` blocks of 64 bytes and release them.
void ask_shared(std::size_t burst);

}  // namespace millpond::bench
