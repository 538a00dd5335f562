#pragma once

#include <cstddef>

/// Benches of one thread, which run the same pattern with other block sizes or numbers.
namespace millpond::bench {

/// One block at a time: acquire, write, read, release.
void ask_sequential(std::size_t block_bytes);
/// `count` blocks acquired, then released in the same order.
void ask_bulk(std::size_t block_bytes, std::size_t count);
/// 1,000 blocks in use, of which a random one is released and another acquired.
void ask_random(std::size_t block_bytes);
/// `count` blocks of 64 bytes, acquired in one call and released in one call.
void ask_batch(std::size_t count);
/// Like ask_random with 192 bytes: the distribution of single acquisitions, including writing the block.
void ask_tail();

}  // namespace millpond::bench
