#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/queue/broadcast_reader.hpp>

#include "collector.hpp"

namespace millpond::python {

/// Reads a ring in batches. Independent of Python.
///
/// Threads: one at a time.
class LiveRing {
public:
    enum class Writer : std::uint8_t { alive, silent, dead, superseded, closed };

    struct Batch {
        Rows rows;
        std::uint64_t missed{0};
        Writer writer{Writer::alive};
        bool ended{false};      ///< The ring is closed or superseded, and has been read completely.
        bool restarted{false};  ///< Another writer has continued the ring since the last batch.
    };
    /// Records of an instrument on the board.
    struct InstrumentState {
        std::optional<feed::Quote> quote{};
        std::uint64_t quote_number{0};
        std::optional<feed::Status> status{};
        std::uint64_t status_number{0};
    };

    LiveRing(const market::RingReaderOptions& reader, const std::optional<std::vector<std::string>>& symbols,
             bool nanos)
        : reader_(reader), filter_(symbols), collector_({.nanos = nanos}), starts_(reader_.writer_starts()) {}

    /// Returns rows of at most max_rows entries: all that are ready, or the first that arrive before the timeout. The
    /// death of the writer ends the wait once. pause: called now and then during a wait; may throw.
    template <class Pause>
    Batch poll(std::size_t max_rows, std::optional<std::int64_t> timeout_ns, Pause&& pause);

    /// Returns the board by instrument. Before the first batch, batches then begin where the board ends, without a gap
    /// or an overlap; later calls only read the board.
    [[nodiscard]] std::vector<InstrumentState> board();

    [[nodiscard]] market::RingReader& reader() noexcept { return reader_; }
    /// The reader's account, in which events of unwanted instruments count as filtered.
    [[nodiscard]] market::RingAccount account() const noexcept {
        auto account = reader_.account();
        account.delivered -= unwanted_;
        account.filtered += unwanted_;
        return account;
    }
    [[nodiscard]] bool wants(feed::InstrumentId id) {
        return filter_.wants(id, [&] { return symbol(id); });
    }
    /// Options of the collector, for the board's rows.
    [[nodiscard]] Collector::Options collecting() const noexcept { return collector_.options(); }
    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return in_use_; }

private:
    /// Receives the reader's events.
    struct Handler {
        LiveRing& ring;
        std::uint64_t missed{0};

        template <class Event>
        void on(const Event& event) {
            if constexpr (requires { event.instrument; }) {
                if (!ring.wants(event.instrument)) {
                    ++ring.unwanted_;
                    return;
                }
            }
            ring.collector_.add(event, ring.reader_.current());
        }
        void on(const queue::MissedRange& range) {
            missed += range.count();
            ring.collector_.add(journal::LostRecord{.first = range.first, .last = range.last});
        }
    };
    struct BoardHandler {
        LiveRing& ring;
        std::vector<InstrumentState>& board;
        const market::RingReader& reader;

        void on(const feed::Quote& quote) {
            board[quote.instrument].quote = quote;
            board[quote.instrument].quote_number = reader.current();
        }
        void on(const feed::Status& status) {
            if (status.instrument == feed::kNoInstrument) return;
            board[status.instrument].status = status;
            board[status.instrument].status_number = reader.current();
        }
        /// The levels of the board are the first rows of the first batch.
        void on(const feed::Level& level) {
            if (ring.wants(level.instrument)) ring.collector_.add(level, reader.current());
        }
        void on(const feed::Trade&) {}
        void on(const feed::TradeBreak&) {}
        void on(const feed::Gap&) {}
        void on(const feed::Clear&) {}
        void on(const queue::MissedRange&) {}
    };

    [[nodiscard]] std::string_view symbol(feed::InstrumentId id) {
        const auto* named = reader_.instrument(id);
        return named != nullptr ? named->symbol.view() : std::string_view{};
    }
    void read_board(std::vector<InstrumentState>& board) const;
    [[nodiscard]] Writer writer() noexcept;

