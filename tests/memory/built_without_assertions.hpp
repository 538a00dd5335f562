#pragma once

#include <cstddef>

#include <millpond/memory/block_pool.hpp>

namespace millpond::memory::test {

/// Functions compiled with NDEBUG and optimisation in every build.
[[nodiscard]] void* acquire_without_assertions(BlockPool& pool);
void release_without_assertions(BlockPool& pool, void* block);
[[nodiscard]] void* acquire_without_assertions(CheckedBlockPool& pool);
void release_without_assertions(CheckedBlockPool& pool, void* block);
[[nodiscard]] std::size_t size_without_assertions();

}  // namespace millpond::memory::test
