#pragma once

#include <algorithm>
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
#include <millpond/market/depth_slot.hpp>
#include <millpond/queue/sequenced_words.hpp>

namespace millpond::market {

/// What is known of an instrument before its first event.
struct Instrument {
    feed::Venue venue;
    feed::Symbol symbol;
    std::uint32_t decimals{feed::kDefaultDecimals};  ///< Decimals that text of its prices has at least.
};

/// What the feed of a channel sends of its books. Both off: quotes without groups.
struct ChannelDepth {
    std::uint32_t depth{0};  ///< Levels of a side, 1..kMaxBoardDepth or feed::kFullDepth; 0: no level events.
    bool orders{false};      ///< Order events.

    [[nodiscard]] constexpr bool is_on() const noexcept { return depth != 0 || orders; }
    friend bool operator==(const ChannelDepth&, const ChannelDepth&) = default;
};

/// A quote that marks the instrument as having no quote any more: both sizes are 0.
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
    none,           ///< The record was never written.
    whole,          ///< The event was copied.
    being_written,  ///< The writer is writing the event, or died while doing so. The event may follow in the ring.
};

/// A quote, a status or the head of a depth slot, as copied from the board.
template <BoardEvent Event>
struct BoardRecord {
    RecordState state{RecordState::none};
    std::uint64_t number{0};  ///< Ring number of the event, or of the event that is being written.
    Event event{};            ///< Valid only if `state` is `whole`.
};

/// The newest quote and trading state of every instrument, in shared memory after a ring. A reader that joins late
/// starts from it.
///
/// Threads: any number of readers, in any process, and one QuoteBoardWriter.
/// Memory:  the caller's, board_layout.hpp; it outlives the board.
class QuoteBoard {
public:
    /// memory: begins at board_offset and may be longer than the board. Returns nullopt if it holds no board of this
    /// layout version.
    [[nodiscard]] static std::optional<QuoteBoard> open(std::span<const std::byte> memory) noexcept;

    [[nodiscard]] std::uint32_t max_instruments() const noexcept { return slots_; }
    [[nodiscard]] std::uint32_t max_channels() const noexcept { return channels_; }
    /// Upper bound of the ids that have a name; other slots are empty.
    [[nodiscard]] std::uint32_t instruments() const noexcept;

    /// Returns nullopt while the instrument has no name.
    [[nodiscard]] std::optional<Instrument> instrument(feed::InstrumentId id) const noexcept;

    /// The newest quote. It is void if its number is not above cleared(channel of the quote). id < max_instruments.
    [[nodiscard]] BoardRecord<feed::Quote> quote(feed::InstrumentId id) const noexcept;
    /// The newest trading state; id < max_instruments.
    [[nodiscard]] BoardRecord<feed::Status> status(feed::InstrumentId id) const noexcept;
    /// The newest trading state of the whole channel; channel < max_channels.
    [[nodiscard]] BoardRecord<feed::Status> channel_status(std::uint16_t channel) const noexcept;
    /// Ring number of the channel's newest Clear, or 0; channel < max_channels.
    [[nodiscard]] std::uint64_t cleared(std::uint16_t channel) const noexcept;
    /// Ring number of the channel's newest Gap, or 0; channel < max_channels. Quotes with numbers up to it are
    /// incomplete, whatever their flags say.
    [[nodiscard]] std::uint64_t gapped(std::uint16_t channel) const noexcept;

    /// Venue of the instruments of the channel's feed; empty if they have several or it is unknown. channel <
    /// max_channels.
    [[nodiscard]] feed::Venue venue(std::uint16_t channel) const noexcept {
        return std::bit_cast<feed::Venue>(channel_[channel].venue.load(std::memory_order_relaxed));
    }
    /// The venues of the channels that may take part in a composite.
    [[nodiscard]] std::array<feed::Venue, feed::kMaxCompositeChannels> venues() const noexcept {
        std::array<feed::Venue, feed::kMaxCompositeChannels> venues;
        const auto channels = static_cast<std::uint16_t>(std::min<std::size_t>(channels_, venues.size()));
        for (std::uint16_t channel = 0; channel < channels; ++channel) venues[channel] = venue(channel);
        return venues;
    }
    /// True if the board keeps the venues of composites' quotes.
    [[nodiscard]] bool has_best_venues() const noexcept { return venue_slots_ != nullptr; }
    /// The newest venues of a composite's instrument, void as a quote is. id < max_instruments; only if
    /// has_best_venues().
    [[nodiscard]] BoardRecord<feed::BestVenues> best_venues(feed::InstrumentId id) const noexcept;

