#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include <millpond/journal/layout.hpp>

namespace millpond::journal {

/// The fields of a segment's header that are set with its first record.
struct SegmentIdentity {
    RingName ring{};
    std::uint64_t epoch{0};
    std::uint64_t session{1};
    std::uint64_t first_record{1};
    std::int64_t begun_utc_ns{0};
    std::uint32_t layout_version{kLayoutVersion};
    std::uint64_t segment_bytes{0};
};

/// Where a segment's records stop.
struct SegmentTail {
    std::size_t end{0};
    std::uint64_t next_record{1};
    std::uint64_t last_ring{0};
    std::int64_t newest_utc_ns{0};
};

/// Stores the identity and its checksum; magic, names and end stay as they are.
void write_identity(SegmentHeader& header, const SegmentIdentity& identity) noexcept;
/// Stores the end and its checksum, `end` last.
void write_tail(SegmentHeader& header, const SegmentTail& tail) noexcept;

struct ReadIdentity {
    SegmentIdentity identity{};
    std::string fault{};  ///< What is damaged and was made good, in words; empty when nothing is.
};

/// Reads the identity. One damaged byte among the checksummed ones, the magic or the checksum is made good: the
/// checksum says which byte it is, and the answer is taken only where there is exactly one. Version 1 has no checksum.
/// Returns in words why it cannot be read.
[[nodiscard]] std::expected<ReadIdentity, std::string> read_identity(const SegmentHeader& header);

/// Whether the header says that the segment is ended, and truthfully so.
enum class TailState : std::uint8_t {
    none,     ///< It may grow.
    sound,    ///< Ended.
    damaged,  ///< Unknown: the header contradicts itself.
};
[[nodiscard]] TailState read_tail(const SegmentHeader& header, const SegmentIdentity& identity,
                                  SegmentTail& into) noexcept;

/// SegmentHeader::last_name of version 3.
[[nodiscard]] std::uint64_t name_word(std::uint64_t offset) noexcept;
/// The offset in it; nothing when the word is damaged.
[[nodiscard]] std::optional<std::uint64_t> named_offset(std::uint64_t word) noexcept;

/// The contents of an index entry.
struct IndexedPlace {
    std::size_t offset{0};  ///< In the file.
    std::uint64_t record{0};
    std::uint64_t ring{0};          ///< Largest ring number before it in its segment.
    std::int64_t newest_utc_ns{0};  ///< Largest receive time before it in its segment.

    friend bool operator==(const IndexedPlace&, const IndexedPlace&) = default;
};
/// Stores an entry of version 3, `record` last.
void write_place(IndexEntry& entry, const IndexedPlace& place) noexcept;
/// Reads the entry of a block; nothing when there is none, or when it is damaged. Of a version without checksums only
/// what cannot be true is noticed.
[[nodiscard]] std::optional<IndexedPlace> read_place(const IndexEntry& entry, std::size_t block,
                                                     std::uint32_t layout_version) noexcept;

}  // namespace millpond::journal
