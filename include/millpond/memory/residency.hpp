#pragma once

#include <cstddef>
#include <span>

namespace millpond::memory {

/// Makes every page of these bytes present, so that no later access faults. They start at a page.
/// writable: for writing, too. Throws RegionError when memory is short.
///
/// Source: MADV_POPULATE_READ and MADV_POPULATE_WRITE in madvise(2), from Linux 5.14 on; before that, each page is
/// touched.
void make_present(std::span<std::byte> bytes, bool writable);

/// Lets the kernel have the pages of a mapped file back. The bytes stay as they are, in its cache or on the disk: the
/// next access maps them again. They begin at a page.
void let_go(std::span<std::byte> bytes) noexcept;

}  // namespace millpond::memory
