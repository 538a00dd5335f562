#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// Layout 4 of a segment of a message store, in memory or in a file. All numbers are in the machine's byte order; magic
/// number and version identify the kind of file.
///
///     offset 0     StoreHeader, kStoreHeaderBytes
///     1024         slots * 8 bytes, the index: entry n modulo slots is the position of message n's record, 0 for none
///     then         data_bytes of records; a position is never used twice, its place is the position modulo data_bytes
///
///     record, at a multiple of 16:
///     0            8  sequence, the commit word: 0 ends the records, kStoreVoid marks a removed message
///     8            4  bytes of the message
///     12           4  bytes between this header and the message
///     16              the message, contiguous
///     then         4  CRC-32C of the sequence, the record's position, the bytes 8 to 15, and the message
///                     the next record begins at the next multiple of 16
///
/// Order of writing: claimed_end if it must grow, a 0 at the start of the record, the message, a 0 after it, its length
/// and CRC, the index, the commit word. The store is consistent if the process dies between any two. The header's
/// fields about the newest messages follow from the records, so a message needs no store to the header.
///
/// A store is a chain of segments. The segment with the greatest generation is current; a segment is sealed before the
/// next becomes current, so only the current one is scanned when the store is opened. A reused segment drops its
/// messages by its sealed words, and becomes current by its generation, the last word written.
namespace millpond::fix {

inline constexpr std::uint64_t kStoreMagic = 0x31'45'52'4F'54'53'50'4DULL;  // "MPSTORE1"
inline constexpr std::uint32_t kStoreVersion = 4;
inline constexpr std::size_t kStoreHeaderBytes = 1024;
inline constexpr std::size_t kStoreIdentityBytes = 512;
inline constexpr std::size_t kStoreCrcBytes = 4;
inline constexpr std::uint64_t kStoreVoid = ~std::uint64_t{0};

inline constexpr std::size_t kStoreSkips = 8;

/// A range of skipped sequence numbers: they never had a message.
struct StoreSkip {
    std::uint64_t first{0};
    std::uint64_t next{0};  ///< One past the last number. The range is empty if not greater than `first`.
};

struct StoreHeader {
    std::uint64_t magic{0};
    std::uint32_t version{0};
    std::uint32_t header_bytes{0};
    std::uint64_t slots{0};  ///< Number of slots, a power of two.
    std::uint64_t data_bytes{0};
    std::int64_t creation_utc_ns{0};             ///< Time of the last reset of the numbers to 1.
    std::uint64_t epoch{0};                      ///< Epoch of the machine that wrote it last; 0: no standby.
    std::atomic<std::uint64_t> generation{0};    ///< The greatest in a store marks the current segment; 0: never used.
    std::atomic<std::uint64_t> claimed_end{0};   ///< Bytes more than data_bytes before it are overwritten.
    std::atomic<std::uint64_t> next_sender{1};   ///< Lower bound; records with greater numbers raise it.
    std::atomic<std::uint64_t> sealed_first{0};  ///< First message when it was sealed.
    std::atomic<std::uint64_t> sealed_next{0};   ///< Messages from this number on are removed.
    std::atomic<std::uint64_t> sealed_messages{0};  ///< Number of sealed messages.
    std::atomic<std::uint64_t> sealed_end{0};       ///< Position after the sealed messages.
    /// Valid in the current segment only. On a cache line that sending does not touch.
    alignas(64) std::atomic<std::uint64_t> next_target{1};
    std::atomic<std::int64_t> sealed_utc_ns{0};  ///< Time when it was sealed; 0: unknown.
    std::uint64_t role{0};  ///< A StoreRole. This and the next five fields are valid in the current segment only.
    std::uint64_t epoch_first{0};  ///< See StandbyState for the next five fields.
    std::uint64_t superseded_by{0};
    std::uint64_t replica_next{0};
    std::uint64_t lineage{0};
    std::uint64_t copied_epoch{0};
    /// Generation of the segment that became current after this one; in the first file, of the newest. If it is greater
    /// than all existing ones, the file of the newest segment is missing.
    std::uint64_t newest_generation{0};
    std::uint64_t newest_number{0};  ///< Number of the newest segment's file.
    StoreSkip skips[kStoreSkips]{};  ///< Ascending. Valid in the current segment only.
    std::uint64_t reserved[22]{};
    std::uint32_t identity_bytes{0};           ///< 0: the store belongs to no session yet.
    char identity[kStoreIdentityBytes - 4]{};  ///< See StoreIdentity::text.
};
static_assert(sizeof(StoreHeader) == kStoreHeaderBytes);

struct StoreRecord {
    std::atomic<std::uint64_t> sequence{0};
    std::uint32_t length{0};
    std::uint32_t offset{0};
};
static_assert(sizeof(StoreRecord) == 16 && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace millpond::fix
