#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/rotated_file.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_csv.hpp>

#include "gateway/sinks/csv/options.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::csv {

/// Throws std::invalid_argument if the file at `path` was not written by such a sink: opening would rename it.
void check_path(const std::string& path);

/// Written by the sink's thread, read on any.
struct Counters {
    core::Tally rows;  ///< Written whole.
    core::Tally bytes;
    core::Tally files;         ///< Created.
    core::Tally write_errors;  ///< Refused writes, opens and renames; each is tried again.

    /// Calls visit(name, help, tally) for each.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("rows_total", "Rows written.", rows);
        visitor("bytes_total", "Bytes written.", bytes);
        visitor("files_total", "Files created.", files);
        visitor("write_errors_total", "Writes, opens and renames that failed; they are retried.", write_errors);
    }
};

/// Quotes as rows of a file: feed::kCsvHeader, then feed::quote_csv, and a row for each gap and for what the ring lost.
/// Other events are filtered; a new session of a channel begins a new file.
///
/// Rows wait in memory for up to `flush`. With mode `conflate` an instrument gets at most one row in that time. While
/// the file takes nothing (a full disk, a pipe that is not read), quotes wait in the ring; what the ring loses
/// meanwhile is missed.
class CsvSink final : public Sink {
public:
    /// Opens the file at once, a FIFO once it has a reader. Throws std::system_error that names it.
    CsvSink(const Options& options, service::Say say);

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

    [[nodiscard]] std::size_t room() const noexcept override;
    [[nodiscard]] Delivery mode() const noexcept override { return options_.mode; }
    /// Continues where the sink that it replaces stopped: no row is lost or repeated.
    [[nodiscard]] std::optional<std::uint64_t> resume_at(std::uint64_t, std::optional<std::uint64_t> stopped) override {
        return stopped;
    }
    [[nodiscard]] std::optional<std::uint64_t> next_wanted(std::uint64_t unread) const override {
        return held_.empty() ? unread : held_.front();
    }
    void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) override;
    void board(const feed::Quote& quote, std::uint64_t number) override;
    void board(const feed::Status&, std::uint64_t) override {}
    Taken on(const feed::Quote& quote, std::uint64_t number) override;
    Taken on(const feed::Trade&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::TradeBreak&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::Status&, std::uint64_t) override { return Taken::filtered; }
    Taken on(const feed::Gap& gap, std::uint64_t number) override;
    Taken on(const feed::Clear& clear, std::uint64_t number) override;
    void missed(std::uint64_t first, std::uint64_t last) override;
    void step(std::int64_t monotonic_ns) override;
    void hurry() override { hurried_ = true; }
    void finish() override;
    [[nodiscard]] std::uint64_t held() const noexcept override { return held_.size(); }
    [[nodiscard]] std::string_view type() const noexcept override { return "csv"; }
    void visit_metrics(const MetricVisitor& visit) const override { counters_.visit(visit); }

private:
    void append(const feed::Quote& quote);
    [[nodiscard]] bool has_work() const noexcept { return !rows_.empty() || !splits_.empty(); }
    void write_out(std::int64_t now_ns);
    [[nodiscard]] bool begin_file();
    [[nodiscard]] bool next_file(std::int64_t now_ns);
    void note_written(std::size_t bytes);
    /// Returns false, for use in a return statement.
    bool refused(std::string_view what, std::int64_t now_ns);

    Options options_;
    service::Say say_;
    core::RotatedFile file_;
    std::vector<feed::CsvSymbol> symbols_;
    std::string rows_;                 // not written yet; may start in the middle of a row
    std::vector<std::uint64_t> held_;  // numbers of the events whose rows end in it
    std::uint64_t not_events_{0};      // lines before them: the header and the board
    std::vector<std::size_t> splits_;  // places in rows_ after which another session, and so another file, begins
    bool has_rows_{false};             // the newest of the files that those make
    bool mid_row_{false};              // the file ends in the middle of a row
    bool due_{false};                  // mode conflate: time to take rows
    bool hurried_{false};              // no row waits for its time
    std::int64_t flushed_ns_{0};
    std::int64_t retry_ns_{0};
    Counters counters_;
};

}  // namespace millpond::gateway::csv
