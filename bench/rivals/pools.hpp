#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

#ifdef MILLPOND_RIVAL_BOOST
#include <boost/lockfree/stack.hpp>
#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#endif

/// Pools of other projects with a common interface. Those marked unsafe serve one thread only, so they are no rivals.
namespace millpond::bench {

template <class Resource>
class PmrBlocks {
public:
    PmrBlocks(std::size_t bytes, std::size_t) : bytes_(bytes) {}
    void* acquire() { return resource_.allocate(bytes_, kAlignment); }
    void release(void* block) { resource_.deallocate(block, bytes_, kAlignment); }

private:
    static constexpr std::size_t kAlignment = 16;
    std::size_t bytes_;
    Resource resource_;
};
using PmrUnsynchronizedBlocks = PmrBlocks<std::pmr::unsynchronized_pool_resource>;  // Unsafe.
using PmrSynchronizedBlocks = PmrBlocks<std::pmr::synchronized_pool_resource>;

#ifdef MILLPOND_RIVAL_BOOST

/// boost::pool: one list through the blocks themselves. Unsafe.
class BoostPoolBlocks {
public:
    BoostPoolBlocks(std::size_t bytes, std::size_t capacity) : pool_(bytes, capacity) {}
    void* acquire() { return pool_.malloc(); }
    void release(void* block) { pool_.free(block); }

private:
    boost::pool<> pool_;
};

/// boost::object_pool: the same list, kept in the order of addresses, so that a release walks it. Unsafe.
template <std::size_t kBytes>
class BoostObjectPoolBlocks {
public:
    BoostObjectPoolBlocks(std::size_t, std::size_t capacity) : pool_(capacity) {}
    void* acquire() { return pool_.malloc(); }
    void release(void* block) { pool_.free(static_cast<Object*>(block)); }

private:
    struct Object {
        std::byte bytes[kBytes];
    };
    boost::object_pool<Object> pool_;
};

/// Free blocks on a boost::lockfree::stack of pointers.
class LockfreeStackBlocks {
public:
    LockfreeStackBlocks(std::size_t bytes, std::size_t capacity) : free_(capacity), memory_(bytes * capacity) {
        for (std::size_t i = capacity; i-- > 0;) free_.bounded_push(memory_.data() + i * bytes);
    }
    void* acquire() {
        void* block = nullptr;
        return free_.pop(block) ? block : nullptr;
    }
    void release(void* block) { free_.bounded_push(block); }

private:
    boost::lockfree::stack<void*, boost::lockfree::fixed_sized<true>> free_;
    std::vector<std::byte> memory_;
};

#endif

}  // namespace millpond::bench
