#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

#include <millpond/memory/region.hpp>

namespace millpond::memory {

/// A std::pmr::memory_resource that places each large allocation in a separate anonymous Region, for example on huge
/// pages: for tables with random access.
///
/// Threads: one at a time.
/// Memory:  allocations of 2 MiB or more are rounded up to pages; smaller ones come from `upstream`.
class RegionResource final : public std::pmr::memory_resource {
public:
    /// upstream: must outlive the resource.
    explicit RegionResource(const RegionOptions& options,
                            std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : options_(options), upstream_(upstream) {}

    /// Regions in use, oldest first.
    [[nodiscard]] const std::vector<Region>& regions() const noexcept { return regions_; }

private:
    /// Throws std::bad_alloc in place of RegionError.
    void* do_allocate(std::size_t bytes, std::size_t alignment) override;
    void do_deallocate(void* place, std::size_t bytes, std::size_t alignment) override;
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    RegionOptions options_;
    std::pmr::memory_resource* upstream_;
    std::vector<Region> regions_;
};

}  // namespace millpond::memory
