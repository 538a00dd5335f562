#include <millpond/memory/residency.hpp>

#include <linux/mman.h>
#include <sys/mman.h>

#include <cerrno>

#include <millpond/core/exceptions.hpp>
#include <millpond/memory/region_options.hpp>

#include "kernel_pages.hpp"

namespace millpond::memory {
namespace {

/// Touches each page without changing it; for kernels before 5.14, which cannot populate.
void touch(std::span<std::byte> bytes, bool writable) {
    for (std::size_t at = 0; at < bytes.size(); at += base_page_bytes()) {
        auto* byte = reinterpret_cast<unsigned char*>(bytes.data() + at);
        if (writable) {
            __atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
        } else {
            static_cast<void>(*static_cast<volatile unsigned char*>(byte));
        }
    }
}

}  // namespace

void make_present(std::span<std::byte> bytes, bool writable) {
    int result = 0;
    do {
        result = madvise(bytes.data(), bytes.size(), writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
    } while (result != 0 && errno == EINTR);
    if (result == 0) return;
    if (errno != EINVAL) {
        MILLPOND_THROW(RegionError(
            errno, std::generic_category(),
            "prefault: cannot make " + size_text(bytes.size()) +
                " present; free memory, or raise the limit of the control group or of the node's huge pages"));
    }
    touch(bytes, writable);
}

void drop_pages(std::span<std::byte> bytes) noexcept { madvise(bytes.data(), bytes.size(), MADV_DONTNEED); }

}  // namespace millpond::memory
