#include <millpond/memory/on_demand_array.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include <millpond/core/exceptions.hpp>
#include <millpond/memory/region_options.hpp>

#include "kernel_pages.hpp"

namespace millpond::memory {
namespace {

class OnDemandResource final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        static_cast<void>(alignment);  // at most a page
        return OnDemandPages{std::max<std::size_t>(bytes, 1)}.release().data();
    }
    void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
        static_cast<void>(alignment);
        ::munmap(at, round_up(std::max<std::size_t>(bytes, 1), base_page_bytes()));
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }
};

}  // namespace

std::pmr::memory_resource* on_demand_resource() noexcept {
    static OnDemandResource resource;
    return &resource;
}

OnDemandPages::OnDemandPages(std::size_t bytes) {
    if (bytes == 0) return;
    const auto size = round_up(bytes, base_page_bytes());
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        MILLPOND_THROW(RegionError(errno, std::generic_category(), "no address space for " + size_text(size)));
    }
    // A huge page would make 2 MiB present at once. A kernel without them refuses, and need not know.
    ::madvise(at, size, MADV_NOHUGEPAGE);
    bytes_ = {static_cast<std::byte*>(at), size};
}

OnDemandPages::~OnDemandPages() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace millpond::memory