    market::RingReader reader_;
    SymbolFilter filter_;
    Collector collector_;
    std::uint64_t starts_;
    std::uint64_t unwanted_{0};       // events of the ring, without those of the board, that the filter excluded
    Writer reported_{Writer::alive};  // state reported by the last batch
    bool started_{false};
    std::atomic<bool> in_use_{false};
};

template <class Pause>
LiveRing::Batch LiveRing::poll(std::size_t max_rows, std::optional<std::int64_t> timeout_ns, Pause&& pause) {
    constexpr std::size_t kChunk = 4'096;
    constexpr std::int64_t kPauseEveryNs = 20'000'000;
    const auto begin = core::monotonic_nanos();
    auto pause_at = begin + kPauseEveryNs;
    core::Idle idle{core::Poll::adaptive, {.spins = 200}};
    Handler handler{*this};
    Batch batch;
    started_ = true;
    collector_.rows().of<feed::Quote>().reserve(std::min<std::size_t>(max_rows, reader_.account().queued));
    std::size_t polled = 0;
    for (;;) {
        // Before the poll, which then includes all that was published before the end.
        const auto state = writer();
        const auto wanted = std::min(kChunk, max_rows - collector_.rows().size());
        const auto got = reader_.poll(handler, wanted);
        polled += got;
        batch.writer = state;
        const bool drained = got < wanted;
        // A filter may exclude entries for as long as the writer publishes: stop after the entries that were ready at
        // the call.
        const bool enough = drained || polled >= reader_.capacity();
        const auto made = collector_.rows().size();
        if (made == max_rows || (enough && made != 0)) break;
        batch.ended = drained && (state == Writer::closed || state == Writer::superseded);
        if (batch.ended) break;
        if (drained && state == Writer::dead && reported_ != Writer::dead) break;  // no more entries may ever arrive
        const auto now = core::monotonic_nanos();
        if (enough && timeout_ns && now - begin >= *timeout_ns) break;
        if (now >= pause_at) {
            pause();
            pause_at = now + kPauseEveryNs;
        }
        if (drained) idle.rest();
    }
    const auto starts = reader_.writer_starts();
    batch.restarted = starts != starts_;
    starts_ = starts;
    batch.missed = handler.missed;
    reported_ = batch.writer;
    batch.rows = collector_.drain();
    return batch;
}

inline LiveRing::Writer LiveRing::writer() noexcept {
    switch (reader_.writer_state()) {
        case market::WriterState::alive: return Writer::alive;
        case market::WriterState::superseded: return Writer::superseded;
        case market::WriterState::closed: return Writer::closed;
        case market::WriterState::silent: break;
    }
    return reader_.has_writer() ? Writer::silent : Writer::dead;
}

inline std::vector<LiveRing::InstrumentState> LiveRing::board() {
    std::vector<InstrumentState> board(reader_.max_instruments());
    if (started_) {
        read_board(board);
    } else {
        BoardHandler handler{*this, board, reader_};
        reader_.join(handler);
        started_ = true;
    }
    board.resize(reader_.instruments());
    return board;
}

inline void LiveRing::read_board(std::vector<InstrumentState>& board) const {
    const auto& shared = reader_.board();
    for (std::uint32_t id = 0; id < shared.instruments(); ++id) {
        const auto status = shared.status(id);
        if (status.state == market::RecordState::whole) {
            board[id].status = status.event;
            board[id].status_number = status.number;
        }
        auto quote = shared.quote(id);
        if (quote.state != market::RecordState::whole || quote.event.channel >= shared.max_channels()) continue;
        // After the quote: a Clear or Gap that affects it is on the board by then.
        if (quote.number <= shared.cleared(quote.event.channel)) continue;
        if (quote.number <= shared.gapped(quote.event.channel)) quote.event.flags |= feed::kIncomplete;
        board[id].quote = quote.event;
        board[id].quote_number = quote.number;
    }
}

}  // namespace millpond::python
