#include <millpond/memory/pool_resource.hpp>

#include <stdexcept>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/exceptions.hpp>

namespace millpond::memory {

PoolResource::PoolResource(const PoolResourceOptions& options) : upstream_(options.upstream) {
    const auto refuse = [&](const std::string& what) {
        MILLPOND_THROW(std::invalid_argument("pool resource '" + options.name + "': " + what));
    };
    if (upstream_ == nullptr) refuse("no upstream; std::pmr::null_memory_resource() refuses instead");
    if (options.classes.empty() || options.classes.size() >= kNoClass) refuse("needs 1 to 254 size classes");
    class_of_step_.fill(kNoClass);
    std::size_t step = 0;
    for (const auto& [block_bytes, capacity] : options.classes) {
        const auto last = block_bytes / kStep;
        if (block_bytes % kStep != 0 || last == 0 || block_bytes > kLargest || step > last) {
            refuse("size class of " + std::to_string(block_bytes) +
                   " bytes; classes are multiples of 64 up to 65536 in ascending order");
        }
        const auto number = static_cast<std::uint8_t>(pools_.size());
        while (step <= last) class_of_step_[step++] = number;
        pools_.push_back(
            std::make_unique<BlockPool>(block_bytes, capacity,
                                        PoolOptions{.name = options.name + "." + std::to_string(block_bytes),
                                                    .max_caches = options.max_caches,
                                                    .region = options.region}));
    }
}

BlockPool* PoolResource::pool_for(std::size_t bytes, std::size_t alignment) const noexcept {
    if (bytes > kLargest || alignment > core::kCacheLine) return nullptr;
    const auto number = class_of_step_[(bytes + kStep - 1) / kStep];
    return number == kNoClass ? nullptr : pools_[number].get();
}

void* PoolResource::do_allocate(std::size_t bytes, std::size_t alignment) {
    if (auto* const pool = pool_for(bytes, alignment)) {
        if (void* const block = pool->try_acquire()) return block;
    }
    void* const block = upstream_->allocate(bytes, alignment);
    upstream_allocations_.fetch_add(1, std::memory_order_relaxed);
    return block;
}

void PoolResource::do_deallocate(void* block, std::size_t bytes, std::size_t alignment) {
    auto* const pool = pool_for(bytes, alignment);
    if (pool != nullptr && pool->owns(block)) return pool->release(block);
    upstream_->deallocate(block, bytes, alignment);
    upstream_deallocations_.fetch_add(1, std::memory_order_relaxed);
}

PoolResourceStats PoolResource::stats() const {
    PoolResourceStats stats;
    for (const auto& pool : pools_) stats.classes.push_back(pool->stats());
    const auto returned = upstream_deallocations_.load(std::memory_order_relaxed);
    stats.upstream_allocations = upstream_allocations_.load(std::memory_order_relaxed);
    stats.upstream_in_use = stats.upstream_allocations - returned;
    return stats;
}

}  // namespace millpond::memory
