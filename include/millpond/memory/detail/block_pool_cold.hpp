#pragma once

#include <algorithm>
#include <exception>
#include <stdexcept>

#include <millpond/core/exceptions.hpp>
#include <millpond/memory/block_pool.hpp>

// Bodies of BasicBlockPool that run once for each pool or thread, or for threads without a cache.
namespace millpond::memory {

template <class Policy>
BasicBlockPool<Policy>::BasicBlockPool(std::size_t block_bytes, std::size_t capacity, const PoolOptions& options)
    : name_(options.name.empty() ? detail::next_pool_name() : options.name),
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
    MILLPOND_TRY { slot_.remember(cache); }
    MILLPOND_CATCH(const std::exception&) {  // No memory for the thread's table: the thread has no cache.
        detach(*cache);
        return nullptr;
    }
    return cache;
}

template <class Policy>
auto BasicBlockPool<Policy>::attach() noexcept -> BlockCache* {
    const std::lock_guard lock(mutex_);
    if (attached_ == layout_.caches) return nullptr;
    auto& cache = *std::ranges::find(own_caches(), false, &BlockCache::attached);
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
    if (layout_.strict) cache.account = &credits_.open_account();
    cache.attached = true;
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
    depot_.count_in_use_of(cache);  // Its blocks in use stay counted in the depot.
    depot_.strip(cache);
    if (cache.account != nullptr) cache.account->open = false;
    cache.attached = false;
    --attached_;
}

template <class Policy>
void BasicBlockPool<Policy>::detach_held(BlockCache& cache) noexcept {
    const std::lock_guard lock(mutex_);
    drain(cache);
    gone_.add_counts_of(cache);
    std::erase(held_, &cache);
}

template <class Policy>
void BasicBlockPool<Policy>::move_held(BlockCache& from, BlockCache& to) noexcept {
    const std::lock_guard lock(mutex_);
    to.move_from(from);
    std::ranges::replace(held_, &from, &to);
}

template <class Policy>
template <class Visit>
void BasicBlockPool<Policy>::for_each_cache(Visit&& visit) const {
    for (auto& cache : own_caches()) visit(cache);
    for (auto* const cache : held_) visit(*cache);
    visit(gone_);
}

template <class Policy>
BasicBlockPool<Policy>::Cache::Cache(BasicBlockPool& pool) : pool_(&pool) {
    if (!pool.attach(cache_)) {
        MILLPOND_THROW(std::length_error("pool '" + pool.name() + "': all " + std::to_string(pool.layout_.caches) +
                                         " caches are in use; raise max_caches"));
    }
}

}  // namespace millpond::memory