    /// Levels of a side that a depth slot can hold; 0: the board has no depth slots.
    [[nodiscard]] std::uint32_t max_depth() const noexcept { return depth_; }
    /// What the channel's feed sends; channel < max_channels.
    [[nodiscard]] ChannelDepth channel_depth(std::uint16_t channel) const noexcept;
    /// Ring number of the first entry to which channel_depth applies; read it after channel_depth.
    [[nodiscard]] std::uint64_t depth_since(std::uint16_t channel) const noexcept;
    /// The newest levels, the best ones first: bids at the start of `into`, asks from max_depth on; id <
    /// max_instruments, max_depth not 0, into.size() >= 2 * max_depth. Void as a quote is; incomplete if the head says
    /// so or its number is not above gapped(channel). Of a record that is being written only the head's channel is
    /// valid.
    /// step: called between any two accesses; for tests.
    template <class Step = queue::NoStep>
    [[nodiscard]] BoardRecord<DepthHead> levels(feed::InstrumentId id, std::span<BoardLevel> into,
                                                Step&& step = {}) const noexcept;

    /// Layout version of the board at the beginning of `memory`; 0 if there is none.
    [[nodiscard]] static std::uint32_t version_in(std::span<const std::byte> memory) noexcept;

private:
    QuoteBoard() noexcept = default;
    [[nodiscard]] static std::uint32_t read_once(const std::uint32_t& value) noexcept {
        return static_cast<const volatile std::uint32_t&>(value);
    }

    const BoardHeader* header_{nullptr};
    const ChannelRecord* channel_{nullptr};
    const BoardSlot* slot_{nullptr};
    const std::byte* depth_slots_{nullptr};
    const VenueSlot* venue_slots_{nullptr};
    std::uint32_t slots_{0};
    std::uint32_t channels_{0};
    std::uint32_t depth_{0};
};

/// Writes the board; there is one writer. Each function is O(1) and is called before the ring entry `number` is
/// published.
///
/// Threads: one.
/// Memory:  the caller's, board_layout.hpp.
class QuoteBoardWriter {
public:
    /// Creates an empty board of board_bytes(slots, channels, depth, best_venues) bytes; depth <= kMaxBoardDepth.
    /// O(slots).
    [[nodiscard]] static QuoteBoardWriter create(std::span<std::byte> memory, std::uint32_t slots,
                                                 std::uint32_t channels, std::uint32_t depth = 0,
                                                 bool best_venues = false) noexcept;
    /// Continues a board that QuoteBoard::open accepts.
    [[nodiscard]] static QuoteBoardWriter resume(std::span<std::byte> memory) noexcept;

    [[nodiscard]] std::uint32_t max_instruments() const noexcept { return slots_; }
    [[nodiscard]] std::uint32_t max_channels() const noexcept { return channels_; }
    [[nodiscard]] std::uint32_t instruments() const noexcept { return named_; }

