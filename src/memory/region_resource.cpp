#include <millpond/core/exceptions.hpp>
#include <millpond/memory/region_resource.hpp>

#include <algorithm>
#include <new>

#include "kernel_pages.hpp"

namespace millpond::memory {
namespace {

bool has_region(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes >= kHugePageBytes && alignment <= base_page_bytes();
}

}  // namespace

void* RegionResource::do_allocate(std::size_t bytes, std::size_t alignment) {
    if (!has_region(bytes, alignment)) return upstream_->allocate(bytes, alignment);
    MILLPOND_TRY { return regions_.emplace_back(Region::anonymous(bytes, options_)).data(); }
    MILLPOND_CATCH(const RegionError&) { MILLPOND_THROW(std::bad_alloc()); }
}

void RegionResource::do_deallocate(void* place, std::size_t bytes, std::size_t alignment) {
    if (!has_region(bytes, alignment)) return upstream_->deallocate(place, bytes, alignment);
    std::erase_if(regions_, [&](const Region& region) { return region.data() == place; });
}

}  // namespace millpond::memory
