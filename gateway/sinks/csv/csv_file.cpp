#include "gateway/sinks/csv/csv_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/core/clock.hpp>

namespace millpond::gateway::csv {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{64} * 1024;  ///< Size of a write.
constexpr std::size_t kMaxBytes = 4 * kWriteBytes;
constexpr std::size_t kUsualRowBytes = 32;  ///< Lower bound of the size of a row.
constexpr std::int64_t kRetryNs = 250'000'000;
constexpr std::int64_t kPipeRetryNs = 1'000'000;  ///< Retry interval of a full pipe.

bool has_content(const std::string& path) {
    std::error_code unknown;
    return std::filesystem::is_regular_file(path, unknown) && std::filesystem::file_size(path, unknown) != 0;
}

}  // namespace

CsvFile::CsvFile(const Settings& settings, std::string path, Layout layout, mode_t file_mode, Counters& counters,
                 service::LogFunction log)
    : settings_(settings),
      layout_(std::move(layout)),
      counters_(counters),
      log_(std::move(log)),
      file_(std::move(path), file_mode, std::string_view{layout_.header}.substr(0, layout_.known_bytes)),
      follows_earlier_run_(has_content(file_.path())) {}

bool CsvFile::open() {
    begin();
    if (!file_.open()) return false;
    counters_.files.add();
    text_.insert(0, layout_.header);
    for (auto& split : splits_) split += layout_.header.size();
    rows_.insert(rows_.begin(), Row{.number = 0, .counts = false});
    return true;
}

void CsvFile::begin() {
    if (begun_) return;
    begun_ = true;
    text_.reserve(kMaxBytes + layout_.max_row_bytes);
    rows_.reserve(kMaxBytes / kUsualRowBytes);
    if (missed_before_) miss(core::utc_nanos(), 0);
}

std::size_t CsvFile::available() const noexcept {
    return text_.size() >= kMaxBytes ? 0 : (kMaxBytes - text_.size()) / layout_.max_row_bytes + 1;
}

void CsvFile::add(std::string_view row, const Row& entry) {
    text_ += row;
    rows_.push_back(entry);
    if (entry.counts) ++held_;
}

void CsvFile::append(std::string_view row, std::uint64_t number) {
    begin();
    add(row, {.number = number, .counts = number != 0});
    has_rows_ = true;
}

void CsvFile::note(std::string_view row, std::uint64_t number) {
    if (begun_) add(row, {.number = number, .counts = false});
}

void CsvFile::note_gap(std::string_view row, std::uint64_t number) {
    if (!begun_) return static_cast<void>(missed_before_ = true);
    note(row, number);
    has_rows_ = true;
}

void CsvFile::miss(std::int64_t utc_ns, std::uint64_t number) {
    if (!begun_) return static_cast<void>(missed_before_ = true);
    const auto commas = std::ranges::count(layout_.header, ',');
    note(fmt::format("{}{:,<{}}missed\n", utc_ns, "", commas), number);
    has_rows_ |= number != 0;
}

void CsvFile::begin_session() {
    if (std::exchange(has_rows_, false)) splits_.push_back(text_.size());
}

std::optional<std::uint64_t> CsvFile::first_unwritten() const noexcept {
    const auto first = std::ranges::find_if(rows_, [](const Row& row) { return row.number != 0; });
    return first == rows_.end() ? std::nullopt : std::optional{first->number};
}

void CsvFile::note_written(std::size_t bytes) {
    const auto written = std::string_view{text_}.substr(0, bytes);
    mid_row_ = written.back() != '\n';
    const auto end = rows_.begin() + std::ranges::count(written, '\n');
    for (auto row = rows_.begin(); row != end; ++row) {
        newest_written_ = std::max(newest_written_, row->number);
        if (!row->counts) continue;
        --held_;
        counters_.rows.add();
    }
    rows_.erase(rows_.begin(), end);
    counters_.bytes.add(bytes);
    text_.erase(0, bytes);
    for (auto& split : splits_) split -= bytes;
}

bool CsvFile::refused(std::string_view what, std::int64_t now_ns) {
    const int error = errno;
    retry_ns_ = now_ns + kRetryNs;
    log_(service::Severity::error, settings_.name + ".write " + file_.path(),
         fmt::format("csv sink '{}': cannot {} '{}': {}; retrying", settings_.name, what, file_.path(),
                     std::generic_category().message(error)));
    counters_.write_errors.add();
    return false;
}

bool CsvFile::next_file(std::int64_t now_ns) {
    if (!mid_row_ && file_.close_if_moved()) {
        log_(service::Severity::warning, settings_.name + ".moved " + file_.path(),
             fmt::format("csv sink '{}': '{}' was moved or removed; continuing in a new file", settings_.name,
                         file_.path()));
    }
    const bool is_over = !splits_.empty() && splits_.front() == 0;
    const bool is_full = file_.is_open() && !mid_row_ && file_.bytes() >= settings_.rotate_bytes;
    if (file_.is_open() && (is_over || is_full)) {
        if (!file_.rotate()) return refused("rename", now_ns);
        file_.keep_newest(settings_.keep);
    }
    if (is_over) splits_.erase(splits_.begin());
    return file_.is_open() || open() || refused("open", now_ns);
}

void CsvFile::write_out(std::int64_t now_ns) {
    do {
        if (!next_file(now_ns)) return;
        const auto text = std::string_view{text_}.substr(0, splits_.empty() ? text_.size() : splits_.front());
        if (text.empty()) continue;
        errno = ENOSPC;  // a write of 0 bytes does not set errno
        const auto written = file_.write_lines(text);
        if (written == 0 && errno == EAGAIN) return static_cast<void>(retry_ns_ = now_ns + kPipeRetryNs);
        if (written == 0) return static_cast<void>(refused("write", now_ns));
        note_written(written);
    } while (has_work());
    retry_ns_ = 0;
}

void CsvFile::step(std::int64_t now_ns, bool at_once) {
    const bool is_time = at_once || now_ns - flushed_ns_ >= settings_.flush.count();
    if (!has_work() || now_ns < retry_ns_ || (!is_time && text_.size() < kWriteBytes)) return;
    flushed_ns_ = now_ns;
    write_out(now_ns);
}

void CsvFile::finish() {
    if (has_work()) write_out(core::monotonic_nanos());
}

bool CsvFile::is_due(std::int64_t now_ns) const noexcept {
    return text_.empty() && now_ns - flushed_ns_ >= settings_.flush.count();
}

}  // namespace millpond::gateway::csv
