#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <millpond/memory/block_pool.hpp>

#include "bench/harness/compare.hpp"
#include "bench/memory/block_sources.hpp"
#include "bench/rivals/allocators.hpp"
#include "bench/rivals/dpdk_pool.hpp"
#include "bench/rivals/pools.hpp"

namespace millpond::bench {

inline constexpr const char* kArray = "reference: array";
inline constexpr const char* kCache = "BlockPool::Cache";
inline constexpr const char* kPool = "BlockPool";
inline constexpr const char* kStrict = "BlockPool, strict";
inline constexpr const char* kChecked = "CheckedBlockPool";
inline constexpr const char* kBoostObjectPool = "boost::object_pool, one thread";

/// The sources of a bench. Each contender runs `pattern(source)`.
template <class Pattern>
class Contenders {
public:
    Contenders(std::size_t bytes, std::size_t capacity, Pattern pattern)
        : bytes_(bytes), capacity_(capacity), pattern_(std::move(pattern)) {}

    template <class Source, class... More>
    void add(std::string name, More... more) {
        all_.push_back({std::move(name), [bytes = bytes_, capacity = capacity_, pattern = pattern_, more...] {
                            const auto source = std::make_unique<Source>(bytes, capacity, more...);
                            return pattern(*source);
                        }});
    }

    void add_ours(std::uint32_t magazine_blocks = memory::kAutomaticMagazine) {
        using memory::BlockPool;
        // Magazines of another size need a policy.
        const auto policy =
            magazine_blocks == memory::kAutomaticMagazine ? memory::Capacity::automatic : memory::Capacity::elastic;
        const memory::PoolOptions options{.capacity_policy = policy, .magazine_blocks = magazine_blocks};
        auto strict = options;
        strict.capacity_policy = memory::Capacity::strict;
        add<CachedBlocks<BlockPool>>(kCache, options);
        add<PoolBlocks<BlockPool>>(kPool, options);
        add<CachedBlocks<BlockPool>>(kStrict, strict);
        add<CachedBlocks<memory::CheckedBlockPool>>(kChecked, options);
    }

    /// Pools and allocators that any thread may use.
    void add_rivals() {
#ifdef MILLPOND_RIVAL_CRATES
        add_rival<Mimalloc3Blocks>("mimalloc 3");
        add_rival<SnmallocBlocks>("snmalloc 0.7");
#else
        absent_.insert(absent_.end(), {"mimalloc 3", "snmalloc 0.7"});
#endif
#ifdef MILLPOND_RIVAL_DPDK
        add_rival<DpdkBlocks>("rte_mempool");
#else
        absent_.emplace_back("rte_mempool");
#endif
        static const LibraryAllocator kLibraries[]{
            {"mimalloc 2", "libmimalloc.so.2.0", "mi_malloc", "mi_free"},
            {"tcmalloc", "libtcmalloc_minimal.so.4", "tc_malloc", "tc_free"},
            {"TBB", "libtbbmalloc.so.2", "scalable_malloc", "scalable_free"},
        };
        for (const auto& library : kLibraries) {
            if (library.present()) {
                add_function(library.name, [library, bytes = bytes_] { return LibraryBlocks(library, bytes); });
            } else {
                absent_.emplace_back(library.name);
            }
        }
        static const Jemalloc kJemalloc;
        if (kJemalloc.present()) {
            add_function("jemalloc", [bytes = bytes_] { return JemallocBlocks(kJemalloc, bytes); });
        } else {
            absent_.emplace_back("jemalloc");
        }
        add_rival<GlibcBlocks>("glibc");
#ifdef MILLPOND_RIVAL_BOOST
        add_rival<LockfreeStackBlocks>("boost::lockfree::stack");
#else
        absent_.insert(absent_.end(), {"boost::lockfree::stack", "boost::pool"});
#endif
    }

    /// A contender that is slow when threads meet: about 100 microseconds per message.
    void add_slow_rivals() { add_rival<PmrSynchronizedBlocks>("pmr::synchronized_pool"); }

    /// Pools for one thread.
    void add_unsafe() {
#ifdef MILLPOND_RIVAL_BOOST
        add<BoostPoolBlocks>("boost::pool, one thread");
        // Its blocks have a type, so the compiler knows their size.
        if (bytes_ == 64) add<BoostObjectPoolBlocks<64>>(kBoostObjectPool);
        if (bytes_ == 192) add<BoostObjectPoolBlocks<192>>(kBoostObjectPool);
        if (bytes_ == 640) add<BoostObjectPoolBlocks<640>>(kBoostObjectPool);
#endif
        add<PmrUnsynchronizedBlocks>("pmr::unsynchronized_pool, one thread");
    }

    /// A goal for each rival: the pool is no slower.
    [[nodiscard]] std::vector<Goal> ahead_of_rivals(const char* ours) const {
        std::vector<Goal> goals;
        for (const auto& rival : rivals_) goals.push_back({.contender = ours, .to = rival, .at_most = 1.0});
        return goals;
    }

    /// Names contenders that are not installed.
    [[nodiscard]] std::string absent() const {
        std::string text;
        for (const auto& name : absent_) text += "; absent: " + name;
        return text;
    }

    [[nodiscard]] const std::vector<Contender>& all() const noexcept { return all_; }

private:
    template <class Source>
    void add_rival(const char* name) {
        add<Source>(name);
        rivals_.emplace_back(name);
    }
    template <class Make>
    void add_function(const char* name, Make make) {
        all_.push_back({name, [make, pattern = pattern_] {
                            auto source = make();
                            return pattern(source);
                        }});
        rivals_.emplace_back(name);
    }

    std::size_t bytes_;
    std::size_t capacity_;
    Pattern pattern_;
    std::vector<Contender> all_;
    std::vector<std::string> rivals_;
    std::vector<std::string> absent_;
};

}  // namespace millpond::bench
