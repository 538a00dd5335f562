#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <millpond/core/fixed_string.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/event_schema.hpp>
#include <millpond/queue/sequenced_words.hpp>

/// The bytes of a journal: a folder of segment files `0000000001.mpj`, `0000000002.mpj`, ..., little-endian.
///
///     offset                 what
///     0                      SegmentHeader, 4096 bytes
///     4096                   index, one IndexEntry of 32 bytes for each 64 KiB of the file
///     data_offset(bytes)     records, one behind the other, until a commit word of 0 or the header's `end`
///
///     record:
///       0       8    commit word      bits 0-15 kind, 16-31 words of the record, 32-63 CRC-32C of the record with
///                                     zeros in these bits
///       8       8    ring number      of the entry that the event came from; in a checkpoint, of the newest one before
///                                     the record; 0 in a name or a channel
///      16            payload          feed's event, NameRecord, ChannelRecord, LostRecord, BookRecord or
///                                     CheckpointRecord
///
/// The commit word is stored last: a record is either complete or absent, whenever the process dies. If the machine
/// dies, pages may reach the disk in any order, which the CRC detects. Bytes that were never written are zero.
///
/// Records are numbered 1, 2, 3, ... through all segments, including names; only a segment's first number is stored.
/// All records of a segment come from one epoch of one ring, and a segment has a name for every instrument before its
/// first event, and the depth of every channel that sends levels or orders, of which there is one in a segment. So each
/// segment can be read without the others. Names and channels are chained backwards from the header.
///
/// A checkpoint holds the books of orders and levels. It begins with the state of each channel, then come the records
/// of each book, and at last a CheckpointRecord, without which it is not valid. The records of one book are
/// consecutive; events lie between the books. A book is exact where its records lie. A checkpoint lies in one segment.
///
/// The header and the index are covered by checksums, and neither is needed to find the records: the index, the offset
/// of the newest name and the end are hints that a reader uses if they are intact.
namespace millpond::journal {

inline constexpr std::uint64_t kMagic = 0x00004C4E524A504DULL;  // "MPJRNL\0\0"
inline constexpr std::uint32_t kLayoutVersion = 5;              ///< Segments of any other version are refused.
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kIndexBlockBytes = std::size_t{64} * 1024;
inline constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{32} << 30U;  ///< See SegmentHeader::last_description.

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
    std::uint64_t session;       ///< 1, 2, ... for each trading session of the epoch.
    std::uint64_t identity_crc;  ///< CRC-32C of the fields from layout_version up to here.

    /// Record of the newest name or channel: bits 0-31 its offset / 8, 0 if there is none; bits 32-63 CRC-32C of the
    /// offset.
    Word last_description;
    // Stored when the segment is ended, `end` last.
    Word next_record;    ///< Number after the last record.
    Word last_ring;      ///< Ring number of the newest record that has one.
    Word newest_utc_ns;  ///< Largest receive time in the segment.
    Word end;            ///< Offset after the last record; 0 while the segment may grow.
    Word end_crc;        ///< CRC-32C of the four fields above, stored before `end`.
    Word oldest_utc_ns;  ///< Smallest receive time in the segment, stored before `end`. Valid if oldest_crc agrees.
    Word oldest_crc;     ///< CRC-32C of oldest_utc_ns, next_record and end.

    /// CheckpointRecord of the newest checkpoint of the segment, encoded like last_description; 0: there is none.
    Word last_checkpoint;
    /// First record of the newest checkpoint of the epoch before this segment, stored when the segment is started; 0:
    /// there is none, or the writer keeps no books.
    Word needed_checkpoint;
    Word needed_crc;  ///< CRC-32C of needed_checkpoint and first_record; 0 if there is none.
};

/// Place of the first record that begins in a block of 64 KiB. `record` is stored last; 0: there is none.
struct IndexEntry {
    Word record;
    Word place;          ///< Bits 0-31 the offset in its 64 KiB; 32-63 CRC-32C of record, offset in the file, ring,
                         ///< newest_utc_ns.
    Word ring;           ///< Largest ring number before the record in this segment.
    Word newest_utc_ns;  ///< Largest receive time before the record in this segment.
};

