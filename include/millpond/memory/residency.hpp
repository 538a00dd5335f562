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

/// Number of bytes, at most all of them, from the start of `bytes` to the end of the page with its first `count` bytes.
[[nodiscard]] std::size_t pages_end(std::span<const std::byte> bytes, std::size_t count) noexcept;

/// Like make_present for writing, for the pages of `part`, which is inside the whole pages of `bytes`.
void make_part_present(std::span<std::byte> bytes, std::span<const std::byte> part);

/// Returns pages to the kernel. Those of a mapped file keep their contents in its cache or on the disk: the next access
/// maps them again. Others are zero afterwards. `bytes` starts at a page.
void drop_pages(std::span<std::byte> bytes) noexcept;

}  // namespace millpond::memory
