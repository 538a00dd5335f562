#include "gateway/sinks/csv/csv_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/core/clock.hpp>

#include "gateway/sinks/new_session.hpp"

namespace millpond::gateway::csv {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{64} * 1024;  ///< So many waiting bytes are written at once.
constexpr std::size_t kMostBytes = 4 * kWriteBytes;
constexpr std::size_t kUsualRowBytes = 32;  ///< At least.
constexpr std::int64_t kRetryNs = 250'000'000;
constexpr std::int64_t kPipeRetryNs = 1'000'000;  ///< A pipe is full until its reader reads.
/// First bytes of files of this and all earlier versions.
constexpr std::string_view kBeginsWith = "timestamp,symbol,bid_price,";
static_assert(feed::kCsvHeader.starts_with(kBeginsWith));

}  // namespace

void check_path(const std::string& path) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, unknown))) return;
    if (std::filesystem::file_size(path, unknown) == 0 || unknown) return;
    if (core::RotatedFile::begins_with(path, kBeginsWith) || errno != EEXIST) return;
    throw std::invalid_argument(fmt::format(
        "path '{}' is a file that is not a CSV file of millpond; move it away or choose another path", path));
}

CsvSink::CsvSink(const Options& options, service::Say say)
    : options_(options), say_(std::move(say)), file_(options.path, options.file_mode, kBeginsWith) {
    rows_.reserve(kMostBytes + feed::kMaxCsvBytes);
    held_.reserve(kMostBytes / kUsualRowBytes);
    if (!begin_file() && errno != ENXIO) {  // a FIFO may get its reader later
        const int error = errno;
        throw std::system_error(error, std::generic_category(),
                                fmt::format("csv sink '{}': cannot open '{}'{}", options_.name, options_.path,
                                            core::why_not_opened(error)));
    }
}

bool CsvSink::begin_file() {
    if (!file_.open()) return false;
    counters_.files.add();
    rows_.insert(0, feed::kCsvHeader);
    for (auto& split : splits_) split += feed::kCsvHeader.size();
    ++not_events_;
    return true;
}

std::size_t CsvSink::room() const noexcept {
    if (options_.mode == Delivery::conflate && !due_ && !hurried_) return 0;
    return rows_.size() >= kMostBytes ? 0 : (kMostBytes - rows_.size()) / feed::kMaxCsvBytes + 1;
}

void CsvSink::name(feed::InstrumentId, const feed::Venue&, const feed::Symbol& symbol) {
    symbols_.emplace_back(symbol);
}

void CsvSink::append(const feed::Quote& quote) {
    std::array<char, feed::kMaxCsvBytes> row;
    rows_ += feed::quote_csv(row, quote, symbols_[quote.instrument]);
    has_rows_ = true;
}

void CsvSink::board(const feed::Quote& quote, std::uint64_t) {
    append(quote);
    ++not_events_;
}

Taken CsvSink::on(const feed::Quote& quote, std::uint64_t number) {
    append(quote);
    held_.push_back(number);
    return Taken::kept;
}

Taken CsvSink::on(const feed::Gap& gap, std::uint64_t number) {
    std::array<char, feed::kMaxCsvBytes> row;
    rows_ += feed::gap_csv(row, gap);
    has_rows_ = true;
    held_.push_back(number);
    return Taken::kept;
}

void CsvSink::missed(std::uint64_t, std::uint64_t) {
    std::array<char, feed::kMaxCsvBytes> row;
    rows_ += feed::missed_csv(row, core::utc_nanos());
    has_rows_ = true;
    ++not_events_;
}

Taken CsvSink::on(const feed::Clear& clear, std::uint64_t) {
    if (begins_session(clear) && std::exchange(has_rows_, false)) splits_.push_back(rows_.size());
    return Taken::filtered;
}

void CsvSink::note_written(std::size_t bytes) {
    const auto written = std::string_view{rows_}.substr(0, bytes);
    const auto lines = static_cast<std::uint64_t>(std::count(written.begin(), written.end(), '\n'));
    mid_row_ = written.back() != '\n';
    const auto others = std::min(lines, not_events_);
    not_events_ -= others;
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(lines - others));
    counters_.rows.add(lines - others);
    counters_.bytes.add(bytes);
    rows_.erase(0, bytes);
    for (auto& split : splits_) split -= bytes;
}

bool CsvSink::refused(std::string_view what, std::int64_t now_ns) {
    const int error = errno;
    counters_.write_errors.add();
    retry_ns_ = now_ns + kRetryNs;
    say_(service::Severity::error, options_.name + ".write",
         fmt::format("csv sink '{}': cannot {} '{}': {}; retrying", options_.name, what, options_.path,
                     std::generic_category().message(error)));
    return false;
}

/// Prepares the file for the next rows. False if the system refuses.
bool CsvSink::next_file(std::int64_t now_ns) {
    if (!mid_row_ && file_.close_if_moved()) {
        say_(service::Severity::warning, options_.name + ".moved",
             fmt::format("csv sink '{}': '{}' was moved or removed; continuing in a new file", options_.name,
                         options_.path));
    }
    const bool is_over = !splits_.empty() && splits_.front() == 0;
    const bool is_full = file_.is_open() && !mid_row_ && file_.bytes() >= options_.rotate_bytes;
    if (file_.is_open() && (is_over || is_full)) {
        if (!file_.rotate()) return refused("rename", now_ns);
        file_.keep_newest(options_.keep);
    }
    if (is_over) splits_.erase(splits_.begin());
    return file_.is_open() || begin_file() || refused("open", now_ns);
}

void CsvSink::write_out(std::int64_t now_ns) {
    do {
        if (!next_file(now_ns)) return;
        const auto text = std::string_view{rows_}.substr(0, splits_.empty() ? rows_.size() : splits_.front());
        if (text.empty()) continue;
        errno = ENOSPC;  // a write of no bytes sets none
        const auto written = file_.write_lines(text);
        if (written == 0 && errno == EAGAIN) return static_cast<void>(retry_ns_ = now_ns + kPipeRetryNs);
        if (written == 0) return static_cast<void>(refused("write", now_ns));
        note_written(written);
    } while (has_work());
    retry_ns_ = 0;
}

void CsvSink::step(std::int64_t monotonic_ns) {
    const bool time = hurried_ || monotonic_ns - flushed_ns_ >= options_.flush.count();
    if (has_work() && monotonic_ns >= retry_ns_ && (time || rows_.size() >= kWriteBytes)) {
        flushed_ns_ = monotonic_ns;
        write_out(monotonic_ns);
    }
    due_ = rows_.empty() && monotonic_ns - flushed_ns_ >= options_.flush.count();
}

void CsvSink::finish() {
    if (has_work()) write_out(core::monotonic_nanos());
}

}  // namespace millpond::gateway::csv
