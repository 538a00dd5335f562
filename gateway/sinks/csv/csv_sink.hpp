#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_csv.hpp>

#include "gateway/sinks/csv/csv_file.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/last_of_kind.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::csv {

/// Throws std::invalid_argument if a file at `path`, or one beside it, was not written by a csv sink: opening would
/// rename it.
void check_path(const std::string& path);

/// Paths of the files of trades, orders and levels: `quotes.trades.csv` beside `quotes.csv`. None beside a pipe or a
/// device.
[[nodiscard]] std::vector<std::string> paths_beside(const std::string& path);

/// Writes quotes as rows of a file: feed::kCsvHeader, then feed::quote_csv. Trades with their breaks, orders, and
/// levels are rows of files beside it (feed::event_csv), each created at the first event of its kind; kLast is on the
/// last order and level of each group. Every file has a row for each gap and each loss of the ring; the files of orders
/// and levels also have one for each Clear, and for each quote from which on a book is incomplete. Statuses are
/// filtered; a new session of a channel begins new files.
///
/// Rows wait in memory for up to `flush`. While a file cannot be written (a full disk, a pipe that is not read), events
/// wait in the ring; events that the ring overwrites are missed. With mode `conflate` an instrument gets at most one
/// quote in that time, and all other events are filtered.
class CsvSink final : public Sink {
public:
    /// Opens the file immediately, a FIFO when it has a reader. file_mode: permissions of files that it creates. Throws
    /// std::system_error that names the file.
    CsvSink(const Settings& settings, mode_t file_mode, const service::LogFunction& log);

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

    [[nodiscard]] std::size_t available() const noexcept override;
    [[nodiscard]] Delivery mode() const noexcept override { return settings_.mode; }
    [[nodiscard]] bool needs_orders() const noexcept override { return beside_.has_value(); }
    /// Continues where the sink that it replaces stopped: no row is lost or repeated.
    [[nodiscard]] std::optional<std::uint64_t> resume_at(std::uint64_t epoch,
                                                         std::optional<std::uint64_t> stopped) override;
    [[nodiscard]] std::optional<std::uint64_t> next_wanted(std::uint64_t unread) const override;
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    void board(const feed::Status&, std::uint64_t) override {}
    void board(const feed::Level& level, std::uint64_t number) override;
    Admission on(const feed::Quote& quote, std::uint64_t number) override;
    Admission on(const feed::Trade& trade, std::uint64_t number) override;
    Admission on(const feed::TradeBreak& broken, std::uint64_t number) override;
    Admission on(const feed::Order& order, std::uint64_t number) override;
    Admission on(const feed::Level& level, std::uint64_t number) override;
    Admission on(const feed::Status&, std::uint64_t) override { return Admission::filtered; }
    Admission on(const feed::Gap& gap, std::uint64_t number) override;
    Admission on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void begin_drain() override { draining_ = true; }
    void finish() override;
    [[nodiscard]] std::uint64_t held() const noexcept override;
    [[nodiscard]] std::string_view type() const noexcept override { return "csv"; }
    void visit_metrics(const MetricVisitor& visit) const override { counters_.visit(visit); }
    [[nodiscard]] SinkHealth health() const noexcept override { return {.failures = counters_.write_errors.read()}; }

private:
    /// The files beside that of the quotes.
    struct Beside {
        Beside(const Settings& settings, mode_t file_mode, Counters& counters, const service::LogFunction& log);

        CsvFile trades;
        CsvFile orders;
        CsvFile levels;
    };

    [[nodiscard]] std::span<CsvFile* const> files() const noexcept { return {files_.data(), beside_ ? 4U : 1U}; }
    void append(const feed::Quote& quote, std::uint64_t number);
    /// Appends orders and levels, of which last_ knows the marks now that it reads this event.
    template <class Event>
    void mark(const Event& event, std::uint64_t number);
    template <class Event>
    void append_marked(const Event& event, std::uint64_t number);
    /// Appends rows to the files of orders and levels if the quote is the first one that says that the book, of which
    /// no order or level has changed, is incomplete.
    void note_incomplete(const feed::Quote& quote, std::uint64_t number);
    /// The symbol, or an empty one without an instrument.
    [[nodiscard]] const feed::CsvSymbol& symbol_of(feed::InstrumentId id) const noexcept;

    Settings settings_;
    Counters counters_;
    CsvFile quotes_;
    std::optional<Beside> beside_;
    std::array<CsvFile*, 4> files_;
    LastOfKind last_;
    std::vector<feed::CsvSymbol> symbols_;
    std::vector<bool> is_incomplete_;  // of each instrument: its newest quote
    bool due_{false};                  // mode conflate: the interval has ended and quotes are accepted
    bool draining_{false};             // rows are written without a delay
};

}  // namespace millpond::gateway::csv
