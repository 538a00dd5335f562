#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::journal {

/// The journal's file beside the segments: its writer locks it, and keeps in it where numbers continue.
inline constexpr std::string_view kLockName = "lock";

/// A segment's place in the folder: files are numbered 1, 2, 3, ... in the order in which they were made.
struct SegmentFile {
    std::uint64_t ordinal{0};
    std::filesystem::path path{};
};

[[nodiscard]] std::filesystem::path segment_path(const std::filesystem::path& folder, std::uint64_t ordinal);

/// The folder's segments by their ordinals, those that wait to be used included; other files are left out. A segment's
/// file in place of the folder is a journal of this one. Throws std::filesystem::filesystem_error.
[[nodiscard]] std::vector<SegmentFile> list_segments(const std::filesystem::path& folder);

/// The ordinal of the newest segment that was ever started, whether it is still there or not; 0 if the file kLockName
/// does not say it.
[[nodiscard]] std::uint64_t newest_started(const std::filesystem::path& folder);

enum class SegmentState : std::uint8_t {
    waiting,     ///< Allocated, not in use yet: an empty file behind all that were ever in use.
    growing,     ///< A writer appends to it, or died while it did.
    ended,       ///< Whole.
    unreadable,  ///< See SegmentInfo::error.
};

/// The contents of a segment's header and index.
struct SegmentInfo {
    SegmentFile file{};
    SegmentState state{SegmentState::waiting};
    std::string error{};  ///< Why it is unreadable, or what is damaged although it can be read, after the path.
    std::string ring{};
    std::uint64_t epoch{0};
    std::uint64_t session{0};
    std::uint64_t first_record{0};
    std::uint64_t next_record{0};  ///< Behind its last one, at this moment.
    std::int64_t begun_utc_ns{0};
    std::int64_t newest_utc_ns{0};  ///< Of an ended one.
    std::uint64_t disk_bytes{0};
};

/// list_segments with a look into each. Reads at most 64 KiB of a growing one.
[[nodiscard]] std::vector<SegmentInfo> describe_segments(const std::filesystem::path& folder);

/// Whether the error is about one segment's file: it is damaged, cut off, foreign, or not a file of this user. False
/// for what may pass, such as a lack of memory or of descriptors.
[[nodiscard]] bool is_segment_failure(const std::exception& error) noexcept;

/// Renames a segment to "<name>.damaged", or "....damaged.1" and so on, so that it is no longer one of the journal.
/// Returns the new path. Throws std::filesystem::filesystem_error.
std::filesystem::path set_aside(const SegmentFile& file);

}  // namespace millpond::journal
