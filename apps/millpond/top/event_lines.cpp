#include "apps/millpond/top/event_lines.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/quote_json.hpp>

namespace millpond::app {
namespace {

std::string time_of_day(std::int64_t utc_ns) {
    const auto seconds = static_cast<std::time_t>(utc_ns / 1'000'000'000);
    return fmt::format("{:%H:%M:%S}.{:06}", fmt::gmtime(seconds), utc_ns % 1'000'000'000 / 1'000);
}

std::string price_or_dash(feed::Price price, std::uint64_t size) {
    if (size == 0) return "-";
    std::array<char, 64> text;
    return {text.data(), feed::write_price(text.data(), price)};
}

}  // namespace

LineFormat format_of(const std::string& word) {
    if (word == "json") return LineFormat::json;
    return word == "csv" ? LineFormat::csv : LineFormat::table;
}

bool put_out(std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EPIPE) return false;
        if (written < 0) throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

std::string_view EventLines::head() const noexcept {
    switch (format_) {
        case LineFormat::table:
            return "time            symbol         bid size          bid          ask     ask size   sequence\n";
        case LineFormat::csv: return feed::kCsvHeader;
        case LineFormat::json: return "";
    }
    return "";
}

void EventLines::name(const feed::Symbol& symbol) {
    names_.push_back({symbol, feed::JsonSymbol{symbol}, feed::CsvSymbol{symbol}});
}

void EventLines::rename(feed::InstrumentId id, const feed::Symbol& symbol) {
    names_[id] = {symbol, feed::JsonSymbol{symbol}, feed::CsvSymbol{symbol}};
}

std::string_view EventLines::symbol_of(feed::InstrumentId id) const noexcept {
    return id == feed::kNoInstrument ? std::string_view{"(all)"} : names_[id].symbol.view();
}

const feed::JsonSymbol& EventLines::json_of(feed::InstrumentId id) const noexcept {
    static const feed::JsonSymbol none;
    return id == feed::kNoInstrument ? none : names_[id].json;
}

void EventLines::write(const feed::Quote& quote, std::uint64_t number) {
    if (format_ == LineFormat::csv) {
        std::array<char, feed::kMaxCsvBytes> row;
        lines_ += feed::quote_csv(row, quote, names_[quote.instrument].csv);
        return;
    }
    if (format_ == LineFormat::json) {
        std::array<char, feed::kMaxJsonBytes> json;
        lines_ += feed::quote_json(json, quote, json_of(quote.instrument), number);
        lines_ += '\n';
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} {:>10} {:>12} {:>12} {:>12} {:>10}{}{}{}\n",
                   time_of_day(quote.receive_utc_ns), symbol_of(quote.instrument), quote.bid_size,
                   price_or_dash(quote.bid_price, quote.bid_size), price_or_dash(quote.ask_price, quote.ask_size),
                   quote.ask_size, number, (quote.flags & feed::kIncomplete) != 0 ? " incomplete" : "",
                   (quote.flags & feed::kHalted) != 0 ? " halted" : "",
                   (quote.flags & feed::kNotFirm) != 0 ? " not firm" : "");
}

void EventLines::write(const feed::Trade& trade, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) {
        std::array<char, feed::kMaxJsonBytes> json;
        lines_ += feed::trade_json(json, trade, json_of(trade.instrument), number);
        lines_ += '\n';
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} trade {} at {}, sequence {}\n",
                   time_of_day(trade.receive_utc_ns), symbol_of(trade.instrument), trade.size,
                   price_or_dash(trade.price, trade.size), number);
}

void EventLines::write(const feed::TradeBreak& broken, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) {
        std::array<char, feed::kMaxJsonBytes> json;
        lines_ += feed::trade_break_json(json, broken, json_of(broken.instrument), number);
        lines_ += '\n';
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} trade {} is cancelled, sequence {}\n",
                   time_of_day(broken.receive_utc_ns), symbol_of(broken.instrument), broken.trade_id, number);
}

void EventLines::write(const feed::Status& status, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) {
        std::array<char, feed::kMaxJsonBytes> json;
        lines_ += feed::status_json(json, status, json_of(status.instrument), number);
        lines_ += '\n';
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} {} {}, sequence {}\n", time_of_day(status.receive_utc_ns),
                   symbol_of(status.instrument), feed::to_string(status.state), status.reason.view(), number);
}

void EventLines::write(const feed::Gap& gap, std::uint64_t number) {
    if (format_ == LineFormat::csv) {
        std::array<char, feed::kMaxCsvBytes> row;
        lines_ += feed::gap_csv(row, gap);
        return;
    }
    if (format_ == LineFormat::json) {
        std::array<char, feed::kMaxJsonBytes> json;
        lines_ += feed::gap_json(json, gap, number);
        lines_ += '\n';
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} channel {}: numbers {} to {} are missing ({}), sequence {}\n",
                   time_of_day(gap.receive_utc_ns), gap.channel, gap.first, gap.last, feed::to_string(gap.reason),
                   number);
}

void EventLines::write(const feed::Clear& clear, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) {
        std::array<char, feed::kMaxJsonBytes> json;
        lines_ += feed::clear_json(json, clear, json_of(clear.instrument), number);
        lines_ += '\n';
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} channel {}: quotes of {} are void: {}, sequence {}\n",
                   time_of_day(clear.receive_utc_ns), clear.channel, symbol_of(clear.instrument),
                   feed::to_string(clear.reason), number);
}

void EventLines::write(const queue::MissedRange& missed) {
    if (format_ == LineFormat::csv) {
        std::array<char, feed::kMaxCsvBytes> row;
        lines_ += feed::missed_csv(row, core::utc_nanos());
        return;
    }
    if (format_ == LineFormat::json) {
        fmt::format_to(std::back_inserter(lines_), "{{\"type\":\"missed\",\"count\":{},\"first\":{},\"last\":{}}}\n",
                       missed.count(), missed.first, missed.last);
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "missed {} events: sequence {} to {}\n", missed.count(), missed.first,
                   missed.last);
}

void EventLines::write(const journal::LostRecord& lost) {
    if (format_ == LineFormat::csv) {
        std::array<char, feed::kMaxCsvBytes> row;
        lines_ += feed::missed_csv(row, lost.utc_ns);
        return;
    }
    if (format_ == LineFormat::json) {
        fmt::format_to(std::back_inserter(lines_),
                       "{{\"type\":\"lost\",\"reason\":\"{}\",\"count\":{},\"first\":{},\"last\":{}}}\n",
                       to_string(lost.reason), lost.count(), lost.first, lost.last);
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "lost {} events ({}): {} to {}\n", lost.count(), to_string(lost.reason),
                   lost.first, lost.last);
}

}  // namespace millpond::app
