#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/event_schema.hpp>
#include <millpond/market/open_group.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/market/reader_registry.hpp>
#include <millpond/memory/owner_lock.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/broadcast_writer.hpp>

namespace millpond::market {

struct RingWriterOptions {
    std::string name{};                     ///< See ring_name.hpp for valid names.
    std::uint64_t capacity{65'536};         ///< Entries, a power of two; 128 bytes each.
    std::uint32_t max_instruments{16'384};  ///< Slots of the board; 192 bytes each.
    std::uint32_t max_channels{64};         ///< Channels 0 .. max_channels - 1 may be published.
    /// Levels of a side in each depth slot of the board, 0..50; 64 + 48 x depth bytes for each instrument. 0: no slots.
    std::uint32_t depth{0};
    bool best_venues{false};        ///< The board keeps BestVenues, 128 bytes for each instrument.
    std::uint32_t max_readers{64};  ///< Maximum number of readers that readers() lists.
    /// How the ring's memory is allocated. With mode 0644 any user can read the ring, with 0640 the members of its
    /// group, with 0600 only its owner.
    memory::RegionOptions memory{.prefault = true, .mode = 0644};
};

/// Writes a named market ring: the board's slot first, then the entry, for any number of readers in any process.
///
/// Threads: one.
/// Memory:  broadcast_bytes(capacity) + board_bytes(max_instruments, max_channels, depth, best_venues), shared, and
///          12 KiB with depth, allocated in the constructor.
class RingWriter {
public:
    /// Creates the ring. A ring whose writer died is continued if its layout agrees: entry numbers continue,
    /// instruments keep their ids and names, and a Clear per channel voids the quotes. A ring with another layout is
    /// marked superseded and replaced. Throws RingError if another writer holds the ring (naming its process), if the
    /// name belongs to something other than a ring or to an object of another user, which only root removes, or if
    /// there is no memory; std::invalid_argument for an invalid option.
    explicit RingWriter(const RingWriterOptions& options);
    RingWriter(const RingWriter&) = delete;
    RingWriter& operator=(const RingWriter&) = delete;
    /// Closes the ring, except in a process that was forked since.
    ~RingWriter();

    /// True if a writer of this process could create or continue the ring now. Throws std::invalid_argument for an
    /// invalid name.
    [[nodiscard]] static bool is_free(const std::string& name);

    /// Names an instrument, before its first event. decimals: at most feed::kPriceDecimals; an instrument that is named
    /// already keeps its own. Returns false, and counts, if the id is beyond the board or has another name.
    bool name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol,
              unsigned decimals = feed::kDefaultDecimals) noexcept;

    /// Records on the board what the feed of a channel sends, before the channel's first event. Returns false, with
    /// nothing changed, if the channel is beyond max_channels or the depth is neither up to kMaxBoardDepth nor
    /// feed::kFullDepth.
    bool set_depth(std::uint16_t channel, ChannelDepth depth) noexcept;

    /// Records on the board the venue of the instruments of a channel. Returns false if the channel is beyond
    /// max_channels.
    bool set_venue(std::uint16_t channel, const feed::Venue& venue) noexcept;

    /// Writes the event to the board, if the board keeps events of this type, and then to the ring. Returns false, and
    /// counts, if its instrument has no name yet or its channel is beyond max_channels. O(1), also for a Clear or Gap
    /// of a whole channel: the board stores its number, and older quotes of the channel are void or incomplete.
    ///
    /// Where the board has levels of the channel, the entries of a group are held back until its last one (kLast), and
    /// are published after the levels are on the board. If an event of another instrument or without a group, a
    /// heartbeat or the 129th entry comes before, the group is published in parts, and the instrument's levels are
    /// incomplete for readers that join before its end. O(depth), and O(levels^2) of a group. step: called between the
    /// accesses to the levels and after each entry; for tests.
    template <class Event, class Step = queue::NoStep>
    bool publish(const Event& event, Step&& step = {}) noexcept;

    /// Renews the heartbeat. Call it several times within the readers' timeout, even if there is nothing to publish.
    void heartbeat(std::int64_t utc_ns) noexcept {
        opened_.ring.heartbeat(utc_ns);
        publish_held();
    }

    /// Marks the ring closed and removes its name; publish nothing afterwards. Returns false if the name could not be
    /// removed: readers see the mark, and the next writer replaces the object.
    bool close() noexcept;

    /// True if the ring of a dead writer was continued. The instruments below instruments() then have their names; add
    /// these to the instrument table, in order, before the first event.
    [[nodiscard]] bool resumed() const noexcept { return opened_.resumed; }
    [[nodiscard]] std::uint32_t instruments() const noexcept { return opened_.board.instruments(); }
    [[nodiscard]] std::optional<Instrument> instrument(feed::InstrumentId id) const noexcept;

    /// Objects of other users that were removed to acquire the ring's name, each with its path and user.
    [[nodiscard]] const std::vector<std::string>& removed() const noexcept { return removed_; }

    /// The board, as readers see it.
    [[nodiscard]] const QuoteBoard& board() const noexcept { return opened_.view; }
    [[nodiscard]] std::uint32_t max_instruments() const noexcept { return opened_.board.max_instruments(); }
    [[nodiscard]] std::uint64_t capacity() const noexcept { return opened_.ring.capacity(); }
    [[nodiscard]] std::uint64_t epoch() const noexcept { return opened_.ring.epoch(); }
    /// Ring number of the newest entry, 0 before the first.
    [[nodiscard]] std::uint64_t newest() const noexcept { return opened_.ring.next() - 1; }

    /// Counts events that were not published and names that were not set.
    [[nodiscard]] const core::Tally& refused_events() const noexcept { return refused_events_; }
    [[nodiscard]] const core::Tally& refused_names() const noexcept { return refused_names_; }
    /// Counts groups with levels of an instrument whose levels came from another channel before. Two feeds that publish
    /// the same instrument replace each other's books, which are incomplete then.
    [[nodiscard]] const core::Tally& moved_instruments() const noexcept { return moved_instruments_; }

    /// Lists the registered readers. Not for the publishing path: see list_readers.
    [[nodiscard]] ReaderList readers() const { return list_readers(name_, max_readers_); }
    /// Report on the ring's memory.
    [[nodiscard]] memory::RegionReport report() const { return opened_.region.report(); }

private:
    struct Opened {
        memory::Region region;
        queue::BroadcastWriter ring;
        QuoteBoardWriter board;
        QuoteBoard view;
        bool resumed;
    };
    static Opened open(const RingWriterOptions& options, const memory::OwnerLock& lock);
    static std::optional<Opened> resume(memory::Region& region, const RingWriterOptions& options);
    void void_old_quotes();

    template <class Event>
    [[nodiscard]] bool is_named(const Event& event) const noexcept;
    /// Publishes an event of a ring on which a channel has levels: events of its groups are held back, any other event
    /// is published after what is held back.
    template <class Event, class Step>
    [[gnu::noinline]] bool publish_with_groups(const Event& event, Step& step) noexcept;
    /// Adds an event to the open group, and publishes the group if it is the last one.
    template <class Event, class Step>
    void publish_in_group(const Event& event, Step& step) noexcept;
    /// Publishes a group that is this event alone, without holding it back. Returns false, with nothing published, for
    /// an event other than a level that is marked incomplete: the mark changes the depth slot, so the event must go
    /// through the group.
    template <class Event, class Step>
    bool try_publish_single(const Event& event, Step& step) noexcept;
    /// Publishes an event of a group whose first events were published already. The depth slot stays suspended until
    /// the last one.
    template <class Event, class Step>
    void publish_partial(const Event& event, DepthSlotWriter& slot, Step& step) noexcept;
    /// Publishes the open group after its last event: the depth slot first, then the entries.
    template <class Step>
    void publish_group(Step& step) noexcept;
    /// Publishes what is held back of a group that has not ended. Its depth slot is suspended.
    template <class Step = queue::NoStep>
    void publish_held(Step&& step = {}) noexcept;
    /// Publishes the entries of the open group, and empties it.
    template <class Step>
    void publish_entries(Step& step) noexcept;
    /// Begins to write a depth slot, before the entry that is published next.
    template <class Step>
    void begin(DepthSlotWriter& slot, Step& step) noexcept {
        if (slot.moves()) [[unlikely]]
            moved_instruments_.add();
        slot.begin(opened_.ring.next(), step);
    }
    template <class Event>
    void store_and_publish(const Event& event) noexcept {
        opened_.board.store(event, opened_.ring.next());
        opened_.ring.publish(static_cast<std::uint32_t>(Event::kKind), event);
    }
    bool refuse() noexcept {
        refused_events_.add();
        return false;
    }

    std::string name_;
    std::uint32_t max_readers_;
    memory::OwnerLock lock_;  // destroyed after the ring: its holder may replace the ring
    Opened opened_;
    // Events of channels below this one are published at once. It is the number of channels, or 0 if one of them has
    // levels: its open group then goes before any other event.
    std::uint32_t channels_without_levels_;
    std::unique_ptr<OpenGroup> group_;  // null if the board has no depth slots
    std::vector<std::string> removed_;
    core::Tally refused_events_;
    core::Tally refused_names_;
    core::Tally moved_instruments_;
    bool closed_{false};
};

template <class Event>
bool RingWriter::is_named(const Event& event) const noexcept {
    if constexpr (requires { event.instrument; }) {
        if (feed::kConcernsChannels<Event> && event.instrument == feed::kNoInstrument) return true;
        return event.instrument < opened_.board.instruments();
    }
    return true;
}

template <class Event, class Step>
bool RingWriter::publish(const Event& event, Step&& step) noexcept {
    if (event.channel >= channels_without_levels_) [[unlikely]]
        return publish_with_groups(event, step);
    if (!is_named(event)) return refuse();
    store_and_publish(event);
    return true;
}

template <class Event, class Step>
bool RingWriter::publish_with_groups(const Event& event, Step& step) noexcept {
    if (event.channel >= opened_.board.max_channels() || !is_named(event)) return refuse();
    if constexpr (kIsOfGroup<Event>) {
        if (opened_.board.has_levels(event.channel)) {
            publish_in_group(event, step);
            return true;
        }
    }
    publish_held(step);
    store_and_publish(event);
    return true;
}

template <class Event, class Step>
void RingWriter::publish_in_group(const Event& event, Step& step) noexcept {
    if (!group_->accepts(event) || group_->is_full()) [[unlikely]]
        publish_held(step);
    const bool is_last = (event.flags & feed::kLast) != 0;
    if (group_->is_empty()) {
        if (opened_.board.may_be_suspended(event.instrument)) [[unlikely]] {
            auto slot = opened_.board.levels(event.instrument, event.channel);
            if (slot.is_suspended()) return publish_partial(event, slot, step);
        }
        if (is_last && try_publish_single(event, step)) return;
    }
    group_->add(event);
    if (is_last) publish_group(step);
}

template <class Event, class Step>
bool RingWriter::try_publish_single(const Event& event, Step& step) noexcept {
    if constexpr (std::is_same_v<Event, feed::Level>) {
        auto slot = opened_.board.levels(event.instrument, event.channel);
        begin(slot, step);
        slot.apply(event, step);
        slot.end(event, opened_.ring.next(), step);
    } else if ((event.flags & feed::kIncomplete) != 0) {
        return false;
    }
    store_and_publish(event);
    step();
    return true;
}

template <class Event, class Step>
void RingWriter::publish_partial(const Event& event, DepthSlotWriter& slot, Step& step) noexcept {
    const auto number = opened_.ring.next();
    slot.begin(number, step);
    slot.apply_partial(event, step);
    if ((event.flags & feed::kLast) != 0) {
        slot.end(event, number, step);
    } else {
        slot.suspend(step);
    }
    store_and_publish(event);
    step();
}

template <class Step>
void RingWriter::publish_group(Step& step) noexcept {
    auto slot = opened_.board.levels(group_->instrument(), group_->channel());
    if (group_->changes_slot() || (group_->is_incomplete() && !slot.is_incomplete())) {
        const auto entries = group_->entries();
        const auto first = opened_.ring.next();
        begin(slot, step);
        slot.apply(*group_, step);
        std::visit([&](const auto& last) { slot.end(last, first + entries.size() - 1, step); }, entries.back());
    }
    publish_entries(step);
}

template <class Step>
void RingWriter::publish_held(Step&& step) noexcept {
    if (!group_ || group_->is_empty()) return;
    auto slot = opened_.board.levels(group_->instrument(), group_->channel());
    if (group_->changes_slot() || (group_->is_incomplete() && !slot.is_incomplete())) {
        begin(slot, step);
        for (const auto& entry : group_->entries()) {
            std::visit([&](const auto& event) { slot.apply_partial(event, step); }, entry);
        }
        slot.suspend(step);
    }
    publish_entries(step);
}

template <class Step>
void RingWriter::publish_entries(Step& step) noexcept {
    for (const auto& entry : group_->entries()) {
        std::visit([&](const auto& event) { store_and_publish(event); }, entry);
        step();
    }
    group_->clear();
}

}  // namespace millpond::market