static_assert(sizeof(SegmentHeader) <= kHeaderBytes && sizeof(IndexEntry) == 32);

/// Kinds of records other than events, whose kinds are those of feed::EventKind.
enum class RecordKind : std::uint16_t { name = 16, lost = 17, channel = 18, book = 19, checkpoint = 20 };

template <class Event>
inline constexpr auto kRecordKind = static_cast<RecordKind>(Event::kKind);

struct NameRecord {
    feed::InstrumentId instrument{feed::kNoInstrument};
    std::uint32_t decimals{feed::kDefaultDecimals};  ///< Decimals that text of its prices has at least, 0..9.
    feed::Venue venue{};
    feed::Symbol symbol{};
    std::uint64_t previous{0};  ///< Offset of the previous name or channel in this segment; 0 if there is none.
};

/// What a channel's feed sends of its books. A channel without a record sends quotes without groups.
struct ChannelRecord {
    std::uint32_t channel{0};
    std::uint32_t depth{0};   ///< Levels of a side, 1..kMaxBoardDepth or feed::kFullDepth; 0: no level events.
    std::uint64_t orders{0};  ///< 1: order events.
    std::uint64_t reserved{0};
    std::uint64_t previous{0};  ///< As in NameRecord.
};

/// True for a record that describes the events after it.
[[nodiscard]] constexpr bool is_description(RecordKind kind) noexcept {
    return kind == RecordKind::name || kind == RecordKind::channel;
}

/// True for an event, and for a loss.
[[nodiscard]] constexpr bool is_of_ring(RecordKind kind) noexcept {
    return !is_description(kind) && kind != RecordKind::book && kind != RecordKind::checkpoint;
}

/// Bits of BookHead::flags.
enum BookFlag : std::uint16_t {
    kBookIncomplete = 1U << 0,  ///< Of a channel: it was not cleared, or something is lost since.
    kBookOpen = 1U << 1,        ///< A group of the instrument is open: its other events follow.
    kBookOfOrders = 1U << 2,
    kBookBegins = 1U << 3,  ///< First record of the book.
};

struct BookHead {
    feed::InstrumentId instrument{feed::kNoInstrument};  ///< kNoInstrument: the state of a channel.
    std::uint16_t channel{0};
    std::uint16_t flags{0};
    std::uint32_t cells_left{0};  ///< Cells in the following records of the book.
    std::uint8_t cells{0};        ///< Cells of this record that are used.
    std::uint8_t asks{0};         ///< Bit i: cell i is an ask.
    std::uint16_t reserved{0};
};

/// An order or a price level. A book has first the bids, then the asks; of each the worst price
/// first, and of one price the order with the highest priority first.
struct BookCell {
    std::uint64_t id{0};  ///< Number of the order; of a level, the number of its orders, 0 if unknown.
    feed::Price price{0};
    std::uint64_t size{0};
};

inline constexpr std::size_t kMaxBookCells = 4;

/// A part of a book. A record has as many cells as are used; that of an empty book has one.
template <std::size_t kCells>
struct BookRecord {
    BookHead head{};
    std::array<BookCell, kCells> cells{};
};
using BookPart = BookRecord<kMaxBookCells>;

/// The end of a checkpoint.
struct CheckpointRecord {
    std::uint64_t first_record{0};
    std::uint64_t first_offset{0};  ///< Of the first record, in the segment.
    std::uint32_t records{0};       ///< Records of the kind `book`.
    std::uint32_t records_crc{0};   ///< CRC-32C of their commit words, each with the CRC before it.
    std::uint32_t books{0};
    std::uint32_t reserved{0};
    std::uint64_t orders{0};
    std::uint64_t levels{0};
    std::int64_t newest_utc_ns{0};  ///< Largest receive time of all events before this record in the journal.
    std::uint64_t previous{0};      ///< Offset of the end of the previous checkpoint in this segment; 0: none.
};