    /// Gives a slot its name and decimals, once; id < max_instruments.
    void name(feed::InstrumentId id, const Instrument& instrument) noexcept;
    /// Records what the channel's feed sends from ring entry `since` on; channel < max_channels.
    void set_channel_depth(std::uint16_t channel, ChannelDepth depth, std::uint64_t since) noexcept;
    void set_venue(std::uint16_t channel, const feed::Venue& venue) noexcept {
        channel_[channel].venue.store(std::bit_cast<std::uint64_t>(venue), std::memory_order_relaxed);
    }
    void store(const feed::Quote& quote, std::uint64_t number) noexcept;
    /// Stores the venues, if the board has slots for them.
    void store(const feed::BestVenues& venues, std::uint64_t number) noexcept;
    /// Stores the instrument's state, or the channel's if the instrument is kNoInstrument.
    void store(const feed::Status& status, std::uint64_t number) noexcept;
    /// Empties the instrument's quote and levels, or voids those of the whole channel by remembering `number`.
    void store(const feed::Clear& clear, std::uint64_t number) noexcept;
    /// Makes the quotes of the channel incomplete by remembering `number`.
    void store(const feed::Gap& gap, std::uint64_t number) noexcept;
    /// Returns the levels of an instrument, to change them. Only if has_levels(channel).
    [[nodiscard, gnu::always_inline]] DepthSlotWriter levels(feed::InstrumentId id, std::uint16_t channel) noexcept;
    /// True if the newest write of an instrument's levels may be suspended: levels() knows. Only with depth slots.
    [[nodiscard]] bool may_be_suspended(feed::InstrumentId id) const noexcept {
        return depth_slot(id).number.load(std::memory_order_relaxed) % 2 != 0;
    }
    /// True if the board has depth slots and the channel's feed sends levels.
    [[nodiscard]] bool has_levels(std::uint16_t channel) const noexcept {
        return depth_ != 0 && depth_of(channel) != 0;
    }
    /// The board keeps no other events, and `levels` writes levels.
    void store(const feed::Trade&, std::uint64_t) noexcept {}
    void store(const feed::TradeBreak&, std::uint64_t) noexcept {}
    void store(const feed::Order&, std::uint64_t) noexcept {}
    void store(const feed::Level&, std::uint64_t) noexcept {}
    void store(const feed::Imbalance&, std::uint64_t) noexcept {}
    void store(const feed::Band&, std::uint64_t) noexcept {}
    void store(const feed::Definition&, std::uint64_t) noexcept {}

private:
    explicit QuoteBoardWriter(std::byte* memory) noexcept;
    [[nodiscard]] std::uint32_t depth_of(std::uint16_t channel) const noexcept {
        return static_cast<std::uint32_t>(channel_[channel].depth.load(std::memory_order_relaxed));
    }
    [[nodiscard]] DepthSlot& depth_slot(feed::InstrumentId id) const noexcept {
        return *reinterpret_cast<DepthSlot*>(depth_slots_ + id * depth_slot_bytes_);
    }

    BoardHeader* header_;
    ChannelRecord* channel_;
    BoardSlot* slot_;
    std::byte* depth_slots_;
    std::uint32_t slots_;
    std::uint32_t channels_;
    std::uint32_t depth_;
    std::uint32_t named_;
    std::size_t depth_slot_bytes_;
    VenueSlot* venue_slots_;  // null if the board has none
};

namespace detail {

/// load: copies the words behind the sequence word to the event.
template <BoardEvent Event, class Load>
BoardRecord<Event> copy_record(const queue::Word& sequence, Load&& load) noexcept {
    // A writer is inside one record at a time, for nanoseconds. If it still is after this many attempts, it was
    // descheduled or is dead, or a group is published in parts, and waiting would block the reader.
    constexpr int kAttempts = 1'000;
    BoardRecord<Event> record;
    auto mark = sequence.load(std::memory_order_acquire);  // sync "n complete": mark_complete
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        if (mark == 0) return record;
        if (queue::is_complete(mark)) {
            load(record.event);
            if (queue::still_marked(sequence, mark)) {
                record.state = RecordState::whole;
                record.number = queue::marked_number(mark);
                return record;
            }
        }
        mark = sequence.load(std::memory_order_acquire);  // sync "n complete": mark_complete
    }
    // Marks seen after the first attempt belong to events that were not in the ring when the copy started.
    record.state = RecordState::being_written;
    record.number = queue::marked_number(mark);
    return record;
}

