#include "gateway/sinks/csv/csv_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event_csv.hpp>

#include "gateway/sinks/new_session.hpp"

namespace millpond::gateway::csv {
namespace {

/// First bytes of files of quotes of all versions.
constexpr std::string_view kBeginsWith = "timestamp,symbol,bid_price,";
static_assert(feed::kCsvHeader.starts_with(kBeginsWith));

using Row = std::array<char, feed::kMaxEventCsvBytes>;

template <class Event>
std::string path_beside(const std::string& path) {
    const std::filesystem::path file{path};
    const auto name =
        fmt::format("{}.{}{}", file.stem().string(), feed::EventSchema<Event>::kTable, file.extension().string());
    return (file.parent_path() / name).string();
}

/// A pipe and a device have quotes only.
bool has_files_beside(const std::string& path) {
    std::error_code unknown;
    const auto status = std::filesystem::status(path, unknown);
    return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

template <class Event>
CsvFile::Layout layout_of() {
    const auto header = feed::csv_header<Event>();
    return {.header = header, .known_bytes = header.size(), .max_row_bytes = feed::kMaxEventCsvBytes};
}

void check_file(const std::string& path, std::string_view begins_with) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, unknown))) return;
    if (std::filesystem::file_size(path, unknown) == 0 || unknown) return;
    if (core::RotatedFile::begins_with(path, begins_with) || errno != EEXIST) return;
    throw std::invalid_argument(fmt::format(
        "path '{}' is a file that is not a CSV file of millpond; move it away or choose another path", path));
}

}  // namespace

std::vector<std::string> paths_beside(const std::string& path) {
    if (!has_files_beside(path)) return {};
    return {path_beside<feed::Trade>(path), path_beside<feed::Order>(path), path_beside<feed::Level>(path)};
}

void check_path(const std::string& path) {
    check_file(path, kBeginsWith);
    if (!has_files_beside(path)) return;
    check_file(path_beside<feed::Trade>(path), feed::csv_header<feed::Trade>());
    check_file(path_beside<feed::Order>(path), feed::csv_header<feed::Order>());
    check_file(path_beside<feed::Level>(path), feed::csv_header<feed::Level>());
}

CsvSink::Beside::Beside(const Settings& settings, mode_t file_mode, Counters& counters, const service::LogFunction& log)
    : trades(settings, path_beside<feed::Trade>(settings.path), layout_of<feed::Trade>(), file_mode, counters, log),
      orders(settings, path_beside<feed::Order>(settings.path), layout_of<feed::Order>(), file_mode, counters, log),
      levels(settings, path_beside<feed::Level>(settings.path), layout_of<feed::Level>(), file_mode, counters, log) {}

CsvSink::CsvSink(const Settings& settings, mode_t file_mode, const service::LogFunction& log)
    : settings_(settings),
      quotes_(settings_, settings_.path,
              {.header = std::string{feed::kCsvHeader},
               .known_bytes = kBeginsWith.size(),
               .max_row_bytes = feed::kMaxCsvBytes},
              file_mode, counters_, log),
      files_{&quotes_} {
    if (settings_.mode == Delivery::every && has_files_beside(settings_.path)) {
        beside_.emplace(settings_, file_mode, counters_, log);
        files_ = {&quotes_, &beside_->trades, &beside_->orders, &beside_->levels};
    }
    if (!quotes_.open() && errno != ENXIO) {  // a FIFO may not have a reader yet
        const int error = errno;
        throw std::system_error(error, std::generic_category(),
                                fmt::format("csv sink '{}': cannot open '{}'{}", settings_.name, settings_.path,
                                            core::why_not_opened(error)));
    }
}

std::optional<std::uint64_t> CsvSink::resume_at(std::uint64_t, std::optional<std::uint64_t> stopped) {
    // Events between two runs, and rows that a killed run had in memory, count as lost.
    if (!stopped && std::ranges::any_of(files(), &CsvFile::follows_earlier_run)) {
        const auto now = core::utc_nanos();
        for (auto* const file : files()) file->miss(now, 0);
    }
    return stopped;
}

std::optional<std::uint64_t> CsvSink::next_wanted(std::uint64_t unread) const {
    auto first = std::min(unread, last_.held().value_or(unread));
    std::uint64_t written = 0;
    for (const auto* const file : files()) {
        first = std::min(first, file->first_unwritten().value_or(unread));
        written = std::max(written, file->newest_written());
    }
    if (written < first) return first;
    return std::nullopt;  // one file is ahead of another, which could not be written
}

std::size_t CsvSink::available() const noexcept {
    if (settings_.mode == Delivery::conflate && !due_ && !draining_) return 0;
    auto available = std::numeric_limits<std::size_t>::max();
    for (const auto* const file : files()) available = std::min(available, file->available());
    return available;
}

std::uint64_t CsvSink::held() const noexcept {
    std::uint64_t held = last_.held() ? 1 : 0;
    for (const auto* const file : files()) held += file->held();
    return held;
}

void CsvSink::name(feed::InstrumentId, const feed::Venue&, const feed::Symbol& symbol, unsigned decimals) {
    symbols_.emplace_back(symbol, decimals);
    is_incomplete_.push_back(false);
}

