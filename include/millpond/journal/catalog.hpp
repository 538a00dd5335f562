#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace millpond::journal {

/// A segment's place in the folder: files are numbered 1, 2, 3, ... in the order in which they were made.
struct SegmentFile {
    std::uint64_t ordinal{0};
    std::filesystem::path path{};
};

[[nodiscard]] std::filesystem::path segment_path(const std::filesystem::path& folder, std::uint64_t ordinal);

/// The folder's segments by their ordinals, those that wait to be used included; other files are left out. Throws
/// std::filesystem::filesystem_error.
[[nodiscard]] std::vector<SegmentFile> list_segments(const std::filesystem::path& folder);

}  // namespace millpond::journal
