#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// How a segment of a message store lies in its memory or file. All numbers are in the machine's own byte order; magic
/// and version refuse a file of another kind.
///
///     offset 0     StoreHeader, kStoreHeaderBytes
///     then         slots * StoreEntry; the message with number n is told of by entry n modulo slots
///     then         data_bytes of messages, each whole; positions count on for ever, their place is modulo data_bytes
///
/// Order of writing: claimed_end, the message's bytes, the entry's position and length, the entry's sequence (the
/// commit word), written_end, next_sender. A process that dies between any two leaves a whole store behind. A segment
/// that is taken into use again gives up what it holds by its claimed_end, and becomes the current one by its
/// generation, the last word written then.
namespace millpond::fix {

inline constexpr std::uint64_t kStoreMagic = 0x31'45'52'4F'54'53'50'4DULL;  // "MPSTORE1"
inline constexpr std::uint32_t kStoreVersion = 2;
inline constexpr std::size_t kStoreHeaderBytes = 256;

struct StoreHeader {
    std::uint64_t magic{0};
    std::uint32_t version{0};
    std::uint32_t header_bytes{0};
    std::uint64_t slots{0};  ///< A power of two.
    std::uint64_t data_bytes{0};
    std::int64_t creation_utc_ns{0};
    std::atomic<std::uint64_t> claimed_end{0};  ///< What lies more than data_bytes before it is overwritten.
    std::atomic<std::uint64_t> written_end{0};  ///< Where the next message begins.
    std::atomic<std::uint64_t> next_sender{1};  ///< This and the next one count in the current segment only.
    std::atomic<std::uint64_t> next_target{1};
    std::atomic<std::uint64_t> generation{0};  ///< Of a store's segments the greatest is current; 0: never used.
};
static_assert(sizeof(StoreHeader) <= kStoreHeaderBytes);

struct StoreEntry {
    std::atomic<std::uint64_t> sequence{0};  ///< The commit word: 0 while the entry tells of no message.
    std::uint64_t position{0};
    std::uint64_t length{0};
    std::uint64_t reserved{0};
};
static_assert(sizeof(StoreEntry) == 32 && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace millpond::fix
