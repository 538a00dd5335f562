#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include <millpond/memory/block_pool.hpp>

namespace millpond::memory {

/// Blocks of one size in a PoolResource.
struct SizeClass {
    std::size_t block_bytes;
    std::size_t capacity;
};

struct PoolResourceOptions {
    std::string name{"resource"};
    /// In ascending order of block_bytes, the largest up to 64 KiB.
    std::vector<SizeClass> classes{{64, 4096}, {128, 2048}, {256, 1024}, {512, 512}, {1024, 256}, {4096, 64}};
    /// Serves allocations that are too large, aligned to more than a cache line, or of an exhausted class.
    std::pmr::memory_resource* upstream{std::pmr::get_default_resource()};
    std::uint32_t max_caches{16};
    RegionOptions region{.prefault = true};
};

struct PoolResourceStats {
    std::vector<PoolStats> classes;
    std::uint64_t upstream_allocations{0};
    std::uint64_t upstream_in_use{0};
};

/// A std::pmr::memory_resource made of block pools: allocation and deallocation are O(1), on any thread.
/// std::pmr::polymorphic_allocator makes it an allocator for the standard containers and std::allocate_shared.
///
/// Threads: any, see BlockPool.
/// Memory:  one BlockPool for each size class, allocated in the constructor; afterwards only upstream allocations.
class PoolResource final : public std::pmr::memory_resource {
public:
    /// Throws std::invalid_argument: no class, classes not in ascending order or beyond 64 KiB, no upstream.
    explicit PoolResource(const PoolResourceOptions& options = {});

    [[nodiscard]] PoolResourceStats stats() const;

private:
    static constexpr std::size_t kStep = 64;
    static constexpr std::size_t kLargest = kStep * 1024;
    static constexpr std::uint8_t kNoClass = 255;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    /// The smallest class that serves the allocation; null if none does.
    [[nodiscard]] BlockPool* pool_for(std::size_t bytes, std::size_t alignment) const noexcept;

    std::vector<std::unique_ptr<BlockPool>> pools_;
    std::array<std::uint8_t, kLargest / kStep + 1> class_of_step_;  // Indexed by the bytes in steps of 64, rounded up.
    std::pmr::memory_resource* upstream_;
    std::atomic<std::uint64_t> upstream_allocations_{0};
    std::atomic<std::uint64_t> upstream_deallocations_{0};
};

}  // namespace millpond::memory
