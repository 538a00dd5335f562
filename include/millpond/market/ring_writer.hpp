#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/market/reader_registry.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/broadcast_writer.hpp>

namespace millpond::market {

struct RingWriterOptions {
    std::string name{};                     ///< ring_name.hpp has the rules.
    std::uint64_t capacity{65'536};         ///< Entries, a power of two; 128 bytes each.
    std::uint32_t max_instruments{16'384};  ///< Slots of the board; 192 bytes each.
    std::uint32_t max_channels{64};         ///< Channels 0 .. max_channels - 1 may publish.
    std::uint32_t max_readers{64};          ///< Readers that readers() lists at most.
    /// How the ring's memory is had. The mode 0644 lets any user read the ring, 0640 the members of its group, 0600
    /// only the writer's own.
    memory::RegionOptions memory{.prefault = true, .mode = 0644};
};

/// The one writer of a named market ring: board slot first, then entry, then any number of readers in any process.
///
/// Threads: one.
/// Memory:  broadcast_bytes(capacity) + board_bytes(max_instruments, max_channels), shared, taken in the constructor.
class RingWriter {
public:
    /// Makes the ring. One whose writer died is continued if its layout agrees: entry numbers continue,
    /// instruments keep their ids and names, quotes are voided by a Clear a channel. One with another layout is marked
    /// superseded and replaced. Throws RingError when another writer has it (naming its process), when the name leads
    /// to something that is no ring or that belongs to another user (root excepted), or when the memory cannot be had;
    /// std::invalid_argument for a wrong option.
    explicit RingWriter(const RingWriterOptions& options);
    RingWriter(const RingWriter&) = delete;
    RingWriter& operator=(const RingWriter&) = delete;
    /// Closes; not in a process that was forked since.
    ~RingWriter();

    /// Gives an instrument its name; before its first event. False and counted when the id is beyond the board, or when
    /// it has another name already.
    bool name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) noexcept;

    /// Writes the event to the board and then to the ring. False and counted when its instrument has no name yet or its
    /// channel is beyond max_channels.
    bool publish(const feed::Quote& quote) noexcept;
    bool publish(const feed::Trade& trade) noexcept;
    bool publish(const feed::TradeBreak& broken) noexcept;
    bool publish(const feed::Status& status) noexcept;
    /// O(1): the board remembers the entry's number, and older quotes of the channel are incomplete.
    bool publish(const feed::Gap& gap) noexcept;
    /// O(1) for a whole channel too: the board remembers the entry's number, and older quotes are void.
    bool publish(const feed::Clear& clear) noexcept;

    /// Says that the writer lives; a few times as often as readers' patience, also when there is nothing to publish.
    void heartbeat(std::int64_t utc_ns) noexcept { taken_.ring.heartbeat(utc_ns); }

    /// Marks the ring closed and takes its name away as the last act. Nothing is published after it. False when a name
    /// could not be taken away: readers know from the mark, and the next writer replaces the object.
    bool close() noexcept;

    /// True when the ring of a dead writer was gone on with. The instruments below instruments() have their names then;
    /// a table of instruments must be filled with them, in order, before the first event.
    [[nodiscard]] bool resumed() const noexcept { return taken_.resumed; }
    [[nodiscard]] std::uint32_t instruments() const noexcept { return taken_.board.instruments(); }
    [[nodiscard]] std::optional<Instrument> instrument(feed::InstrumentId id) const noexcept;

    /// What readers see of the board.
    [[nodiscard]] const QuoteBoard& board() const noexcept { return taken_.view; }
    [[nodiscard]] std::uint32_t max_instruments() const noexcept { return taken_.board.max_instruments(); }
    [[nodiscard]] std::uint64_t capacity() const noexcept { return taken_.ring.capacity(); }
    [[nodiscard]] std::uint64_t epoch() const noexcept { return taken_.ring.epoch(); }
    /// Ring number of the newest entry, 0 before the first.
    [[nodiscard]] std::uint64_t newest() const noexcept { return taken_.ring.next() - 1; }

    /// Events that were not published, and names that were not given.
    [[nodiscard]] const core::Tally& refused_events() const noexcept { return refused_events_; }
    [[nodiscard]] const core::Tally& refused_names() const noexcept { return refused_names_; }

    /// Readers that show themselves. Not for the publishing path: see list_readers.
    [[nodiscard]] ReaderList readers() const { return list_readers(name_, max_readers_); }
    /// Report on the ring's memory.
    [[nodiscard]] memory::RegionReport report() const { return taken_.region.report(); }

private:
    struct Taken {
        memory::Region region;
        queue::BroadcastWriter ring;
        QuoteBoardWriter board;
        QuoteBoard view;
        bool resumed;
    };
    static Taken take(const RingWriterOptions& options);
    static std::optional<Taken> go_on(memory::Region& region, const RingWriterOptions& options);
    /// The ring's lock object, locked; its name goes with it.
    class Lock {
    public:
        explicit Lock(const RingWriterOptions& options);
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
        ~Lock();

        /// False in a process that was forked since.
        [[nodiscard]] bool is_ours() const noexcept;

    private:
        memory::Region region_;
        int pid_;
    };
    void void_old_quotes();

    [[nodiscard]] bool admits(feed::InstrumentId id, std::uint16_t channel) noexcept;
    [[nodiscard]] bool admits(std::uint16_t channel) noexcept;
    template <class Event>
    void publish_on_board(const Event& event) noexcept;
    template <class Event>
    void publish_entry(const Event& event) noexcept;

    std::string name_;
    std::uint32_t max_readers_;
    std::optional<Lock> lock_;  // before the ring: its holder may replace the ring
    Taken taken_;
    core::Tally refused_events_;
    core::Tally refused_names_;
    bool closed_{false};
};

inline bool RingWriter::admits(feed::InstrumentId id, std::uint16_t channel) noexcept {
    if (id < taken_.board.instruments() && channel < taken_.board.max_channels()) return true;
    refused_events_.add();
    return false;
}

inline bool RingWriter::admits(std::uint16_t channel) noexcept {
    if (channel < taken_.board.max_channels()) return true;
    refused_events_.add();
    return false;
}

template <class Event>
void RingWriter::publish_on_board(const Event& event) noexcept {
    taken_.board.store(event, taken_.ring.next());
    publish_entry(event);
}

template <class Event>
void RingWriter::publish_entry(const Event& event) noexcept {
    taken_.ring.publish(static_cast<std::uint32_t>(Event::kKind), event);
}

inline bool RingWriter::publish(const feed::Quote& quote) noexcept {
    if (!admits(quote.instrument, quote.channel)) return false;
    publish_on_board(quote);
    return true;
}

inline bool RingWriter::publish(const feed::Trade& trade) noexcept {
    if (!admits(trade.instrument, trade.channel)) return false;
    publish_entry(trade);
    return true;
}

inline bool RingWriter::publish(const feed::TradeBreak& broken) noexcept {
    if (!admits(broken.instrument, broken.channel)) return false;
    publish_entry(broken);
    return true;
}

inline bool RingWriter::publish(const feed::Status& status) noexcept {
    const bool whole_channel = status.instrument == feed::kNoInstrument;
    if (whole_channel ? !admits(status.channel) : !admits(status.instrument, status.channel)) return false;
    publish_on_board(status);
    return true;
}

inline bool RingWriter::publish(const feed::Gap& gap) noexcept {
    if (!admits(gap.channel)) return false;
    publish_on_board(gap);
    return true;
}

inline bool RingWriter::publish(const feed::Clear& clear) noexcept {
    const bool whole_channel = clear.instrument == feed::kNoInstrument;
    if (whole_channel ? !admits(clear.channel) : !admits(clear.instrument, clear.channel)) return false;
    publish_on_board(clear);
    return true;
}

}  // namespace millpond::market