const feed::CsvSymbol& CsvSink::symbol_of(feed::InstrumentId id) const noexcept {
    static constexpr feed::CsvSymbol kNone;
    return id == feed::kNoInstrument ? kNone : symbols_[id];
}

void CsvSink::append(const feed::Quote& quote, std::uint64_t number) {
    std::array<char, feed::kMaxCsvBytes> row;
    quotes_.append(feed::quote_csv(row, quote, symbols_[quote.instrument]), number);
}

void CsvSink::board(const feed::Quote& quote, std::uint64_t) { append(quote, 0); }

void CsvSink::board(const feed::Level& level, std::uint64_t) {
    Row row;
    if (beside_) beside_->levels.append(feed::event_csv<feed::Level>(row, level, symbols_[level.instrument]), 0);
}

template <class Event>
void CsvSink::append_marked(const Event& event, std::uint64_t number) {
    auto& file = std::same_as<Event, feed::Order> ? beside_->orders : beside_->levels;
    Row row;
    file.append(feed::event_csv<Event>(row, event, symbols_[event.instrument]), number);
}

template <class Event>
void CsvSink::mark(const Event& event, std::uint64_t number) {
    if (!beside_) return;
    last_.on(event, number,
             [this](const auto& marked, std::uint64_t held_number) { append_marked(marked, held_number); });
}

void CsvSink::note_incomplete(const feed::Quote& quote, std::uint64_t number) {
    const bool is_incomplete = (quote.flags & feed::kIncomplete) != 0;
    const bool was_incomplete = is_incomplete_[quote.instrument];
    is_incomplete_[quote.instrument] = is_incomplete;
    if (was_incomplete || !is_incomplete) return;
    auto unmarked = quote;
    unmarked.flags = 0;
    const auto& symbol = symbols_[quote.instrument];
    Row row;
    beside_->orders.note(feed::event_csv<feed::Order>(row, unmarked, symbol, "incomplete"), number);
    beside_->levels.note(feed::event_csv<feed::Level>(row, unmarked, symbol, "incomplete"), number);
}

Admission CsvSink::on(const feed::Quote& quote, std::uint64_t number) {
    mark(quote, number);
    if (beside_) note_incomplete(quote, number);
    append(quote, number);
    return Admission::kept;
}

Admission CsvSink::on(const feed::Trade& trade, std::uint64_t number) {
    if (!beside_) return Admission::filtered;
    mark(trade, number);
    auto only = trade;
    only.flags = static_cast<std::uint16_t>(trade.flags & ~feed::kLast);  // kLast marks rows of orders and levels only
    Row row;
    beside_->trades.append(feed::event_csv<feed::Trade>(row, only, symbols_[trade.instrument]), number);
    return Admission::kept;
}

Admission CsvSink::on(const feed::TradeBreak& broken, std::uint64_t number) {
    if (!beside_) return Admission::filtered;
    mark(broken, number);
    Row row;
    beside_->trades.append(feed::event_csv<feed::Trade>(row, broken, symbol_of(broken.instrument), "broken"), number);
    return Admission::kept;
}

Admission CsvSink::on(const feed::Order& order, std::uint64_t number) {
    mark(order, number);
    return beside_ ? Admission::kept : Admission::filtered;
}

Admission CsvSink::on(const feed::Level& level, std::uint64_t number) {
    mark(level, number);
    return beside_ ? Admission::kept : Admission::filtered;
}

Admission CsvSink::on(const feed::Gap& gap, std::uint64_t number) {
    mark(gap, number);
    std::array<char, feed::kMaxCsvBytes> quotes_row;
    quotes_.append(feed::gap_csv(quotes_row, gap), number);
    if (beside_) {
        Row row;
        beside_->trades.note_gap(feed::event_csv<feed::Trade>(row, gap, {}, "gap"), number);
        beside_->orders.note_gap(feed::event_csv<feed::Order>(row, gap, {}, "gap"), number);
        beside_->levels.note_gap(feed::event_csv<feed::Level>(row, gap, {}, "gap"), number);
    }
    return Admission::kept;
}

void CsvSink::missed(std::uint64_t, std::uint64_t last) {
    if (beside_) last_.cut([this](const auto& event, std::uint64_t number) { append_marked(event, number); });
    const auto now = core::utc_nanos();
    for (auto* const file : files()) file->miss(now, last);
}

Admission CsvSink::on(const feed::Clear& clear, std::uint64_t number) {
    mark(clear, number);
    if (begins_session(clear)) {
        for (auto* const file : files()) file->begin_session();
    }
    if (beside_) {
        const auto& symbol = symbol_of(clear.instrument);
        Row row;
        beside_->orders.note(feed::event_csv<feed::Order>(row, clear, symbol, "clear"), number);
        beside_->levels.note(feed::event_csv<feed::Level>(row, clear, symbol, "clear"), number);
    }
    return Admission::filtered;
}

void CsvSink::step(std::int64_t monotonic_ns) {
    for (auto* const file : files()) file->step(monotonic_ns, draining_);
    due_ = quotes_.is_due(monotonic_ns);
}

void CsvSink::finish() {
    for (auto* const file : files()) file->finish();
}

}  // namespace millpond::gateway::csv