template <BoardEvent Event>
BoardRecord<Event> copy_record(const queue::Word& sequence,
                               const std::array<queue::Word, kEventWords<Event>>& words) noexcept {
    return copy_record<Event>(sequence, [&](Event& event) { queue::load_words(words.data(), event); });
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
    QuoteBoard board;
    board.header_ = &header;
    // Each is read once: the ring's owner may change them after they were checked.
    board.slots_ = read_once(header.slots);
    board.channels_ = read_once(header.channels);
    board.depth_ = read_once(header.depth);
    const auto venue_slot_bytes = read_once(header.venue_slot_bytes);
    if (header.slot_bytes != sizeof(BoardSlot) || board.slots_ == 0 || board.channels_ == 0 ||
        board.channels_ > kMaxChannels || board.depth_ > kMaxBoardDepth ||
        header.depth_slot_bytes != depth_slot_bytes(board.depth_) ||
        (venue_slot_bytes != 0 && venue_slot_bytes != sizeof(VenueSlot)) ||
        memory.size() < board_bytes(board.slots_, board.channels_, board.depth_, venue_slot_bytes != 0)) {
        return std::nullopt;
    }
    board.channel_ = reinterpret_cast<const ChannelRecord*>(memory.data() + sizeof(BoardHeader));
    board.slot_ = reinterpret_cast<const BoardSlot*>(board.channel_ + board.channels_);
    board.depth_slots_ = reinterpret_cast<const std::byte*>(board.slot_ + board.slots_);
    if (venue_slot_bytes != 0) {
        board.venue_slots_ =
            reinterpret_cast<const VenueSlot*>(board.depth_slots_ + board.slots_ * depth_slot_bytes(board.depth_));
    }
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
    std::array<std::uint64_t, 4> symbol{};
    for (std::size_t i = 0; i < symbol.size(); ++i) symbol[i] = slot.symbol[i].load(std::memory_order_relaxed);
    const auto decimals = slot.decimals.load(std::memory_order_relaxed);
    return Instrument{std::bit_cast<feed::Venue>(slot.venue.load(std::memory_order_relaxed)),
                      std::bit_cast<feed::Symbol>(symbol),
                      static_cast<std::uint32_t>(std::min<std::uint64_t>(decimals, feed::kPriceDecimals))};
}

inline BoardRecord<feed::Quote> QuoteBoard::quote(feed::InstrumentId id) const noexcept {
    return detail::copy_record<feed::Quote>(slot_[id].quote_number, slot_[id].quote);
}

