#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
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
    std::uint64_t segment_bytes{0};
};

inline constexpr std::int64_t kTimeUnknown = std::numeric_limits<std::int64_t>::min();

/// End of a segment's records.
struct SegmentTail {
    std::size_t end{0};
    std::uint64_t next_record{1};
    std::uint64_t last_ring{0};
    std::int64_t newest_utc_ns{0};
    std::int64_t oldest_utc_ns{kTimeUnknown};  ///< The largest value in a segment without events.
};

/// Stores the identity and its checksum; does not change magic, names and end.
void write_identity(SegmentHeader& header, const SegmentIdentity& identity) noexcept;
/// Stores the end and its checksum, `end` last.
void write_tail(SegmentHeader& header, const SegmentTail& tail) noexcept;

struct ReadIdentity {
    SegmentIdentity identity{};
    std::string fault{};  ///< Description of repaired damage; empty if there is none.
};

/// Reads the identity. Repairs one damaged byte among the checksummed ones, the magic or the checksum: the checksum
/// identifies the byte, and the repair is used only if it is unambiguous. Returns the reason if the identity cannot be
/// read.
[[nodiscard]] std::expected<ReadIdentity, std::string> read_identity(const SegmentHeader& header);

/// End of the segment according to the header.
enum class TailState : std::uint8_t {
    none,     ///< There is no end: the segment may grow.
    sound,    ///< The segment has ended.
    damaged,  ///< The end is unknown: the header contradicts itself.
};
[[nodiscard]] TailState read_tail(const SegmentHeader& header, const SegmentIdentity& identity,
                                  SegmentTail& into) noexcept;

/// Stores the first record of the checkpoint that the segment needs. Call it after write_identity.
void write_needed_checkpoint(SegmentHeader& header, std::uint64_t record) noexcept;
/// Reads it; 0 if there is none, nullopt if the field is damaged.
[[nodiscard]] std::optional<std::uint64_t> read_needed_checkpoint(const SegmentHeader& header,
                                                                  const SegmentIdentity& identity) noexcept;

/// Encodes SegmentHeader::last_description and last_checkpoint.
[[nodiscard]] std::uint64_t chain_word(std::uint64_t offset) noexcept;
/// Decodes its offset; nullopt if the word is damaged.
[[nodiscard]] std::optional<std::uint64_t> chain_offset(std::uint64_t word) noexcept;

/// The contents of an index entry.
struct IndexedPlace {
    std::size_t offset{0};  ///< Offset in the file.
    std::uint64_t record{0};
    std::uint64_t ring{0};          ///< Largest ring number before the record in its segment.
    std::int64_t newest_utc_ns{0};  ///< Largest receive time before the record in its segment.

    friend bool operator==(const IndexedPlace&, const IndexedPlace&) = default;
};
/// Stores an entry, `record` last.
void write_place(IndexEntry& entry, const IndexedPlace& place) noexcept;
/// Reads the entry of a block; nullopt if there is none or if it is damaged.
[[nodiscard]] std::optional<IndexedPlace> read_place(const IndexEntry& entry, std::size_t block) noexcept;

}  // namespace millpond::journal
