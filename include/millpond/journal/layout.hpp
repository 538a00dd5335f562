#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <millpond/core/fixed_string.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/queue/sequenced_words.hpp>

/// The bytes of a journal: a folder of segment files `0000000001.mpj`, `0000000002.mpj`, ..., little-endian.
///
///     offset                 what
///     0                      SegmentHeader, 4096 bytes
///     4096                   index, one IndexEntry of 32 bytes for each 64 KiB of the file
///     data_offset(bytes)     records, one behind the other, until a commit word of 0 or the header's `end`
///
///     record:
///       0       8    commit word      bits 0-15 kind, 16-31 words of the record, 32-63 CRC-32C of what follows it
///       8       8    ring number      of the entry that the event came from; 0 in a name
///      16            payload          feed's event, NameRecord or LostRecord
///
/// The commit word is stored last: a record is there whole or not at all, whenever the process dies. Where the machine
/// dies, pages may reach the disk in any order: the CRC detects it. A file is zero where nothing was written.
///
/// Records are numbered 1, 2, 3, ... through all segments, names included; only a segment's first number is stored.
/// All records of a segment come from one epoch of one ring, and a segment names every instrument that it speaks of
/// before it does, so that each can be read on its own. Names are chained backwards from the header.
///
/// All of the header and of the index is covered by checksums, and none of it is needed to find the records: the index,
/// the offset of the newest name and the end are hints that a reader uses where they are sound.
namespace millpond::journal {

inline constexpr std::uint64_t kMagic = 0x00004C4E524A504DULL;  // "MPJRNL\0\0"
inline constexpr std::uint32_t kLayoutVersion = 3;
inline constexpr std::uint32_t kOldestLayoutVersion = 1;   ///< Still read, as version 2 is.
inline constexpr std::uint32_t kFirstHeaderChecksums = 2;  ///< Version that brought identity_crc and end_crc.
inline constexpr std::uint32_t kFirstIndexChecksums = 3;   ///< Version that brought those of index and last_name.
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kIndexBlockBytes = std::size_t{64} * 1024;
inline constexpr std::uint64_t kMostSegmentBytes = std::uint64_t{32} << 30U;  ///< See SegmentHeader::last_name.

using RingName = core::FixedString<64>;
using queue::Word;

struct SegmentHeader {
    Word magic;  ///< Stored last when a segment is started: zero while it is unused.
    std::uint32_t layout_version;
    std::uint32_t header_bytes;
    std::uint64_t segment_bytes;
    std::uint64_t first_record;
    std::int64_t begun_utc_ns;
    std::uint64_t epoch;  ///< Epoch of the ring, from its header.
    RingName ring;
    std::uint64_t session;       ///< 1, 2, ... for each trading session of this epoch; 0 in older files.
    std::uint64_t identity_crc;  ///< CRC-32C of what is above, from layout_version on; 0 in version 1.

    /// The newest name's record: bits 0-31 its offset / 8, 0 while there is none; 32-63 CRC-32C of the offset.
    /// Before version 3 the offset itself.
    Word last_name;
    // Stored when the segment is ended, `end` last.
    Word next_record;    ///< Number behind its last record.
    Word last_ring;      ///< Ring number of its newest record that has one.
    Word newest_utc_ns;  ///< Largest receive time in it.
    Word end;            ///< Offset behind the last record; 0 while the segment may grow.
    Word end_crc;        ///< CRC-32C of the four above, stored before `end`; 0 in version 1.
};

/// Of the first record that begins in its 64 KiB; `record` is stored last and is 0 while there is none.
struct IndexEntry {
    Word record;
    /// Bits 0-31 the offset in its 64 KiB; 32-63 CRC-32C of record, offset in the file, ring, newest_utc_ns.
    /// Before version 3 the offset in the file.
    Word place;
    Word ring;           ///< Largest ring number before it in this segment.
    Word newest_utc_ns;  ///< Largest receive time before it in this segment.
};

static_assert(sizeof(SegmentHeader) <= kHeaderBytes && sizeof(IndexEntry) == 32);

/// feed::EventKind, and what only a journal has.
enum class RecordKind : std::uint16_t {
    quote = static_cast<std::uint16_t>(feed::EventKind::quote),
    trade = static_cast<std::uint16_t>(feed::EventKind::trade),
    status = static_cast<std::uint16_t>(feed::EventKind::status),
    gap = static_cast<std::uint16_t>(feed::EventKind::gap),
    clear = static_cast<std::uint16_t>(feed::EventKind::clear),
    trade_break = static_cast<std::uint16_t>(feed::EventKind::trade_break),
    name = 16,
    lost = 17,
};

struct NameRecord {
    feed::InstrumentId instrument{feed::kNoInstrument};
    std::uint32_t reserved{0};
    feed::Venue venue{};
    feed::Symbol symbol{};
    std::uint64_t previous{0};  ///< Offset of the name before it in this segment, 0 when it is the first.
};

enum class LostReason : std::uint32_t {
    lapped = 1,   ///< The ring's writer overwrote them before the journal read them.
    removed = 2,  ///< Made by the reader: segments in between are gone.
    damaged = 3,  ///< Made by the reader: bytes, or a complete segment, are damaged.
};

[[nodiscard]] constexpr std::string_view to_string(LostReason reason) noexcept {
    switch (reason) {
        case LostReason::lapped: return "lapped";
        case LostReason::removed: return "removed";
        case LostReason::damaged: return "damaged";
    }
    return "unknown";
}

/// What is missing at this place: ring numbers first..last (lapped), or record numbers (removed, damaged).
struct LostRecord {
    std::uint64_t first{0};
    std::uint64_t last{0};
    LostReason reason{LostReason::lapped};
    std::uint32_t reserved{0};
    std::int64_t utc_ns{0};

    [[nodiscard]] constexpr std::uint64_t count() const noexcept { return last - first + 1; }
};

static_assert(std::has_unique_object_representations_v<NameRecord> && sizeof(NameRecord) == 56);
static_assert(std::has_unique_object_representations_v<LostRecord> && sizeof(LostRecord) == 32);

inline constexpr std::size_t kRecordHeadWords = 2;
inline constexpr std::size_t kMostRecordWords = kRecordHeadWords + 14;
inline constexpr std::size_t kLeastRecordBytes = 48;  ///< Of a Clear and of a LostRecord.

template <class Payload>
inline constexpr std::size_t kRecordBytes = kRecordHeadWords * 8 + sizeof(Payload);

struct CommitWord {
    std::uint16_t kind{0};
    std::uint16_t words{0};  ///< Of the complete record.
    std::uint32_t crc{0};

    [[nodiscard]] static constexpr CommitWord of(std::uint64_t word) noexcept {
        return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16U),
                static_cast<std::uint32_t>(word >> 32U)};
    }
    [[nodiscard]] constexpr std::uint64_t word() const noexcept {
        return kind | std::uint64_t{words} << 16U | std::uint64_t{crc} << 32U;
    }
};

[[nodiscard]] constexpr std::size_t index_entries(std::uint64_t segment_bytes) noexcept {
    return static_cast<std::size_t>(segment_bytes / kIndexBlockBytes);
}

/// Where records begin in a segment of so many bytes, a multiple of 64 KiB.
[[nodiscard]] constexpr std::size_t data_offset(std::uint64_t segment_bytes) noexcept {
    const auto index_end = kHeaderBytes + index_entries(segment_bytes) * sizeof(IndexEntry);
    return (index_end + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes;
}

}  // namespace millpond::journal
