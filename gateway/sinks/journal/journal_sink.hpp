#pragma once

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

struct Options {
    std::string name{"journal"};
    millpond::journal::WriterOptions writer{};
};

/// Every event of the ring in the segment files of a journal (docs/internals/journal.md). It continues in the ring
/// where the journal stops, also in the ring of a dead gateway. A new session of a channel begins a new segment. While
/// the disk takes nothing, events wait in the ring; what the ring loses meanwhile is a lost record.
///
/// Threads: like a sink; a separate thread allocates, syncs and removes segments.
class JournalSink final : public Sink {
public:
    /// Opens the journal at once. Throws what JournalWriter throws.
    JournalSink(const Options& options, service::Say say);
    /// Syncs, unless the journal's `sync` is none, and ends the segment.
    ~JournalSink() override;

    [[nodiscard]] const millpond::journal::WriterCounters& counters() const noexcept { return writer_.counters(); }

    [[nodiscard]] std::size_t room() const noexcept override;
    [[nodiscard]] Delivery mode() const noexcept override { return Delivery::every; }
    [[nodiscard]] std::optional<std::uint64_t> resume_at(std::uint64_t epoch,
                                                         std::optional<std::uint64_t> stopped) override;
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) override;
    void board(const feed::Quote&, std::uint64_t) override {}
    void board(const feed::Status&, std::uint64_t) override {}
    Taken on(const feed::Quote& quote, std::uint64_t number) override { return keep(quote, number); }
    Taken on(const feed::Trade& trade, std::uint64_t number) override { return keep(trade, number); }
    Taken on(const feed::TradeBreak& broken, std::uint64_t number) override { return keep(broken, number); }
    Taken on(const feed::Status& status, std::uint64_t number) override { return keep(status, number); }
    Taken on(const feed::Gap& gap, std::uint64_t number) override { return keep(gap, number); }
    Taken on(const feed::Clear& clear, std::uint64_t number) override {
        if (begins_session(clear)) begin_session();
        return keep(clear, number);
    }
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void finish() override;
    /// Kept events are in the file: nothing is held.
    [[nodiscard]] std::uint64_t held() const noexcept override { return 0; }
    [[nodiscard]] std::string_view type() const noexcept override { return "journal"; }
    void visit_metrics(const MetricVisitor& visit) const override;
    [[nodiscard]] std::optional<JournalSource> journal() const override {
        return JournalSource{.ring = options_.writer.ring,
                             .folder = options_.writer.folder,
                             .newest_record = &writer_.counters().newest_record};
    }

private:
    template <class Event>
    Taken keep(const Event& event, std::uint64_t number);
    void tell_loss();
    void begin_session();
    void sync();
    void service(const std::stop_token& stop);

    Options options_;
    service::Say say_;
    millpond::journal::JournalWriter writer_;
    millpond::journal::LostRecord lost_{};  // not in the journal yet; first 0: nothing is
    std::uint64_t synced_before_{1};        // next record at the last sync of each round
    std::jthread servant_;
};

}  // namespace millpond::gateway::journal
