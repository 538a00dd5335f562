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
///     board_offset(capacity)                board header, channel records, slots
///
///     board header:
///       0       8    magic            "MPBOARD\0"; stored last when the board is made
///       8       4    layout version   2
///      12       4    slot bytes       192
///      16       4    slots            the most instruments that it can hold
///      20       4    channels         the most channels that it can hold
///      24      40    zero
///      64       8    named            slots 0 .. named - 1 may have a name and quotes, the rest are empty
///      72      56    zero
///     128     128 x channels          channel records
///              192 x slots            slots
///
///     channel record:
///       0       8    cleared          ring number of the newest Clear of the whole channel: older quotes are void
///       8       8    status number    sequence word of the channel's status: 2n when complete, n its ring number
///      16      48    status           feed::Status, instrument kNoInstrument
///      64       8    gapped           ring number of the newest Gap of the channel: older quotes are incomplete
///      72      56    zero
///
///     slot of instrument i, at index i:
///       0       8    quote number     sequence word of the quote: 2n when complete, n the ring number of its entry
///       8      72    quote            feed::Quote; void when n is not above `cleared` of the quote's channel,
///                                     incomplete when n is not above its `gapped`
///      80       8    status number    sequence word of the status
///      88      48    status           feed::Status
///     136       8    named            1 once venue and name are there; they never change after that
///     144       8    venue            zero-padded
///     152      32    symbol           zero-padded
///     184       8    zero
///
/// Quotes and statuses are records of queue/sequenced_words.hpp, written before their ring entry. Every field from
/// `named` of the header on is accessed as aligned 64-bit atomics.
namespace millpond::market {

/// Names what kinds and payloads of the ring mean: feed::EventKind and the structs of feed/event.hpp, first version. A
/// kind that was added later keeps it: readers skip and count entries of kinds that they do not know.
inline constexpr std::uint32_t kMarketContent = 1;
inline constexpr std::uint64_t kBoardMagic = 0x00445241'4F42504DULL;  // "MPBOARD\0"
inline constexpr std::uint32_t kBoardLayoutVersion = 2;
inline constexpr std::uint32_t kMostChannels = 65'536;  // events carry them in 16 bits

template <class Event>
inline constexpr std::size_t kEventWords = sizeof(Event) / 8;

/// An event whose bytes are all its own, so that it can travel as words.
template <class Event>
concept BoardEvent = queue::BroadcastPayload<Event> && std::has_unique_object_representations_v<Event>;

static_assert(BoardEvent<feed::Quote> && BoardEvent<feed::Trade> && BoardEvent<feed::Status>);
static_assert(BoardEvent<feed::TradeBreak> && sizeof(feed::TradeBreak) == 48);
static_assert(BoardEvent<feed::Gap> && BoardEvent<feed::Clear>);
static_assert(sizeof(feed::Quote) == 72 && sizeof(feed::Status) == 48);
static_assert(sizeof(feed::Trade) == 64 && sizeof(feed::Gap) == 40 && sizeof(feed::Clear) == 32);

struct ChannelRecord {
    queue::Word cleared;
    queue::Word status_number;
    std::array<queue::Word, kEventWords<feed::Status>> status;
    queue::Word gapped;
    std::array<std::uint64_t, 7> zero;
};

struct BoardSlot {
    queue::Word quote_number;
    std::array<queue::Word, kEventWords<feed::Quote>> quote;
    queue::Word status_number;
    std::array<queue::Word, kEventWords<feed::Status>> status;
    queue::Word named;
    queue::Word venue;
    std::array<queue::Word, 4> symbol;
    std::uint64_t zero;
};

struct BoardHeader {
    queue::Word magic;
    std::uint32_t layout_version;
    std::uint32_t slot_bytes;
    std::uint32_t slots;
    std::uint32_t channels;
    std::array<std::uint64_t, 5> zero_fixed;
    queue::Word named;
    std::array<std::uint64_t, 7> zero_named;
};

static_assert(sizeof(ChannelRecord) == 128 && offsetof(ChannelRecord, gapped) == 64);
static_assert(sizeof(BoardSlot) == 192 && sizeof(BoardHeader) == 128);
static_assert(offsetof(BoardSlot, status_number) == 80 && offsetof(BoardSlot, named) == 136);
static_assert(offsetof(BoardSlot, symbol) == 152 && offsetof(BoardHeader, named) == 64);

/// Where the board begins in the object of a ring of `capacity` entries: right behind the entries.
[[nodiscard]] constexpr std::size_t board_offset(std::uint64_t capacity) noexcept {
    return queue::broadcast_bytes(capacity);
}

[[nodiscard]] constexpr std::size_t board_bytes(std::uint32_t slots, std::uint32_t channels) noexcept {
    return sizeof(BoardHeader) + channels * sizeof(ChannelRecord) + slots * sizeof(BoardSlot);
}

}  // namespace millpond::market
