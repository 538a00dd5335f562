#include <millpond/memory/detail/pool_layout.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/exceptions.hpp>
#include <millpond/memory/detail/block_cache.hpp>
#include <millpond/memory/detail/credits.hpp>

namespace millpond::memory::detail {
namespace {

/// Above this size a power-of-two stride would map the first lines of all blocks to few cache sets.
constexpr std::size_t kSetConflictBytes = 512;
constexpr std::uint32_t kLargestMagazine = 65'535;
constexpr std::size_t kUsualMagazine = 63;  // With the null below, a unit of magazines.
constexpr std::size_t kLargestAutomatic = 255;
constexpr std::uint32_t kMaxBlocks = std::numeric_limits<std::uint32_t>::max() / 2;

[[noreturn]] void refuse(const PoolOptions& options, const std::string& what) {
    MILLPOND_THROW(std::invalid_argument((options.name.empty() ? "pool: " : "pool '" + options.name + "': ") + what));
}

std::size_t align(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Distance between elements in bytes; an odd number of cache lines if elements are large.
std::size_t spread(std::size_t bytes, std::size_t alignment) {
    const auto stride = align(bytes, alignment);
    return stride % kSetConflictBytes == 0 && alignment <= core::kCacheLine ? stride + core::kCacheLine : stride;
}

std::uint32_t magazine_size(std::size_t capacity, const PoolOptions& options) {
    if (options.max_caches == 0) return 0;
    if (options.magazine_blocks != kAutomaticMagazine) return options.magazine_blocks;
    // Caches then hold at most half of the capacity; a quarter if magazines are larger than usual.
    const auto fair = capacity / (4 * (std::size_t{options.max_caches} + 1));
    const auto size = std::clamp<std::size_t>(fair / 2, std::min(fair, kUsualMagazine), kLargestAutomatic);
    return static_cast<std::uint32_t>(std::max<std::size_t>(size, 1));
}

}  // namespace

PoolLayout plan_pool(std::size_t block_bytes, std::size_t capacity, const PoolOptions& options,
                     std::size_t record_bytes, std::size_t guard_bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (block_bytes == 0) refuse(options, "blocks of 0 bytes, the minimum is 1");
    if (capacity == 0) refuse(options, "a capacity of 0 blocks, the minimum is 1");
    if (!std::has_single_bit(options.alignment) || options.alignment > page) {
        refuse(options, "alignment " + std::to_string(options.alignment) + " is not a power of two up to " +
                            std::to_string(page));
    }
    if (options.magazine_blocks != kAutomaticMagazine && options.magazine_blocks > kLargestMagazine) {
        refuse(options, "magazines of " + std::to_string(options.magazine_blocks) + " blocks, the maximum is " +
                            std::to_string(kLargestMagazine));
    }

    const auto refuse_size = [&] {
        refuse(options, std::to_string(capacity) + " blocks of " + std::to_string(block_bytes) +
                            " bytes, the maximum is " + std::to_string(kMaxBlocks) +
                            " blocks and what can be addressed");
    };
    if (capacity > kMaxBlocks) refuse_size();  // -1 too, which the sums below would wrap around

    PoolLayout layout;
    layout.block_bytes = block_bytes;
    layout.alignment = options.alignment;
    layout.magazine_blocks = magazine_size(capacity, options);
    const std::size_t size = layout.magazine_blocks;
    layout.caches = options.max_caches;
    const auto held = 2 * size * layout.caches;
    const auto owned = size == 0 ? capacity : align(capacity + held, size);
    if (options.capacity_policy == Capacity::automatic && options.magazine_blocks != kAutomaticMagazine &&
        held > capacity) {
        refuse(options, "with magazines of " + std::to_string(size) + " blocks " + std::to_string(layout.caches) +
                            " caches may hold " + std::to_string(held) + " blocks, more than the capacity of " +
                            std::to_string(capacity) +
                            ": use smaller magazines or fewer caches, or choose Capacity::elastic or Capacity::strict");
    }
    const auto magazines = size == 0 ? 0 : owned / size + 2 * (std::size_t{layout.caches} + 1);
    if (owned > kMaxBlocks || block_bytes > std::numeric_limits<std::size_t>::max() / 8 / owned) refuse_size();
    layout.stride = spread(block_bytes + guard_bytes, options.alignment);
    layout.capacity = static_cast<std::uint32_t>(capacity);
    layout.owned = static_cast<std::uint32_t>(owned);
    layout.magazines = static_cast<std::uint32_t>(magazines);
    // A place for the null below the magazine.
    layout.magazine_places =
        static_cast<std::uint32_t>(align((size + 1) * sizeof(void*), BlockCache::kMagazineUnit) / sizeof(void*));
    // Without magazines the depot itself stops at N, because it owns no more.
    layout.strict = size != 0 && (options.capacity_policy == Capacity::strict ||
                                  (options.capacity_policy == Capacity::automatic && held > capacity));

    const auto links = size == 0 ? owned : magazines;
    layout.links_at = align(owned * layout.stride, core::kFalseSharingRange);
    // The place below the first magazine stays null, too.
    layout.magazines_at =
        align(layout.links_at + links * sizeof(std::atomic<std::uint32_t>) + sizeof(void*), BlockCache::kMagazineUnit);
    layout.caches_at =
        align(layout.magazines_at + magazines * layout.magazine_places * sizeof(void*), core::kFalseSharingRange);
    layout.accounts = layout.strict ? layout.caches + 1 : 0;
    layout.accounts_at = layout.caches_at + (layout.caches + std::size_t{1}) * sizeof(BlockCache);
    layout.records_at = layout.accounts_at + layout.accounts * sizeof(CreditAccount);
    layout.region_bytes = layout.records_at + owned * record_bytes;
    return layout;
}

}  // namespace millpond::memory::detail
