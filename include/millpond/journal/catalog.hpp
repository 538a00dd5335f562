#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::journal {

/// A file in the journal's folder. The writer locks it, and stores in it where the numbers continue.
inline constexpr std::string_view kLockName = "lock";

/// A segment's file. Files are numbered 1, 2, 3, ... in the order in which they were created.
struct SegmentFile {
    std::uint64_t ordinal{0};
    std::filesystem::path path{};
};

[[nodiscard]] std::filesystem::path segment_path(const std::filesystem::path& folder, std::uint64_t ordinal);

/// Lists the folder's segments by their ordinals, including unused ones; other files are ignored. If `folder` is a
/// segment's file, the list has only this one. Throws std::filesystem::filesystem_error.
[[nodiscard]] std::vector<SegmentFile> list_segments(const std::filesystem::path& folder);

/// The ordinal of the newest segment that was ever started, whether it still exists or not; 0 if the file kLockName
/// does not contain it.
[[nodiscard]] std::uint64_t newest_started(const std::filesystem::path& folder);

enum class SegmentState : std::uint8_t {
    waiting,     ///< Allocated, not in use yet: an empty file after all that were ever in use.
    growing,     ///< A writer appends to it, or died while doing so.
    ended,       ///< Complete.
    unreadable,  ///< See SegmentInfo::error.
};

/// The contents of a segment's header and index.
struct SegmentInfo {
    SegmentFile file{};
    SegmentState state{SegmentState::waiting};
    std::string
        error{};  ///< Why the segment is unreadable, or which part of a readable one is damaged; begins with the path.
    std::string ring{};
    std::uint64_t epoch{0};
    std::uint64_t session{0};
    std::uint64_t first_record{0};
    std::uint64_t next_record{0};  ///< Number after the last record at this moment.
    std::int64_t begun_utc_ns{0};
    std::int64_t newest_utc_ns{0};  ///< Largest receive time of an ended segment.
    /// First record of the newest checkpoint before it; 0: none, nullopt: damaged.
    std::optional<std::uint64_t> needed_checkpoint{0};
    std::uint64_t disk_bytes{0};
};

/// Reads the header of a segment. Reads at most 64 KiB of a growing one. An empty file is waiting, whatever the others
/// are.
[[nodiscard]] SegmentInfo describe_segment(const SegmentFile& file);

/// Lists the segments and reads their headers. Reads at most 64 KiB of a growing segment.
[[nodiscard]] std::vector<SegmentInfo> describe_segments(const std::filesystem::path& folder);

/// True if the error concerns one segment's file: it is damaged, cut off, foreign, or not a file of this user. False
/// for transient errors, such as a lack of memory or of descriptors.
[[nodiscard]] bool is_segment_failure(const std::exception& error) noexcept;

/// Renames a segment to "<name>.damaged", or "....damaged.1" and so on, so that it is no longer part of the journal.
/// Returns the new path. Throws std::filesystem::filesystem_error.
std::filesystem::path set_aside(const SegmentFile& file);

}  // namespace millpond::journal
