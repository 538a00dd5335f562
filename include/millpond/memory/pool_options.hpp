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
    strict,     ///< Exactly when N blocks are in use. Costs one shared counter in each acquire.
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

/// State and counts of a pool. Counts are summed over the caches while other threads write them, so two of them may be
/// from different moments.
struct PoolStats {
    std::size_t capacity{0};      ///< N: no acquire is refused while fewer are in use.
    std::size_t owned{0};         ///< All blocks: N and those that caches may hold.
    std::size_t block_bytes{0};   ///< As requested.
    std::size_t stride_bytes{0};  ///< From one block to the next.
    std::size_t region_bytes{0};  ///< All memory of the pool except the object.
    std::size_t page_bytes{0};
    std::uint32_t magazine_blocks{0};
    bool strict{false};
    std::uint64_t in_use{0};
    std::uint64_t high_water{0};  ///< Maximum of in_use: exact if strict, otherwise within one magazine for each cache,
                                  ///< and above the capacity only if more was in use.
    std::uint64_t acquired{0};
    std::uint64_t released{0};
    std::uint64_t refused{0};
    std::uint64_t exchanges{0};  ///< Magazines taken from or given to the depot.
    std::uint64_t uncached{0};   ///< Operations of threads without a cache.
};

}  // namespace millpond::memory
