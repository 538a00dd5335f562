#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include <millpond/feed/event.hpp>
#include <millpond/market/board_layout.hpp>
#include <millpond/queue/sequenced_words.hpp>

namespace millpond::market {

/// What an instrument is called.
struct Instrument {
    feed::Venue venue;
    feed::Symbol symbol;
};

/// The quote of an instrument that has none any more: both sizes are 0.
[[nodiscard]] inline feed::Quote emptied(feed::InstrumentId id, std::uint16_t channel, std::int64_t receive_utc_ns,
                                         std::uint64_t receive_ticks) noexcept {
    feed::Quote quote;
    quote.instrument = id;
    quote.channel = channel;
    quote.receive_utc_ns = receive_utc_ns;
    quote.receive_ticks = receive_ticks;
    return quote;
}

enum class RecordState : std::uint8_t {
    none,           ///< Never written.
    whole,          ///< Copied.
    being_written,  ///< Its writer is in the middle of it, or died there: the ring brings the event, if it ever
                    ///< happens.
};

/// A quote or a status as the board holds it.
template <BoardEvent Event>
struct BoardRecord {
    RecordState state{RecordState::none};
    std::uint64_t number{0};  ///< Ring number of the event, or of the event being written.
    Event event{};            ///< Only if `whole`.
};

/// The newest quote and trading state of every instrument, in shared memory behind a ring: how a reader that joins late
/// learns what it missed.
///
/// Threads: any number of readers, in any process, and one QuoteBoardWriter.
/// Memory:  the caller's, board_layout.hpp; it outlives the board.
class QuoteBoard {
public:
    /// `memory` begins at board_offset and may be longer than the board. Empty when it holds none that this build
    /// reads.
    [[nodiscard]] static std::optional<QuoteBoard> open(std::span<const std::byte> memory) noexcept;

    [[nodiscard]] std::uint32_t max_instruments() const noexcept { return slots_; }
    [[nodiscard]] std::uint32_t max_channels() const noexcept { return channels_; }
    /// Instruments below this id may have a name; the others have nothing.
    [[nodiscard]] std::uint32_t instruments() const noexcept;

    /// Empty while the instrument has no name.
    [[nodiscard]] std::optional<Instrument> instrument(feed::InstrumentId id) const noexcept;

    /// The newest quote, void or not: it is void when its number is not above cleared(its channel). id <
    /// max_instruments.
    [[nodiscard]] BoardRecord<feed::Quote> quote(feed::InstrumentId id) const noexcept;
    /// The newest trading state; id < max_instruments.
    [[nodiscard]] BoardRecord<feed::Status> status(feed::InstrumentId id) const noexcept;
    /// The newest trading state of the whole channel; channel < max_channels.
    [[nodiscard]] BoardRecord<feed::Status> channel_status(std::uint16_t channel) const noexcept;
    /// Ring number of the channel's newest Clear, 0 when there was none; channel < max_channels.
    [[nodiscard]] std::uint64_t cleared(std::uint16_t channel) const noexcept;
    /// Ring number of the channel's newest Gap, likewise: quotes that are not newer are incomplete, whatever their
    /// flags say.
    [[nodiscard]] std::uint64_t gapped(std::uint16_t channel) const noexcept;

    /// The layout version of the board that `memory` begins with; 0 when it holds none.
    [[nodiscard]] static std::uint32_t version_in(std::span<const std::byte> memory) noexcept;

private:
    QuoteBoard() noexcept = default;

    const BoardHeader* header_{nullptr};
    const ChannelRecord* channel_{nullptr};
    const BoardSlot* slot_{nullptr};
    std::uint32_t slots_{0};
    std::uint32_t channels_{0};
};

/// The board's one writer. Each function is O(1), and is called before the ring entry `number` is published.
///
/// Threads: one.
/// Memory:  the caller's, board_layout.hpp.
class QuoteBoardWriter {
public:
    /// Makes an empty board of board_bytes(slots, channels) bytes. O(slots).
    [[nodiscard]] static QuoteBoardWriter create(std::span<std::byte> memory, std::uint32_t slots,
                                                 std::uint32_t channels) noexcept;
    /// Continues a board that QuoteBoard::open accepts.
    [[nodiscard]] static QuoteBoardWriter resume(std::span<std::byte> memory) noexcept;

    [[nodiscard]] std::uint32_t max_instruments() const noexcept { return slots_; }
    [[nodiscard]] std::uint32_t max_channels() const noexcept { return channels_; }
    [[nodiscard]] std::uint32_t instruments() const noexcept { return named_; }

