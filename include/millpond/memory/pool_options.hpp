#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <millpond/core/cache_line.hpp>
#include <millpond/memory/region_options.hpp>

namespace millpond::memory {

/// When a pool of capacity N refuses an acquire.
enum class Capacity : std::uint8_t {
    automatic,  ///< elastic, or strict if caches could hold more than N; throws if a given magazine_blocks causes that.
    elastic,    ///< When at least N blocks are in use; at the latest when all owned blocks are.
    strict,     ///< Exactly when N blocks are in use. Costs one shared counter in each acquire.
};

/// Magazine size derived from the capacity, at most 255 blocks.
inline constexpr std::uint32_t kAutomaticMagazine = std::numeric_limits<std::uint32_t>::max();

struct PoolOptions {
    std::string name{};                       ///< For error messages and metrics; empty: `pool-N`, counted up.
    std::size_t alignment{core::kCacheLine};  ///< Alignment of each block: a power of two, up to a page.
    Capacity capacity_policy{Capacity::automatic};
    std::uint32_t magazine_blocks{kAutomaticMagazine};  ///< Blocks that move between a cache and the depot at once, up
                                                        ///< to 65,535; 0: threads cache no blocks.
    std::uint32_t max_caches{
        16};                    ///< Maximum number of threads and explicit caches with blocks; others share one cache.
    bool fill_released{false};  ///< Checked pools: write a pattern into released blocks and verify it.
    RegionOptions region{.prefault = true};
};

/// The block pool's part of a pool's options.
[[nodiscard]] inline PoolOptions& pool_options(PoolOptions& options) noexcept { return options; }

/// State and counts of a pool. Counts are summed over the caches while other threads write them, so two of them may be
/// from different moments.
struct PoolStats {
    std::size_t capacity{0};      ///< N: no acquire is refused while fewer blocks are in use.
    std::size_t owned{0};         ///< All blocks: N and the maximum that caches hold.
    std::size_t block_bytes{0};   ///< As requested.
    std::size_t stride_bytes{0};  ///< From one block to the next.
    std::size_t region_bytes{0};  ///< All memory of the pool except the object.
    std::size_t page_bytes{0};
    std::uint32_t magazine_blocks{0};
    bool strict{false};
    std::uint64_t in_use{0};      ///< At some moment of the call; fewer, by up to two magazines for each cache, while
                                  ///< threads release many.
    std::uint64_t high_water{0};  ///< Maximum of in_use: exact if strict, otherwise within one magazine for each cache,
                                  ///< and above the capacity only if more was in use.
    std::uint64_t acquired{0};
    std::uint64_t released{0};
    std::uint64_t refused{0};
    std::uint64_t exchanges{0};  ///< Magazines exchanged with the depot.
    std::uint64_t uncached{0};   ///< Operations of threads without a cache.
};

}  // namespace millpond::memory
