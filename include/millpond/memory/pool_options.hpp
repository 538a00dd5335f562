#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <millpond/core/cache_line.hpp>
#include <millpond/memory/region_options.hpp>

namespace millpond::memory {

/// When a pool of N refuses.
enum class Capacity : std::uint8_t {
    automatic,  ///< elastic, but strict where caches may hold more than N; refused if a given magazine_blocks does it.
    elastic,    ///< Not before N blocks are in use; at the latest when all that it owns are.
    strict,     ///< Exactly when N blocks are in use. Costs one shared counter an operation.
};

/// Magazines as large as suits the capacity, at most 255 blocks.
inline constexpr std::uint32_t kAutomaticMagazine = std::numeric_limits<std::uint32_t>::max();

struct PoolOptions {
    std::string name{"pool"};                 ///< For messages about misuse, and for metrics.
    std::size_t alignment{core::kCacheLine};  ///< Of each block: a power of two, up to a page.
    Capacity capacity_policy{Capacity::automatic};
    std::uint32_t magazine_blocks{kAutomaticMagazine};  ///< Blocks that move between a cache and the depot at once, up
                                                        ///< to 65,535; 0: threads keep no blocks at all.
    std::uint32_t max_caches{
        16};                    ///< How many threads and explicit caches may hold blocks at a time; others share one.
    bool fill_released{false};  ///< Checked pools: write a pattern into released blocks and look for it.
    RegionOptions region{.prefault = true};
};

/// What a pool is and has done. Counts are summed over the caches while they are written, so two of them need not
/// belong to the same moment.
struct PoolStats {
    std::size_t capacity{0};      ///< N: it does not refuse while fewer are in use.
    std::size_t owned{0};         ///< Blocks that exist: N and what caches may hold.
    std::size_t block_bytes{0};   ///< Asked for.
    std::size_t stride_bytes{0};  ///< From one block to the next.
    std::size_t region_bytes{0};  ///< All memory of the pool but the object itself.
    std::size_t page_bytes{0};
    std::uint32_t magazine_blocks{0};
    bool strict{false};
    std::uint64_t in_use{0};
    std::uint64_t high_water{0};  ///< Most in use at once: exact when strict, else within one magazine for each cache,
                                  ///< and above the capacity only if more was in use.
    std::uint64_t acquired{0};
    std::uint64_t released{0};
    std::uint64_t refused{0};
    std::uint64_t exchanges{0};  ///< Magazines taken from or given to the depot.
    std::uint64_t uncached{0};   ///< Operations of threads that got no cache.
};

}  // namespace millpond::memory
