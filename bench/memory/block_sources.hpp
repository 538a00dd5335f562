#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <millpond/memory/block_pool.hpp>

/// Sources of blocks for benches. A source has a constructor (block_bytes, capacity); local(source) returns an object
/// for the calling thread with acquire() and release(block), and possibly acquire_batch and release_batch.
namespace millpond::bench {

/// The reference: a private array of free slots, for one thread.
class ArrayBlocks {
public:
    ArrayBlocks(std::size_t bytes, std::size_t capacity)
        : memory_(memory::Region::anonymous(bytes * capacity, {.prefault = true})), free_(capacity), level_(capacity) {
        for (std::size_t i = 0; i < capacity; ++i) free_[i] = memory_.data() + (capacity - 1 - i) * bytes;
    }
    void* acquire() { return level_ == 0 ? nullptr : free_[--level_]; }
    void release(void* block) { free_[level_++] = block; }
    bool acquire_batch(std::span<void*> blocks) {
        if (level_ < blocks.size()) return false;
        level_ -= blocks.size();
        std::memcpy(blocks.data(), &free_[level_], blocks.size_bytes());
        return true;
    }
    void release_batch(std::span<void* const> blocks) {
        std::memcpy(&free_[level_], blocks.data(), blocks.size_bytes());
        level_ += blocks.size();
    }

private:
    memory::Region memory_;
    std::vector<void*> free_;
    std::size_t level_;
};

inline constexpr std::uint32_t kBenchThreads = 8;

template <class Pool>
class PoolBlocks {
public:
    PoolBlocks(std::size_t bytes, std::size_t capacity, memory::PoolOptions options = {})
        : pool_(bytes, capacity, with_threads(std::move(options))) {}
    void* acquire() { return pool_.try_acquire(); }
    void release(void* block) { pool_.release(block); }
    bool acquire_batch(std::span<void*> blocks) { return pool_.try_acquire_batch(blocks); }
    void release_batch(std::span<void* const> blocks) { pool_.release_batch(blocks); }
    [[nodiscard]] Pool& pool() noexcept { return pool_; }

private:
    static memory::PoolOptions with_threads(memory::PoolOptions options) {
        options.max_caches = kBenchThreads;
        return options;
    }
    Pool pool_;
};

/// The source without its batches.
template <class Source>
class SingleCalls {
public:
    SingleCalls(std::size_t bytes, std::size_t capacity) : source_(bytes, capacity) {}
    void* acquire() { return source_.acquire(); }
    void release(void* block) { source_.release(block); }

private:
    Source source_;
};

/// Like the source above, through an explicit cache, for benches that call local().
template <class Pool>
class CachedBlocks : public PoolBlocks<Pool> {
public:
    using PoolBlocks<Pool>::PoolBlocks;

    class Local {
    public:
        explicit Local(Pool& pool) : cache_(pool) {}
        void* acquire() { return cache_.try_acquire(); }
        void release(void* block) { cache_.release(block); }
        bool acquire_batch(std::span<void*> blocks) { return cache_.try_acquire_batch(blocks); }
        void release_batch(std::span<void* const> blocks) { cache_.release_batch(blocks); }

    private:
        typename Pool::Cache cache_;
    };
};

/// The source as the calling thread uses it: the source itself, or a cache of it.
template <class Source>
Source& local(Source& source) {
    if constexpr (requires { Source::enter_thread(); }) Source::enter_thread();
    return source;
}
template <class Pool>
typename CachedBlocks<Pool>::Local local(CachedBlocks<Pool>& source) {
    return typename CachedBlocks<Pool>::Local(source.pool());
}

template <class Local>
bool acquire_all(Local& blocks, std::span<void*> into) {
    if constexpr (requires { blocks.acquire_batch(into); }) {
        return blocks.acquire_batch(into);
    } else {
        for (auto& block : into) block = blocks.acquire();
        return true;
    }
}

template <class Local>
void release_all(Local& blocks, std::span<void* const> all) {
    if constexpr (requires { blocks.release_batch(all); }) {
        blocks.release_batch(all);
    } else {
        for (void* const block : all) blocks.release(block);
    }
}

}  // namespace millpond::bench