    /// Gives a slot its name, once; id < max_instruments.
    void name(feed::InstrumentId id, const Instrument& instrument) noexcept;
    void store(const feed::Quote& quote, std::uint64_t number) noexcept;
    /// The instrument's state, or the channel's when the instrument is kNoInstrument.
    void store(const feed::Status& status, std::uint64_t number) noexcept;
    /// Empties the instrument's quote, or voids those of the whole channel by remembering `number`.
    void store(const feed::Clear& clear, std::uint64_t number) noexcept;
    /// Makes the quotes of the channel incomplete by remembering `number`.
    void store(const feed::Gap& gap, std::uint64_t number) noexcept;

private:
    explicit QuoteBoardWriter(std::byte* memory) noexcept;

    BoardHeader* header_;
    ChannelRecord* channel_;
    BoardSlot* slot_;
    std::uint32_t slots_;
    std::uint32_t channels_;
    std::uint32_t named_;
};

namespace detail {

template <BoardEvent Event>
BoardRecord<Event> copy_record(const queue::Word& sequence,
                               const std::array<queue::Word, kEventWords<Event>>& words) noexcept {
    // A writer holds one record at a time and for nanoseconds. One that is still in it after so many looks was paused
    // by the scheduler or is dead, and waiting would tie the reader to it.
    constexpr int kLooks = 1'000;
    BoardRecord<Event> record;
    auto mark = sequence.load(std::memory_order_acquire);  // sync "n complete": mark_complete
    for (int look = 0; look < kLooks; ++look) {
        if (mark == 0) return record;
        if (queue::is_complete(mark)) {
            queue::load_words(words.data(), record.event);
            if (queue::still_marked(sequence, mark)) {
                record.state = RecordState::whole;
                record.number = queue::marked_number(mark);
                return record;
            }
        }
        mark = sequence.load(std::memory_order_acquire);  // sync "n complete": mark_complete
    }
    // Every mark after the first look is of an event that was not in the ring when the reader came to this record.
    record.state = RecordState::being_written;
    record.number = queue::marked_number(mark);
    return record;
}

template <BoardEvent Event>
void store_record(queue::Word& sequence, std::array<queue::Word, kEventWords<Event>>& words, const Event& event,
                  std::uint64_t number) noexcept {
    queue::mark_writing(sequence, number);
    queue::store_words(words.data(), event);
    queue::mark_complete(sequence, number);
}

}  // namespace detail

inline std::optional<QuoteBoard> QuoteBoard::open(std::span<const std::byte> memory) noexcept {
    if (version_in(memory) != kBoardLayoutVersion) return std::nullopt;
    const auto& header = *reinterpret_cast<const BoardHeader*>(memory.data());
    if (header.slot_bytes != sizeof(BoardSlot) || header.slots == 0 || header.channels == 0 ||
        header.channels > kMostChannels || memory.size() < board_bytes(header.slots, header.channels)) {
        return std::nullopt;
    }
    QuoteBoard board;
    board.header_ = &header;
    board.slots_ = header.slots;
    board.channels_ = header.channels;
    board.channel_ = reinterpret_cast<const ChannelRecord*>(memory.data() + sizeof(BoardHeader));
    board.slot_ = reinterpret_cast<const BoardSlot*>(board.channel_ + header.channels);
    return board;
}

inline std::uint32_t QuoteBoard::instruments() const noexcept {
    const auto named = header_->named.load(std::memory_order_acquire);  // sync "named": QuoteBoardWriter::name
    return named < slots_ ? static_cast<std::uint32_t>(named) : slots_;
}

inline std::optional<Instrument> QuoteBoard::instrument(feed::InstrumentId id) const noexcept {
    if (id >= slots_) return std::nullopt;
    const auto& slot = slot_[id];
    if (slot.named.load(std::memory_order_acquire) == 0) return std::nullopt;  // sync "named": QuoteBoardWriter::name
    std::array<std::uint64_t, 5> words{slot.venue.load(std::memory_order_relaxed)};
    for (std::size_t i = 0; i < slot.symbol.size(); ++i) words[i + 1] = slot.symbol[i].load(std::memory_order_relaxed);
    return std::bit_cast<Instrument>(words);
}

inline BoardRecord<feed::Quote> QuoteBoard::quote(feed::InstrumentId id) const noexcept {
    return detail::copy_record<feed::Quote>(slot_[id].quote_number, slot_[id].quote);
}

inline BoardRecord<feed::Status> QuoteBoard::status(feed::InstrumentId id) const noexcept {
    return detail::copy_record<feed::Status>(slot_[id].status_number, slot_[id].status);
}

inline BoardRecord<feed::Status> QuoteBoard::channel_status(std::uint16_t channel) const noexcept {
    return detail::copy_record<feed::Status>(channel_[channel].status_number, channel_[channel].status);
}

inline std::uint64_t QuoteBoard::cleared(std::uint16_t channel) const noexcept {
    return channel_[channel].cleared.load(std::memory_order_acquire);  // sync "cleared": QuoteBoardWriter::store
}

inline std::uint64_t QuoteBoard::gapped(std::uint16_t channel) const noexcept {
    return channel_[channel].gapped.load(std::memory_order_acquire);  // sync "gapped": QuoteBoardWriter::store
}

inline std::uint32_t QuoteBoard::version_in(std::span<const std::byte> memory) noexcept {
    if (memory.size() < sizeof(BoardHeader)) return 0;
    const auto& header = *reinterpret_cast<const BoardHeader*>(memory.data());
    // sync "board made": QuoteBoardWriter::create
    return header.magic.load(std::memory_order_acquire) == kBoardMagic ? header.layout_version : 0;
}

inline QuoteBoardWriter::QuoteBoardWriter(std::byte* memory) noexcept
    : header_(reinterpret_cast<BoardHeader*>(memory)),
      channel_(reinterpret_cast<ChannelRecord*>(memory + sizeof(BoardHeader))),
      slot_(reinterpret_cast<BoardSlot*>(channel_ + header_->channels)),
      slots_(header_->slots),
      channels_(header_->channels),
      named_(static_cast<std::uint32_t>(header_->named.load(std::memory_order_relaxed))) {}

inline QuoteBoardWriter QuoteBoardWriter::create(std::span<std::byte> memory, std::uint32_t slots,
                                                 std::uint32_t channels) noexcept {
    std::memset(memory.data(), 0, board_bytes(slots, channels));
    auto& header = *reinterpret_cast<BoardHeader*>(memory.data());
    header.layout_version = kBoardLayoutVersion;
    header.slot_bytes = sizeof(BoardSlot);
    header.slots = slots;
    header.channels = channels;
    header.magic.store(kBoardMagic, std::memory_order_release);  // sync "board made": QuoteBoard::open
    return QuoteBoardWriter(memory.data());
}

inline QuoteBoardWriter QuoteBoardWriter::resume(std::span<std::byte> memory) noexcept {
    return QuoteBoardWriter(memory.data());
}

inline void QuoteBoardWriter::name(feed::InstrumentId id, const Instrument& instrument) noexcept {
    const auto words = std::bit_cast<std::array<std::uint64_t, 5>>(instrument);
    auto& slot = slot_[id];
    slot.venue.store(words[0], std::memory_order_relaxed);
    for (std::size_t i = 0; i < slot.symbol.size(); ++i) slot.symbol[i].store(words[i + 1], std::memory_order_relaxed);
    slot.named.store(1, std::memory_order_release);  // sync "named": QuoteBoard::instrument
    if (id < named_) return;
    named_ = id + 1;
    header_->named.store(named_, std::memory_order_release);  // sync "named": QuoteBoard::instruments
}

inline void QuoteBoardWriter::store(const feed::Quote& quote, std::uint64_t number) noexcept {
    detail::store_record(slot_[quote.instrument].quote_number, slot_[quote.instrument].quote, quote, number);
}

inline void QuoteBoardWriter::store(const feed::Status& status, std::uint64_t number) noexcept {
    if (status.instrument == feed::kNoInstrument) {
        auto& channel = channel_[status.channel];
        detail::store_record(channel.status_number, channel.status, status, number);
    } else {
        auto& slot = slot_[status.instrument];
        detail::store_record(slot.status_number, slot.status, status, number);
    }
}

inline void QuoteBoardWriter::store(const feed::Clear& clear, std::uint64_t number) noexcept {
    if (clear.instrument == feed::kNoInstrument) {
        channel_[clear.channel].cleared.store(number,
                                              std::memory_order_release);  // sync "cleared": QuoteBoard::cleared
        return;
    }
    store(emptied(clear.instrument, clear.channel, clear.receive_utc_ns, clear.receive_ticks), number);
}

inline void QuoteBoardWriter::store(const feed::Gap& gap, std::uint64_t number) noexcept {
    channel_[gap.channel].gapped.store(number, std::memory_order_release);  // sync "gapped": QuoteBoard::gapped
}

}  // namespace millpond::market