inline BoardRecord<feed::BestVenues> QuoteBoard::best_venues(feed::InstrumentId id) const noexcept {
    return detail::copy_record<feed::BestVenues>(venue_slots_[id].number, venue_slots_[id].venues);
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

inline ChannelDepth QuoteBoard::channel_depth(std::uint16_t channel) const noexcept {
    // sync "depth set": QuoteBoardWriter::set_channel_depth
    const auto word = channel_[channel].depth.load(std::memory_order_acquire);
    const auto depth = static_cast<std::uint32_t>(word);
    return {depth <= kMaxBoardDepth || depth == feed::kFullDepth ? depth : 0, word >> 32U != 0};
}

inline std::uint64_t QuoteBoard::depth_since(std::uint16_t channel) const noexcept {
    return channel_[channel].depth_since.load(std::memory_order_relaxed);
}

template <class Step>
BoardRecord<DepthHead> QuoteBoard::levels(feed::InstrumentId id, std::span<BoardLevel> into,
                                          Step&& step) const noexcept {
    const auto& slot = *reinterpret_cast<const DepthSlot*>(depth_slots_ + id * depth_slot_bytes(depth_));
    const auto* const bids = reinterpret_cast<const DepthLevel*>(&slot + 1);
    const auto copy = [&](const DepthLevel* from, std::span<BoardLevel> to) {
        for (std::size_t i = 0; i < to.size(); ++i) queue::load_words(&from[i].price, to[i], step);
    };
    auto record = detail::copy_record<DepthHead>(slot.number, [&](DepthHead& head) {
        queue::load_words(slot.head.data(), head, step);
        head.bids = static_cast<std::uint16_t>(std::min<std::uint32_t>(head.bids, depth_));
        head.asks = static_cast<std::uint16_t>(std::min<std::uint32_t>(head.asks, depth_));
        copy(bids, into.first(head.bids));
        copy(bids + depth_, into.subspan(depth_, head.asks));
    });
    if (record.state == RecordState::being_written) queue::load_words(slot.head.data(), record.event);
    return record;
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
      depth_slots_(reinterpret_cast<std::byte*>(slot_ + header_->slots)),
      slots_(header_->slots),
      channels_(header_->channels),
      depth_(header_->depth),
      named_(static_cast<std::uint32_t>(header_->named.load(std::memory_order_relaxed))),
      depth_slot_bytes_(depth_slot_bytes(depth_)),
      venue_slots_(header_->venue_slot_bytes == 0
                       ? nullptr
                       : reinterpret_cast<VenueSlot*>(depth_slots_ + slots_ * depth_slot_bytes_)) {}

inline QuoteBoardWriter QuoteBoardWriter::create(std::span<std::byte> memory, std::uint32_t slots,
                                                 std::uint32_t channels, std::uint32_t depth,
                                                 bool best_venues) noexcept {
    std::memset(memory.data(), 0, board_bytes(slots, channels, depth, best_venues));
    auto& header = *reinterpret_cast<BoardHeader*>(memory.data());
    header.layout_version = kBoardLayoutVersion;
    header.slot_bytes = sizeof(BoardSlot);
    header.slots = slots;
    header.channels = channels;
    header.depth = depth;
    header.depth_slot_bytes = static_cast<std::uint32_t>(depth_slot_bytes(depth));
    header.venue_slot_bytes = best_venues ? sizeof(VenueSlot) : 0;
    header.magic.store(kBoardMagic, std::memory_order_release);  // sync "board made": QuoteBoard::open
    return QuoteBoardWriter(memory.data());
}

inline QuoteBoardWriter QuoteBoardWriter::resume(std::span<std::byte> memory) noexcept {
    return QuoteBoardWriter(memory.data());
}

inline void QuoteBoardWriter::name(feed::InstrumentId id, const Instrument& instrument) noexcept {
    const auto symbol = std::bit_cast<std::array<std::uint64_t, 4>>(instrument.symbol);
    auto& slot = slot_[id];
    slot.venue.store(std::bit_cast<std::uint64_t>(instrument.venue), std::memory_order_relaxed);
    for (std::size_t i = 0; i < symbol.size(); ++i) slot.symbol[i].store(symbol[i], std::memory_order_relaxed);
    slot.decimals.store(instrument.decimals, std::memory_order_relaxed);
    slot.named.store(1, std::memory_order_release);  // sync "named": QuoteBoard::instrument
    if (id < named_) return;
    named_ = id + 1;
    header_->named.store(named_, std::memory_order_release);  // sync "named": QuoteBoard::instruments
}

inline void QuoteBoardWriter::set_channel_depth(std::uint16_t channel, ChannelDepth depth,
                                                std::uint64_t since) noexcept {
    const auto word = std::uint64_t{depth.depth} | std::uint64_t{depth.orders ? 1U : 0U} << 32U;
    channel_[channel].depth_since.store(since, std::memory_order_relaxed);
    channel_[channel].depth.store(word, std::memory_order_release);  // sync "depth set": QuoteBoard::channel_depth
}

inline void QuoteBoardWriter::store(const feed::Quote& quote, std::uint64_t number) noexcept {
    detail::store_record(slot_[quote.instrument].quote_number, slot_[quote.instrument].quote, quote, number);
}

inline void QuoteBoardWriter::store(const feed::BestVenues& venues, std::uint64_t number) noexcept {
    if (venue_slots_ == nullptr) return;
    auto& slot = venue_slots_[venues.instrument];
    detail::store_record(slot.number, slot.venues, venues, number);
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
        auto& channel = channel_[clear.channel];
        channel.clear_flags.store(clear.flags, std::memory_order_relaxed);
        channel.cleared.store(number, std::memory_order_release);  // sync "cleared": QuoteBoard::cleared
        return;
    }
    if (has_levels(clear.channel)) {
        // Levels before the quote, so that a reader that sees the empty quote sees no older levels.
        queue::NoStep step;
        auto slot = levels(clear.instrument, clear.channel);
        slot.begin(number, step);
        slot.clear(clear.flags);
        slot.end(clear, number, step);
    }
    store(emptied(clear.instrument, clear.channel, clear.receive_utc_ns, clear.receive_ticks), number);
}

inline DepthSlotWriter QuoteBoardWriter::levels(feed::InstrumentId id, std::uint16_t channel) noexcept {
    const auto& record = channel_[channel];
    const auto cleared = record.cleared.load(std::memory_order_relaxed);
    const auto flags =
        cleared == 0 ? std::uint64_t{feed::kIncomplete} : record.clear_flags.load(std::memory_order_relaxed);
    return {depth_slot(id),
            depth_,
            depth_of(channel),
            channel,
            {.cleared = cleared,
             .clear_flags = static_cast<std::uint16_t>(flags & feed::kIncomplete),
             .gapped = record.gapped.load(std::memory_order_relaxed)}};
}

inline void QuoteBoardWriter::store(const feed::Gap& gap, std::uint64_t number) noexcept {
    channel_[gap.channel].gapped.store(number, std::memory_order_release);  // sync "gapped": QuoteBoard::gapped
}

}  // namespace millpond::market
