#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <millpond/feed/event.hpp>
#include <millpond/queue/broadcast_layout.hpp>
#include <millpond/queue/sequenced_words.hpp>

/// The bytes of a market ring's object in shared memory, little-endian.
///
///     offset                                what
///     0                                     BroadcastRing (queue/broadcast_layout.hpp), content kMarketContent
///     board_offset(capacity)                board header, channel records, slots, depth slots, venue slots
///
///     board header:
///       0       8    magic            "MPBOARD\0"; stored last when the board is made
///       8       4    layout version   3
///      12       4    slot bytes       192
///      16       4    slots            the most instruments that it can hold
///      20       4    channels         the most channels that it can hold
///      24       4    depth            levels of a side that a depth slot can hold, 0..50; 0: there are no depth slots
///      28       4    depth slot bytes d = 64 + 48 x depth, rounded up to a multiple of 64; 0 without depth slots
///      32       4    venue slot bytes 128; 0: there are no venue slots
///      36      28    zero
///      64       8    named            slots 0 .. named - 1 may have a name and quotes, the rest are empty
///      72      56    zero
///     128     128 x channels          channel records
///              192 x slots            slots
///                d x slots            depth slots
///              128 x slots            venue slots
///
///     channel record:
///       0       8    cleared          ring number of the newest Clear of the whole channel: older quotes are void
///       8       8    status number    sequence word of the channel's status: 2n when complete, n its ring number
///      16      48    status           feed::Status, instrument kNoInstrument
///      64       8    gapped           ring number of the newest Gap of the channel: older quotes are incomplete
///      72       4    depth            levels of a side that the feed sends; 0xFFFFFFFF: all
///      76       4    orders           1 if the feed sends order events
///      80       8    clear flags      of the newest Clear of the whole channel
///      88       8    depth since      ring number of the first entry to which depth and orders apply
///      96       8    venue            of the feed's instruments, zero-padded; 0 if they have several or it is unknown
///     104      24    zero
///
///     slot of instrument i, at index i:
///       0       8    quote number     sequence word of the quote: 2n when complete, n the ring number of its entry
///       8      72    quote            feed::Quote; void when n is not above `cleared` of the quote's channel,
///                                     incomplete when n is not above its `gapped`
///      80       8    status number    sequence word of the status
///      88      48    status           feed::Status
///     136       8    named            1 once venue, name and decimals are there; they never change after that
///     144       8    venue            zero-padded
///     152      32    symbol           zero-padded
///     184       8    decimals         decimals that text of the instrument's prices has at least, 0..9
///
///     depth slot of instrument i, at index i:
///       0       8    number           sequence word: 2n when complete, n the ring number of the last entry of the
///                                     newest group in it; 2m - 1 while a group is written whose first entry is m
///       8       4    bids, asks       levels of each side, 2 bytes each
///      12       2    channel          void when n is not above its `cleared`, incomplete not above its `gapped`
///      14       2    flags            kIncomplete or 0
///      16      32    times            exchange_utc_ns, receive_utc_ns, receive_ticks, feed_sequence of that group
///      48      16    zero
///      64      24 x depth             bids, the best one first: price, size, number of orders, 8 bytes each
///                24 x depth             asks likewise
///
///     venue slot of instrument i, at index i; only of a composite's instruments:
///       0       8    number           sequence word of the venues
///       8      88    venues           feed::BestVenues; void when n is not above `cleared` of its channel
///      96      32    zero
///
/// Quotes, statuses, venues and depth slots are records of queue/sequenced_words.hpp, written before their ring entry;
/// a depth slot before the first entry of the group. Every field from `named` of the header on is accessed as aligned
/// 64-bit atomics.
namespace millpond::market {

/// Version of the ring's contents: the numbers in feed::EventKind and the structs of feed/event.hpp. Adding a kind does
/// not change it: readers skip and count entries of unknown kinds.
inline constexpr std::uint32_t kMarketContent = 2;
inline constexpr std::uint64_t kBoardMagic = 0x00445241'4F42504DULL;  // "MPBOARD\0"
inline constexpr std::uint32_t kBoardLayoutVersion = 3;
inline constexpr std::uint32_t kMaxInstruments = 1U << 24U;  // of a gateway's ring; ids are below it
inline constexpr std::uint32_t kMaxChannels = 65'536;        // events carry the channel in 16 bits
inline constexpr std::uint32_t kMaxBoardDepth = 50;

template <class Event>
inline constexpr std::size_t kEventWords = sizeof(Event) / 8;

/// An event that can be copied as 64-bit words: trivially copyable, without padding.
template <class Event>
concept BoardEvent = queue::BroadcastPayload<Event>;

static_assert(BoardEvent<feed::Quote> && BoardEvent<feed::Trade> && BoardEvent<feed::Status>);
static_assert(BoardEvent<feed::TradeBreak> && sizeof(feed::TradeBreak) == 48);
static_assert(BoardEvent<feed::Gap> && BoardEvent<feed::Clear>);
static_assert(BoardEvent<feed::Order> && sizeof(feed::Order) == 88);
static_assert(BoardEvent<feed::Level> && sizeof(feed::Level) == 64);
static_assert(BoardEvent<feed::BestVenues> && sizeof(feed::BestVenues) == 88);
static_assert(sizeof(feed::Quote) == 72 && sizeof(feed::Status) == 48);
static_assert(sizeof(feed::Trade) == 64 && sizeof(feed::Gap) == 40 && sizeof(feed::Clear) == 32);

struct ChannelRecord {
    queue::Word cleared;
    queue::Word status_number;
    std::array<queue::Word, kEventWords<feed::Status>> status;
    queue::Word gapped;
    queue::Word depth;  // low half: levels; high half: 1 if the feed sends orders
    queue::Word clear_flags;
    queue::Word depth_since;
    queue::Word venue;
    std::array<std::uint64_t, 3> zero;
};

struct BoardSlot {
    queue::Word quote_number;
    std::array<queue::Word, kEventWords<feed::Quote>> quote;
    queue::Word status_number;
    std::array<queue::Word, kEventWords<feed::Status>> status;
    queue::Word named;
    queue::Word venue;
    std::array<queue::Word, 4> symbol;
    queue::Word decimals;
};

struct BoardHeader {
    queue::Word magic;
    std::uint32_t layout_version;
    std::uint32_t slot_bytes;
    std::uint32_t slots;
    std::uint32_t channels;
    std::uint32_t depth;
    std::uint32_t depth_slot_bytes;
    std::uint32_t venue_slot_bytes;
    std::array<std::uint32_t, 7> zero_fixed;
    queue::Word named;
    std::array<std::uint64_t, 7> zero_named;
};

/// Head of a depth slot; the levels follow it.
struct DepthSlot {
    queue::Word number;
    std::array<queue::Word, 5> head;  // a DepthHead
    std::array<std::uint64_t, 2> zero;
};

/// Level of a depth slot.
struct DepthLevel {
    queue::Word price;
    queue::Word size;
    queue::Word orders;
};

struct VenueSlot {
    queue::Word number;
    std::array<queue::Word, kEventWords<feed::BestVenues>> venues;
    std::array<std::uint64_t, 4> zero;
};

static_assert(sizeof(VenueSlot) == 128);
static_assert(sizeof(DepthSlot) == 64 && sizeof(DepthLevel) == 24);
static_assert(sizeof(ChannelRecord) == 128 && offsetof(ChannelRecord, gapped) == 64);
static_assert(offsetof(ChannelRecord, venue) == 96 && offsetof(BoardHeader, venue_slot_bytes) == 32);
static_assert(offsetof(ChannelRecord, depth) == 72 && offsetof(BoardHeader, depth) == 24);
static_assert(sizeof(BoardSlot) == 192 && sizeof(BoardHeader) == 128);
static_assert(offsetof(BoardSlot, status_number) == 80 && offsetof(BoardSlot, named) == 136);
static_assert(offsetof(BoardSlot, symbol) == 152 && offsetof(BoardHeader, named) == 64);

/// Offset of the board, directly after the entries, in the object of a ring of `capacity` entries.
[[nodiscard]] constexpr std::size_t board_offset(std::uint64_t capacity) noexcept {
    return queue::broadcast_bytes(capacity);
}

/// Size of a depth slot; depth 0: there is none.
[[nodiscard]] constexpr std::size_t depth_slot_bytes(std::uint32_t depth) noexcept {
    if (depth == 0) return 0;
    return (sizeof(DepthSlot) + std::size_t{2} * depth * sizeof(DepthLevel) + 63) / 64 * 64;
}
static_assert(depth_slot_bytes(10) == 576);

[[nodiscard]] constexpr std::size_t board_bytes(std::uint32_t slots, std::uint32_t channels, std::uint32_t depth = 0,
                                                bool best_venues = false) noexcept {
    return sizeof(BoardHeader) + channels * sizeof(ChannelRecord) +
           slots * (sizeof(BoardSlot) + depth_slot_bytes(depth) + (best_venues ? sizeof(VenueSlot) : 0));
}

}  // namespace millpond::market
