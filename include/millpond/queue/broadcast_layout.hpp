#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>

#include <millpond/queue/sequenced_words.hpp>

/// The bytes of a BroadcastRing in shared memory, little-endian, the same for every language that reads them.
///
///     offset  bytes  field
///       0       8    magic            "MPBCAST\0"; stored last when the object is made: zero means "not ready yet"
///       8       4    layout version   1
///      12       4    content          meaning of kinds and payloads: named by the component that writes
///      16       8    capacity         entries, a power of two
///      24       4    entry bytes      128
///      28       4    entries offset   256
///      32       8    epoch            names this numbering; another epoch is another stream
///      40      24    zero
///      64       8    state            BroadcastState; at this place in every version of the layout
///      72       8    heartbeat        UTC nanoseconds of the writer's last heartbeat
///      80       8    writer pid
///      88       8    writer starts    1, plus one whenever a writer continues this object
///      96      32    zero
///     128       8    cursor           number of the newest complete entry, 0 before the first
///     136     120    zero
///     256    128 x capacity           entries; number n = 1, 2, ... is at index n & (capacity - 1)
///
///     entry:
///       0       8    sequence         2n - 1 while entry n is being written, 2n when it is complete
///       8       4    kind
///      12       4    payload bytes    a multiple of 8, at most 112
///      16     112    payload          14 words
///
/// Every field from offset 64 on, and every word of an entry, is read and written as one aligned 64-bit atomic (kind
/// and payload bytes together: kind is the low half). How an entry is copied without tearing: sequenced_words.hpp.
namespace millpond::queue {

inline constexpr std::uint64_t kBroadcastMagic = 0x00545341'4342504DULL;  // "MPBCAST\0"
inline constexpr std::uint32_t kBroadcastLayoutVersion = 1;
inline constexpr std::size_t kBroadcastPayloadWords = 14;

enum class BroadcastState : std::uint64_t {
    open = 0,        ///< A writer has it or may continue it: keep reading.
    closed = 1,      ///< The writer closed it: read the rest, then the stream has ended.
    superseded = 2,  ///< Another object with another layout has the name now: read the rest, then open the name again.
};

struct BroadcastEntry {
    Word sequence;
    Word kind_and_bytes;
    std::array<Word, kBroadcastPayloadWords> payload;
};

struct BroadcastHeader {
    Word magic;
    std::uint32_t layout_version;
    std::uint32_t content;
    std::uint64_t capacity;
    std::uint32_t entry_bytes;
    std::uint32_t entries_offset;
    std::uint64_t epoch;
    std::array<std::uint64_t, 3> zero_fixed;

    Word state;
    Word heartbeat_utc_ns;
    Word writer_pid;
    Word writer_starts;
    std::array<std::uint64_t, 4> zero_state;

    // On separate cache lines: the writer stores it with every entry, readers load it only when they join or were
    // lapped.
    Word cursor;
    std::array<std::uint64_t, 15> zero_cursor;
};

static_assert(sizeof(BroadcastEntry) == 128);
static_assert(sizeof(BroadcastHeader) == 256);
static_assert(offsetof(BroadcastHeader, capacity) == 16 && offsetof(BroadcastHeader, epoch) == 32);
static_assert(offsetof(BroadcastHeader, state) == 64 && offsetof(BroadcastHeader, cursor) == 128);

/// Type of a payload: trivially copyable, whole words, at most 112 bytes, without padding, which would show readers the
/// writer's earlier memory, and thus without floating-point members.
template <class Payload>
concept BroadcastPayload = std::is_trivially_copyable_v<Payload> && std::has_unique_object_representations_v<Payload> &&
                           sizeof(Payload) % 8 == 0 && sizeof(Payload) <= 8 * kBroadcastPayloadWords;

/// Required alignment of a ring's memory; mappings always have it.
inline constexpr std::size_t kBroadcastAlignment = 128;

/// Size of a ring of `capacity` entries.
[[nodiscard]] constexpr std::size_t broadcast_bytes(std::uint64_t capacity) noexcept {
    return sizeof(BroadcastHeader) + static_cast<std::size_t>(capacity) * sizeof(BroadcastEntry);
}

/// Reason why memory does not hold the requested ring.
enum class BroadcastFault : std::uint8_t {
    none,
    misaligned,      ///< The memory does not start at a multiple of 128.
    too_small,       ///< Shorter than its header says, or than a header.
    not_ready,       ///< All zero: its writer is about to make it; try again.
    foreign,         ///< Another magic number: not a broadcast ring.
    other_version,   ///< A layout version, entry size or entries offset that this build does not support.
    other_content,   ///< Another content number: payloads have another meaning.
    other_capacity,  ///< Not a power of two, or not the one requested.
};

/// Text for error messages.
[[nodiscard]] constexpr const char* describe(BroadcastFault fault) noexcept {
    switch (fault) {
        case BroadcastFault::none: return "a broadcast ring";
        case BroadcastFault::misaligned: return "not at a multiple of 128 bytes";
        case BroadcastFault::too_small: return "smaller than a ring of its capacity";
        case BroadcastFault::not_ready: return "not written yet";
        case BroadcastFault::foreign: return "not a broadcast ring (magic differs)";
        case BroadcastFault::other_version: return "a broadcast ring of another layout version";
        case BroadcastFault::other_content: return "a broadcast ring with other content";
        case BroadcastFault::other_capacity: return "a broadcast ring of another capacity";
    }
    return "unknown";
}

/// Thrown if memory is not the requested ring.
class BroadcastError : public std::runtime_error {
public:
    explicit BroadcastError(BroadcastFault fault) : std::runtime_error(describe(fault)), fault_(fault) {}
    [[nodiscard]] BroadcastFault fault() const noexcept { return fault_; }

private:
    BroadcastFault fault_;
};

/// Checks that `memory` starts with a ring that this build can read, with payloads of `content`. O(1).
[[nodiscard]] inline BroadcastFault inspect_broadcast(std::span<const std::byte> memory,
                                                      std::uint32_t content) noexcept {
    if (std::bit_cast<std::uintptr_t>(memory.data()) % kBroadcastAlignment != 0) return BroadcastFault::misaligned;
    if (memory.size() < sizeof(BroadcastHeader)) return BroadcastFault::too_small;
    const auto& header = *reinterpret_cast<const BroadcastHeader*>(memory.data());
    const auto magic = header.magic.load(std::memory_order_acquire);  // sync "object made": the last store of a format
    if (magic == 0) return BroadcastFault::not_ready;
    if (magic != kBroadcastMagic) return BroadcastFault::foreign;
    if (header.layout_version != kBroadcastLayoutVersion || header.entry_bytes != sizeof(BroadcastEntry) ||
        header.entries_offset != sizeof(BroadcastHeader)) {
        return BroadcastFault::other_version;
    }
    if (header.content != content) return BroadcastFault::other_content;
    if (!std::has_single_bit(header.capacity)) return BroadcastFault::other_capacity;
    if (header.capacity > (memory.size() - sizeof(BroadcastHeader)) / sizeof(BroadcastEntry)) {
        return BroadcastFault::too_small;
    }
    return BroadcastFault::none;
}

}  // namespace millpond::queue
