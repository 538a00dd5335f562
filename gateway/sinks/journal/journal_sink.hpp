#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/journal/journal_writer.hpp>

#include "gateway/sinks/new_session.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::journal {

/// Writes every event of the ring to the segment files of a journal (docs/internals/journal.md). Continues in the ring
/// where the journal ends, also in the ring of a dead gateway. A new session of a channel starts a new segment. While
/// the disk cannot be written, events wait in the ring; a lost record stands for events that the ring overwrites.
///
/// Threads: like a sink; a separate thread allocates, syncs and removes segments.
class JournalSink final : public Sink {
public:
    /// Opens the journal. Throws what JournalWriter throws.
    JournalSink(std::string name, const millpond::journal::WriterOptions& writer, service::LogFunction log);
    /// Ends the segment after a sync, unless the journal's `sync` is none.
    ~JournalSink() override;

    [[nodiscard]] const millpond::journal::WriterCounters& counters() const noexcept { return writer_.counters(); }
    [[nodiscard]] const std::atomic<bool>& is_open() const noexcept { return writer_.is_open(); }

    [[nodiscard]] std::size_t available() const noexcept override;
    void open(const market::RingReader& ring) override { ring_ = &ring; }
    void board(const feed::Level& level, std::uint64_t) override {
        // What is written before a loss must not have levels of a later time.
        if (lost_.first == 0) writer_.apply_board(level);
    }
    [[nodiscard]] Delivery mode() const noexcept override { return Delivery::every; }
    [[nodiscard]] bool needs_orders() const noexcept override { return true; }
    [[nodiscard]] std::optional<std::uint64_t> resume_at(std::uint64_t epoch,
                                                         std::optional<std::uint64_t> stopped) override;
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) override;
    void board(const feed::Quote&, std::uint64_t) override {}
    void board(const feed::Status&, std::uint64_t) override {}
    Admission on(const feed::Quote& quote, std::uint64_t number) override { return keep(quote, number); }
    Admission on(const feed::Trade& trade, std::uint64_t number) override { return keep(trade, number); }
    Admission on(const feed::TradeBreak& broken, std::uint64_t number) override { return keep(broken, number); }
    Admission on(const feed::Order& order, std::uint64_t number) override { return keep(order, number); }
    Admission on(const feed::Level& level, std::uint64_t number) override { return keep(level, number); }
    Admission on(const feed::Imbalance& imbalance, std::uint64_t number) override { return keep(imbalance, number); }
    Admission on(const feed::Band& band, std::uint64_t number) override { return keep(band, number); }
    Admission on(const feed::Definition& definition, std::uint64_t number) override { return keep(definition, number); }
    Admission on(const feed::BestVenues& venues, std::uint64_t number) override { return keep(venues, number); }
    Admission on(const feed::Status& status, std::uint64_t number) override { return keep(status, number); }
    Admission on(const feed::Gap& gap, std::uint64_t number) override { return keep(gap, number); }
    Admission on(const feed::Clear& clear, std::uint64_t number) override {
        if (begins_session(clear)) begin_session();
        return keep(clear, number);
    }
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void begin_drain() override;
    [[nodiscard]] bool is_drained() const noexcept override { return !writer_.is_checkpoint_requested(); }
    void finish() override;
    /// Returns 0: events are in the file when on() returns.
    [[nodiscard]] std::uint64_t held() const noexcept override { return 0; }
    [[nodiscard]] std::string_view type() const noexcept override { return "journal"; }
    void visit_metrics(const MetricVisitor& visit) const override;
    [[nodiscard]] SinkHealth health() const noexcept override;
    [[nodiscard]] std::optional<JournalSource> journal() const override {
        return JournalSource{.ring = options_.ring,
                             .folder = options_.folder,
                             .newest_record = &writer_.counters().newest_record,
                             .is_open = &writer_.is_open()};
    }

private:
    template <class Event>
    Admission keep(const Event& event, std::uint64_t number);
    template <class Event>
    void note_depth(const Event& event, std::uint64_t number);
    void record_loss();
    void log_open_error();
    void log_checkpoint_error();
    void begin_session();
    template <class Ready>
    bool wait_for_segment(const Ready& ready);
    void sync();
    void service(const std::stop_token& stop);

    std::string name_;
    const market::RingReader* ring_{nullptr};
    millpond::journal::WriterOptions options_;
    service::LogFunction log_;
    millpond::journal::JournalWriter writer_;
    millpond::journal::LostRecord lost_{};  // loss that is not recorded yet; first 0: none
    std::uint64_t synced_before_{1};        // next record at the last sync
    bool has_last_checkpoint_{false};       // it was requested, and will be written before finish()
    std::uint64_t checkpoint_errors_{0};    // that were logged
    std::jthread service_thread_;
};

}  // namespace millpond::gateway::journal