enum class LostReason : std::uint32_t {
    lapped = 1,   ///< The ring's writer overwrote the events before the journal read them.
    removed = 2,  ///< Made by the reader: the segments in between were removed.
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

struct LostRecord {
    static constexpr std::string_view kMeaning =
        "Events are missing at this place of a journal: ring numbers if the reason is 1, else record numbers.";

    std::uint64_t first{0};
    std::uint64_t last{0};
    LostReason reason{LostReason::lapped};
    std::uint32_t reserved{0};
    std::int64_t utc_ns{0};

    [[nodiscard]] constexpr std::uint64_t count() const noexcept { return last - first + 1; }
};

static_assert(std::has_unique_object_representations_v<NameRecord> && sizeof(NameRecord) == 56);
static_assert(std::has_unique_object_representations_v<ChannelRecord> && sizeof(ChannelRecord) == 32);
static_assert(std::has_unique_object_representations_v<LostRecord> && sizeof(LostRecord) == 32);
static_assert(std::has_unique_object_representations_v<BookRecord<1>> && sizeof(BookRecord<1>) == 40);
static_assert(std::has_unique_object_representations_v<CheckpointRecord> && sizeof(CheckpointRecord) == 64);

inline constexpr std::size_t kRecordHeadWords = 2;
inline constexpr std::size_t kMaxRecordWords = kRecordHeadWords + 14;
static_assert(sizeof(BookPart) == (kMaxRecordWords - kRecordHeadWords) * 8);
inline constexpr std::size_t kMinRecordBytes = 48;  ///< Size of a Clear, a ChannelRecord and a LostRecord.

template <class Payload>
inline constexpr std::size_t kRecordBytes = kRecordHeadWords * 8 + sizeof(Payload);

struct CommitWord {
    std::uint16_t kind{0};
    std::uint16_t words{0};  ///< Length of the complete record.
    std::uint32_t crc{0};

    [[nodiscard]] static constexpr CommitWord of(std::uint64_t word) noexcept {
        return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16U),
                static_cast<std::uint32_t>(word >> 32U)};
    }
    [[nodiscard]] constexpr std::uint64_t word() const noexcept {
        return kind | std::uint64_t{words} << 16U | std::uint64_t{crc} << 32U;
    }
    /// The first word of the bytes that `crc` covers.
    [[nodiscard]] constexpr std::uint64_t covered() const noexcept { return CommitWord{kind, words, 0}.word(); }
};

[[nodiscard]] constexpr std::size_t index_entries(std::uint64_t segment_bytes) noexcept {
    return static_cast<std::size_t>(segment_bytes / kIndexBlockBytes);
}

/// Offset of the first record in a segment of `segment_bytes`, a multiple of 64 KiB.
[[nodiscard]] constexpr std::size_t data_offset(std::uint64_t segment_bytes) noexcept {
    const auto index_end = kHeaderBytes + index_entries(segment_bytes) * sizeof(IndexEntry);
    return (index_end + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes;
}

}  // namespace millpond::journal

namespace millpond::feed {

template <>
struct EventSchema<journal::LostRecord> {
    using Lost = journal::LostRecord;
    static constexpr std::string_view kName = "lost";
    static constexpr std::string_view kTable = "lost";
    static constexpr std::tuple kFields{
        Field<&Lost::reason>{"reason", "1 lapped, 2 removed, 3 damaged", Unit::none, "reason", "reason"},
        Field<&Lost::utc_ns>{"utc_ns", "UTC nanoseconds, or 0", Unit::receive_time, "timestamp", "ts_recv"},
        Field<&Lost::first>{"first", "first missing number", Unit::none, "first", "first"},
        Field<&Lost::last>{"last", "last missing number", Unit::none, "last", "last"}};
};

}  // namespace millpond::feed
