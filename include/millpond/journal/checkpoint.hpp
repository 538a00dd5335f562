#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace millpond::journal {

/// A complete checkpoint.
struct Checkpoint {
    std::uint64_t first{0};  ///< Its first record.
    std::uint64_t last{0};   ///< Its CheckpointRecord: from the next record on, the books are those of the journal.
    std::int64_t newest_utc_ns{0};  ///< Largest receive time of the events before it.
    std::uint64_t books{0};
    std::uint64_t orders{0};
    std::uint64_t levels{0};
};

/// Place from which on a reader that knows no books gets those of a later place.
struct BooksOrigin {
    std::uint64_t record{0};                 ///< First record of the checkpoint, or of the epoch's oldest segment.
    std::optional<Checkpoint> checkpoint{};  ///< nullopt: there is none; the books may lack what was removed.
};

/// Returns the origin of the books before record `record`: the newest complete checkpoint before it. nullopt if the
/// journal has no records before it. Opens the segments from there on. Throws std::filesystem::filesystem_error.
[[nodiscard]] std::optional<BooksOrigin> find_books_before(const std::filesystem::path& folder, std::uint64_t record);
/// Returns the origin of the books before the first event that was received at `utc_ns` or later: no such event is
/// before the origin. nullopt if the journal has no records.
[[nodiscard]] std::optional<BooksOrigin> find_books_until(const std::filesystem::path& folder, std::int64_t utc_ns);

struct CheckpointCounts {
    std::uint64_t complete{0};
    std::uint64_t torn{0};  ///< Not ended, or damaged.
};
/// Counts the checkpoints of a segment. Reads all of it. Throws what SegmentReader throws.
[[nodiscard]] CheckpointCounts count_checkpoints(const std::filesystem::path& segment);

}  // namespace millpond::journal
