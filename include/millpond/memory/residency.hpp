#pragma once

#include <cstddef>
#include <span>

namespace millpond::memory {

/// Makes every page of these bytes present, so that no later access faults. `bytes` starts at a page.
/// writable: for writing too. Throws RegionError if memory is short.
///
/// Source: MADV_POPULATE_READ and MADV_POPULATE_WRITE in madvise(2), from Linux 5.14 on; before that, each page is
/// touched.
void make_present(std::span<std::byte> bytes, bool writable);

/// Returns the pages of a mapped file to the kernel. Their contents stay in its cache or on the disk: the next access
/// maps them again. `bytes` starts at a page.
void drop_pages(std::span<std::byte> bytes) noexcept;

}  // namespace millpond::memory
