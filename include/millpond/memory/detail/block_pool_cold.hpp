#pragma once

#include <algorithm>
#include <exception>
#include <stdexcept>

#include <millpond/memory/block_pool.hpp>

// Bodies of BasicBlockPool that run once for each pool or thread, or for threads without a cache.
namespace millpond::memory {

template <class Policy>
BasicBlockPool<Policy>::BasicBlockPool(std::size_t block_bytes, std::size_t capacity, const PoolOptions& options)
    : name_(options.name),
      layout_(detail::plan_pool(block_bytes, capacity, options, kRecordBytes, kGuardBytes)),
      region_(Region::anonymous(layout_.region_bytes, options.region)),
      grid_(region_.data(), layout_.stride, layout_.owned),
      caches_(reinterpret_cast<BlockCache*>(region_.data() + layout_.caches_at)),
      ledger_(make_ledger(name_, region_.data(), layout_, options.fill_released)),
      depot_(region_.data(), layout_, grid_),
      credits_(layout_.capacity, make_accounts(region_.data(), layout_)),
      slot_(
          this,
          [](void* pool, void* cache) noexcept {
              static_cast<BasicBlockPool*>(pool)->detach(*static_cast<BlockCache*>(cache));
          },
          region_.data(), region_.data() + std::size_t{layout_.owned} * layout_.stride, name_.c_str()) {
    std::uninitialized_default_construct_n(caches_, own_caches().size());
    for (auto& cache : own_caches()) describe(cache);
    held_.reserve(layout_.caches);
    equip(shared_cache());
}

template <class Policy>
BasicBlockPool<Policy>::~BasicBlockPool() {
    if constexpr (Policy::kChecked) {
        for (std::uint32_t index = 0; index < grid_.count(); ++index) {
            if (ledger_.is_out(index)) ledger_.fault("destroyed while a block is in use", index, grid_.block(index));
        }
        detail::show(region_.data(), region_.size(), detail::Content::old);
    }
}

template <class Policy>
auto BasicBlockPool<Policy>::make_ledger(const std::string& name, std::byte* memory, const detail::PoolLayout& layout,
                                         bool fill) -> Ledger {
    if constexpr (Policy::kChecked) {
        return {name.c_str(), memory + layout.records_at, layout.owned, layout.block_bytes, fill};
    } else {
        return {};
    }
}

template <class Policy>
auto BasicBlockPool<Policy>::make_accounts(std::byte* memory, const detail::PoolLayout& layout)
    -> std::span<detail::CreditAccount> {
    auto* const first = reinterpret_cast<detail::CreditAccount*>(memory + layout.accounts_at);
    std::uninitialized_default_construct_n(first, layout.accounts);
    return {first, layout.accounts};
}

template <class Policy>
void* BasicBlockPool<Policy>::acquire_uncached(Place place) noexcept {
    if (auto* const cache = cache_of_this_thread()) return acquire_with(*cache, place);
    const std::lock_guard lock(mutex_);
    uncached_.add();
    return acquire_with(shared_cache(), place);
}

template <class Policy>
void BasicBlockPool<Policy>::release_uncached(void* block) noexcept {
    if (auto* const cache = cache_of_this_thread()) return release_with(*cache, block);
    const std::lock_guard lock(mutex_);
    uncached_.add();
    release_with(shared_cache(), block);
}

template <class Policy>
template <class Element>
bool BasicBlockPool<Policy>::acquire_batch_as(std::span<Element*> blocks, Place place) noexcept {
    if (auto* const cache = cache_of_this_thread()) return acquire_batch_with(*cache, blocks, place);
    const std::lock_guard lock(mutex_);
    uncached_.add();
    return acquire_batches(shared_cache(), blocks, place);
}

template <class Policy>
void BasicBlockPool<Policy>::release_batch(std::span<void* const> blocks) noexcept {
    if (auto* const cache = cache_of_this_thread()) return release_batch_with(*cache, blocks);
    const std::lock_guard lock(mutex_);
    uncached_.add();
    release_batches(shared_cache(), blocks);
}

template <class Policy>
auto BasicBlockPool<Policy>::cache_of_this_thread() noexcept -> BlockCache* {
    if (auto* const mine = static_cast<BlockCache*>(slot_.mine())) return mine;
    if (!detail::PoolSlot::thread_may_keep()) return nullptr;
    auto* const cache = attach();
    if (cache == nullptr) return nullptr;
    try {
        slot_.remember(cache);
    } catch (const std::exception&) {  // No memory for the thread's table: the thread has no cache.
        detach(*cache);
        return nullptr;
    }
    return cache;
}

template <class Policy>
auto BasicBlockPool<Policy>::attach() noexcept -> BlockCache* {
    const std::lock_guard lock(mutex_);
    if (attached_ == layout_.caches) return nullptr;
    auto& cache = *std::ranges::find(own_caches(), false, &BlockCache::taken);
    ++attached_;
    equip(cache);
    return &cache;
}

template <class Policy>
bool BasicBlockPool<Policy>::attach(BlockCache& held) {
    const std::lock_guard lock(mutex_);
    if (attached_ == layout_.caches) return false;
    ++attached_;
    describe(held);
    equip(held);
    held_.push_back(&held);
    return true;
}

template <class Policy>
void BasicBlockPool<Policy>::equip(BlockCache& cache) noexcept {
    depot_.equip(cache);
    if (layout_.strict) cache.account = &credits_.open();
    cache.taken = true;
}

template <class Policy>
void BasicBlockPool<Policy>::detach(BlockCache& cache) noexcept {
    const std::lock_guard lock(mutex_);
    drain(cache);
}

template <class Policy>
void BasicBlockPool<Policy>::drain(BlockCache& cache) noexcept {
    do {
        while (!cache.is_empty()) {
            put(shared_cache(), cache.pop());
            cache.carry(0, 1);
            shared_cache().carry(1, 0);
        }
    } while (cache.use_full_spare());
    depot_.strip(cache);
    if (cache.account != nullptr) cache.account->taken = false;
    cache.taken = false;
    --attached_;
}

template <class Policy>
void BasicBlockPool<Policy>::detach_held(BlockCache& cache) noexcept {
    const std::lock_guard lock(mutex_);
    drain(cache);
    depot_.count_lent(cache);  // The depot continues to count its lent blocks.
    gone_.add_counts_of(cache);
    std::erase(held_, &cache);
}

template <class Policy>
template <class Visit>
void BasicBlockPool<Policy>::for_each_cache(Visit&& visit) const {
    for (auto& cache : own_caches()) visit(cache);
    for (auto* const cache : held_) visit(*cache);
    visit(gone_);
}

template <class Policy>
std::uint64_t BasicBlockPool<Policy>::count_in_use() const noexcept {
    std::uint64_t in_use = 0;
    for_each_cache([&](const BlockCache& cache) { in_use += cache.lent(); });
    return in_use;
}

template <class Policy>
BasicBlockPool<Policy>::Cache::Cache(BasicBlockPool& pool) : pool_(pool) {
    if (!pool.attach(cache_)) {
        throw std::length_error("pool '" + pool.name() + "': all " + std::to_string(pool.layout_.caches) +
                                " caches are taken; raise max_caches");
    }
}

template <class Policy>
PoolStats BasicBlockPool<Policy>::stats() const {
    PoolStats stats;
    stats.capacity = layout_.capacity;
    stats.owned = layout_.owned;
    stats.block_bytes = layout_.block_bytes;
    stats.stride_bytes = layout_.stride;
    stats.region_bytes = region_.size();
    stats.page_bytes = region_.page_bytes();
    stats.magazine_blocks = layout_.magazine_blocks;
    stats.strict = layout_.strict || layout_.magazine_blocks == 0;
    const std::lock_guard lock(mutex_);
    for_each_cache([&](const BlockCache& cache) {
        stats.refused += cache.refused.read();
        stats.exchanges += cache.exchanges.read();
    });
    const auto count_released = [this] {
        auto released = credits_.returned();
        for_each_cache([&](const BlockCache& cache) { released += cache.released.read(); });
        return released;
    };
    // Caches are read one after the other, and a block may move from one that was read to one that was not. What was
    // released meanwhile is therefore not counted as in use: the count is never above what was in use at one moment.
    const auto released_before = count_released();
    const auto lent = count_in_use();
    stats.released = count_released();
    const auto in_use = static_cast<std::int64_t>(lent - (stats.released - released_before));
    stats.in_use = static_cast<std::uint64_t>(std::clamp<std::int64_t>(in_use, 0, layout_.owned));
    // No count ever decreases.
    stats.acquired = most_acquired_ = std::max(most_acquired_, stats.released + stats.in_use);
    most_in_use_ = std::max(most_in_use_, stats.in_use);
    stats.high_water = layout_.strict ? credits_.most() : std::max(most_in_use_, depot_.most_lent());
    stats.uncached = uncached_.read();
    return stats;
}

template <class Policy>
bool BasicBlockPool<Policy>::reset() noexcept {
    const std::lock_guard lock(mutex_);
    if (count_in_use() != 0) return false;
    for_each_cache([](BlockCache& cache) { cache.forget_counts(); });
    uncached_.set(0);
    most_acquired_ = 0;
    most_in_use_ = 0;
    credits_.forget();
    depot_.forget_most_lent();
    return true;
}

template <class Policy>
std::vector<bool> BasicBlockPool<Policy>::free_blocks(std::string& fault) const {
    std::vector<bool> free(layout_.owned, false);
    const auto found = [&](const void* block) {
        const auto index = index_of(block);
        if (index >= layout_.owned || free[index]) {
            fault = "pool '" + name_ + "': block " + std::to_string(index) + " is in two places";
        } else {
            free[index] = true;
        }
    };
    depot_.for_each_block(found);
    std::size_t equipped = 0;
    for_each_cache([&](const BlockCache& cache) {
        if (!cache.taken) return;
        ++equipped;
        for (const auto* place = cache.bottom; place != cache.position(); ++place) found(*place);
        for (std::uint32_t i = 0; cache.spare_is_full && i < layout_.magazine_blocks; ++i) found(cache.spare[i]);
    });
    if (layout_.magazine_blocks > 0) {
        std::size_t full = 0;
        depot_.for_each_block([&](const void*) { ++full; });
        const auto counted = full / layout_.magazine_blocks + depot_.count_empty() + 2 * equipped;
        if (counted != layout_.magazines) {
            fault = "pool '" + name_ + "': " + std::to_string(counted) + " magazines are in place, " +
                    std::to_string(layout_.magazines) + " were made";
        }
    }
    return free;
}

template <class Policy>
std::string BasicBlockPool<Policy>::audit() const {
    const std::lock_guard lock(mutex_);  // A thread that used the pool may just be ending.
    std::string fault;
    const auto free = free_blocks(fault);
    if (!fault.empty()) return fault;
    const auto live = static_cast<std::uint64_t>(std::count(free.begin(), free.end(), false));
    const auto in_use = count_in_use();
    if (live != in_use) {
        return "pool '" + name_ + "': " + std::to_string(live) + " blocks are out, " + std::to_string(in_use) +
               " were acquired and not released";
    }
    return {};
}

template <class Policy>
template <class Visit>
void BasicBlockPool<Policy>::for_each_live(Visit&& visit) const {
    std::string fault;
    const auto free = [&] {
        const std::lock_guard lock(mutex_);
        return free_blocks(fault);
    }();
    for (std::uint32_t index = 0; index < layout_.owned; ++index) {
        if (!free[index]) visit(static_cast<void*>(grid_.block(index)));
    }
}

}  // namespace millpond::memory
