#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/rotated_file.hpp>
#include <millpond/core/tally.hpp>

#include "gateway/sinks/csv/settings.hpp"
#include "service/log_function.hpp"

namespace millpond::gateway::csv {

/// Counters of a csv sink, of all its files, written by its thread and read on any.
struct Counters {
    core::Tally rows;  ///< Complete rows written.
    core::Tally bytes;
    core::Tally files;         ///< Files created.
    core::Tally write_errors;  ///< Failed writes, opens and renames; each is retried.

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("rows_total", "Rows written.", rows);
        visitor("bytes_total", "Bytes written.", bytes);
        visitor("files_total", "Files created.", files);
        visitor("write_errors_total", "Writes, opens and renames that failed; they are retried.", write_errors);
    }
};

/// A rotated file of rows of one kind. Each file begins with the header; rows wait in memory until they are due.
///
/// Threads: one.
/// Memory:  rows that wait, at most about 256 KiB, from the first row on.
class CsvFile {
public:
    /// Properties of all files of a kind.
    struct Layout {
        std::string header;
        std::size_t known_bytes;    ///< Length of the part of the header that files of all versions begin with.
        std::size_t max_row_bytes;  ///< Length of the longest row.
    };

    /// settings, counters: those of the sink, valid as long as this. file_mode: permissions of files that it creates.
    CsvFile(const Settings& settings, std::string path, Layout layout, mode_t file_mode, Counters& counters,
            service::LogFunction log);

    /// Opens the file now instead of at its first row. Returns false, with errno, on failure.
    [[nodiscard]] bool open();
    /// Whether a file of an earlier run was there at construction.
    [[nodiscard]] bool follows_earlier_run() const noexcept { return follows_earlier_run_; }
    /// Number of further rows that it accepts now.
    [[nodiscard]] std::size_t available() const noexcept;

    /// Appends a row. The first one begins the file. number: of the row's event, which is counted and held until the
    /// row is written; 0: a row of the board.
    void append(std::string_view row, std::uint64_t number);
    /// Appends a row whose event another file counts. Writes nothing if this file has no rows yet.
    void note(std::string_view row, std::uint64_t number);
    /// Appends the row of a gap that another file counts. A file without rows begins with a row `missed` later.
    void note_gap(std::string_view row, std::uint64_t number);
    /// Appends a row `missed`: events up to `number` are missing, or, if it is 0, those between two runs. A file
    /// without rows begins with that row later.
    void miss(std::int64_t utc_ns, std::uint64_t number);
    /// Later rows go to a new file, unless the file has no rows yet.
    void begin_session();

    /// Writes rows that are due. at_once: all are.
    void step(std::int64_t now_ns, bool at_once);
    /// Writes all rows, if it can.
    void finish();
    /// Whether no row waits and the last write was `flush` ago.
    [[nodiscard]] bool is_due(std::int64_t now_ns) const noexcept;

    /// Number of appended events whose rows are not written.
    [[nodiscard]] std::uint64_t held() const noexcept { return held_; }
    /// Ring number of the first event with an unwritten row, and of the newest with a written one.
    [[nodiscard]] std::optional<std::uint64_t> first_unwritten() const noexcept;
    [[nodiscard]] std::uint64_t newest_written() const noexcept { return newest_written_; }

private:
    /// A row that waits.
    struct Row {
        std::uint64_t number;  ///< Number of its event; 0 if it has none.
        bool counts;
    };

    void begin();
    void add(std::string_view row, const Row& entry);
    [[nodiscard]] bool has_work() const noexcept { return !text_.empty() || !splits_.empty(); }
    void write_out(std::int64_t now_ns);
    /// Rotates the file if necessary before the next rows. False if that fails.
    [[nodiscard]] bool next_file(std::int64_t now_ns);
    void note_written(std::size_t bytes);
    /// Returns false, for use in a return statement.
    bool refused(std::string_view what, std::int64_t now_ns);

    const Settings& settings_;
    Layout layout_;
    Counters& counters_;
    service::LogFunction log_;
    core::RotatedFile file_;
    bool follows_earlier_run_;
    bool begun_{false};
    bool missed_before_{false};  // events were missed while the file had no rows
    std::string text_;           // unwritten rows; may start in the middle of a row
    std::vector<Row> rows_;      // the rows of text_
    std::uint64_t held_{0};      // of which these count
    std::uint64_t newest_written_{0};
    std::vector<std::size_t> splits_;  // positions in text_ at which a new session, and so a new file, begins
    bool has_rows_{false};             // the newest of these files has rows
    bool mid_row_{false};              // the file ends in the middle of a row
    std::int64_t flushed_ns_{0};
    std::int64_t retry_ns_{0};
};

}  // namespace millpond::gateway::csv
