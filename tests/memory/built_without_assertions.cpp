#include "tests/memory/built_without_assertions.hpp"

#ifndef NDEBUG
#error "the build compiles this file with NDEBUG"
#endif

namespace millpond::memory::test {

void* acquire_without_assertions(BlockPool& pool) { return pool.try_acquire(); }
void release_without_assertions(BlockPool& pool, void* block) { pool.release(block); }
void* acquire_without_assertions(CheckedBlockPool& pool) { return pool.try_acquire(); }
void release_without_assertions(CheckedBlockPool& pool, void* block) { pool.release(block); }
std::size_t size_without_assertions() { return sizeof(BlockPool) + sizeof(CheckedBlockPool); }

}  // namespace millpond::memory::test
