#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// Layout 3 of a segment of a message store, in memory or in a file. All numbers are in the machine's byte order; magic
/// and version refuse a file of another kind.
///
///     offset 0     StoreHeader, kStoreHeaderBytes
///     1024         slots * 8 bytes, the index: entry n modulo slots is the position of message n's record, 0 for none
///     then         data_bytes of records; a position is never used twice, its place is the position modulo data_bytes
///
///     record, at a multiple of 16:
///     0            8  sequence, the commit word: 0 ends the records, kStoreVoid is a message that was forgotten
///     8            4  bytes of the message
///     12           4  bytes between this header and the message
///     16              the message, in one piece; the next record begins at the next multiple of 16
///
/// Order of writing: claimed_end where it must grow, a 0 where the record begins, the message, a 0 behind it, its
/// length, the index, the commit word. A process that dies between any two leaves a whole store behind. All that the
/// header says about the newest messages follows from the records, so a message costs no store to the header.
///
/// A store is a chain of segments. The one with the greatest generation is current; a segment that is left gets its
/// sealed words first, so only the current one is scanned when the store is opened. A segment that is used again gives
/// up its messages by its sealed words, and becomes current by its generation, the last word written.
namespace millpond::fix {

inline constexpr std::uint64_t kStoreMagic = 0x31'45'52'4F'54'53'50'4DULL;  // "MPSTORE1"
inline constexpr std::uint32_t kStoreVersion = 3;
inline constexpr std::size_t kStoreHeaderBytes = 1024;
inline constexpr std::size_t kStoreIdentityBytes = 512;
inline constexpr std::uint64_t kStoreVoid = ~std::uint64_t{0};

inline constexpr std::size_t kStoreSkips = 8;

/// Sequence numbers that were left out: they never had a message.
struct StoreSkip {
    std::uint64_t first{0};
    std::uint64_t next{0};  ///< Behind the last one. Not greater than `first`: there are none.
};

struct StoreHeader {
    std::uint64_t magic{0};
    std::uint32_t version{0};
    std::uint32_t header_bytes{0};
    std::uint64_t slots{0};  ///< A power of two.
    std::uint64_t data_bytes{0};
    std::int64_t creation_utc_ns{0};             ///< When the numbers last began at 1.
    std::uint64_t epoch{0};                      ///< Which of a session's machines wrote it last; 0: there is one only.
    std::atomic<std::uint64_t> generation{0};    ///< Of a store's segments the greatest is current; 0: never used.
    std::atomic<std::uint64_t> claimed_end{0};   ///< What lies more than data_bytes before it is overwritten.
    std::atomic<std::uint64_t> next_sender{1};   ///< The least that it can be; records with greater numbers raise it.
    std::atomic<std::uint64_t> sealed_first{0};  ///< Of the messages when it was left.
    std::atomic<std::uint64_t> sealed_next{0};   ///< Messages from this number on are forgotten.
    std::atomic<std::uint64_t> sealed_messages{0};  ///< 0: none.
    std::atomic<std::uint64_t> sealed_end{0};       ///< Position behind them.
    /// Counts in the current segment only. In a line that sending does not touch.
    alignas(64) std::atomic<std::uint64_t> next_target{1};
    std::atomic<std::int64_t> sealed_utc_ns{0};  ///< When it was left; 0: not known.
    std::uint64_t role{0};                       ///< As StoreRole. This and the next five count in the current segment.
    std::uint64_t epoch_first{0};                ///< These as in StoreStanding.
    std::uint64_t superseded_by{0};
    std::uint64_t replica_next{0};
    std::uint64_t lineage{0};
    std::uint64_t copied_epoch{0};
    /// Of the segment that became current after this one; in the first file, of the newest. One that is newer than all
    /// that are there was in a file that is gone.
    std::uint64_t newest_generation{0};
    std::uint64_t newest_number{0};  ///< Of its file.
    StoreSkip skips[kStoreSkips]{};  ///< In order, the newest last. They count in the current segment only.
    std::uint64_t reserved[22]{};
    std::uint32_t identity_bytes{0};           ///< 0: the store belongs to no session yet.
    char identity[kStoreIdentityBytes - 4]{};  ///< As StoreIdentity::text.
};
static_assert(sizeof(StoreHeader) == kStoreHeaderBytes);

struct StoreRecord {
    std::atomic<std::uint64_t> sequence{0};
    std::uint32_t length{0};
    std::uint32_t offset{0};
};
static_assert(sizeof(StoreRecord) == 16 && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace millpond::fix
