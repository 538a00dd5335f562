#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/memory/pool_options.hpp>

namespace millpond::memory::detail {

/// The sizes and offsets of a pool's parts in its Region: blocks, then the pool's data about them.
///
/// With caches of two magazines each, C threads can hold blocks that another thread needs, so a pool of capacity N owns
/// N + 2 * C * M blocks. Magazines: one for each M blocks, and two for each cache that are not full.
/// A cache that fills two magazines then always finds an empty one (tests/memory/depot.pml states and checks both).
struct PoolLayout {
    std::size_t block_bytes{0};
    std::size_t stride{0};
    std::size_t alignment{0};
    std::uint32_t capacity{0};
    std::uint32_t owned{0};
    std::uint32_t magazine_blocks{0};  ///< M; 0: the depot serves single blocks, caches only count.
    std::uint32_t magazine_places{0};  ///< Distance between magazines.
    std::uint32_t magazines{0};
    std::uint32_t caches{0};    ///< C, without the shared cache.
    std::uint32_t accounts{0};  ///< Of a strict pool: one for each cache, and the shared one.
    bool strict{false};

    std::size_t links_at{0};
    std::size_t magazines_at{0};
    std::size_t caches_at{0};
    std::size_t accounts_at{0};
    std::size_t records_at{0};
    std::size_t region_bytes{0};
};

/// record_bytes, guard_bytes: bytes that a checked pool adds for each block, and after each block.
/// Throws std::invalid_argument naming the value and its bound.
[[nodiscard]] PoolLayout plan_pool(std::size_t block_bytes, std::size_t capacity, const PoolOptions& options,
                                   std::size_t record_bytes, std::size_t guard_bytes);

}  // namespace millpond::memory::detail
