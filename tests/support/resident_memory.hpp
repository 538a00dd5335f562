#pragma once

#include <cstddef>
#include <string_view>

namespace millpond::test {

/// Bytes of this process that are in memory, in mappings of files whose path contains `path`; empty: in all mappings.
/// Source: proc(5), smaps.
[[nodiscard]] std::size_t resident_bytes(std::string_view path = {});

}  // namespace millpond::test
