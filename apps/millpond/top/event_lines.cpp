#include "apps/millpond/top/event_lines.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event_json.hpp>

#include "apps/millpond/top/book_text.hpp"

namespace millpond::app {
namespace {

std::string time_of_day(std::int64_t utc_ns) {
    const auto seconds = static_cast<std::time_t>(utc_ns / 1'000'000'000);
    return fmt::format("{:%H:%M:%S}.{:06}", fmt::gmtime(seconds), utc_ns % 1'000'000'000 / 1'000);
}

std::string_view incomplete_or_nothing(std::uint16_t flags) {
    return (flags & feed::kIncomplete) != 0 ? " incomplete" : "";
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

EventLines::Name EventLines::name_of(const feed::Symbol& symbol, unsigned decimals, const feed::Venue& venue) {
    auto text = venue.empty() ? std::string{symbol.view()} : fmt::format("{}:{}", venue.view(), symbol.view());
    return {symbol, venue, std::move(text), feed::JsonSymbol{symbol, decimals}, feed::CsvSymbol{symbol, decimals}};
}

void EventLines::name(const feed::Symbol& symbol, unsigned decimals, const feed::Venue& venue) {
    names_.push_back(name_of(symbol, decimals, venue));
}

void EventLines::rename(feed::InstrumentId id, const feed::Symbol& symbol, unsigned decimals) {
    names_[id] = name_of(symbol, decimals, {});
}

std::string EventLines::price_or_dash(feed::InstrumentId id, feed::Price price, std::uint64_t size) const {
    if (size == 0) return "-";
    std::array<char, feed::kMaxPriceChars + feed::kDecimalSlack> text;
    return {text.data(), feed::write_price(text.data(), price, names_[id].json.decimals())};
}

std::string_view EventLines::symbol_of(feed::InstrumentId id) const noexcept {
    return id == feed::kNoInstrument ? std::string_view{"(all)"} : names_[id].symbol.view();
}

std::string_view EventLines::text_of(feed::InstrumentId id) const noexcept {
    return id == feed::kNoInstrument ? std::string_view{"(all)"} : std::string_view{names_[id].text};
}

const feed::JsonSymbol& EventLines::json_of(feed::InstrumentId id) const noexcept {
    static const feed::JsonSymbol none;
    return id == feed::kNoInstrument ? none : names_[id].json;
}

template <class Event>
void EventLines::write_json(const Event& event, std::uint64_t number) {
    feed::InstrumentId id = feed::kNoInstrument;
    if constexpr (requires { event.instrument; }) id = event.instrument;
    std::array<char, feed::kMaxJsonBytes> json;
    lines_ += feed::event_json(json, event, json_of(id), number);
    lines_ += '\n';
}

void EventLines::write(const feed::Quote& quote, std::uint64_t number) {
    if (format_ == LineFormat::csv) {
        std::array<char, feed::kMaxCsvBytes> row;
        lines_ += feed::quote_csv(row, quote, names_[quote.instrument].csv);
        return;
    }
    if (format_ == LineFormat::json) {
        if (names_[quote.instrument].venue.empty()) return write_json(quote, number);
        std::array<char, feed::kMaxJsonBytes> json;
        const auto line = feed::event_json(json, quote, json_of(quote.instrument), number);
        lines_ += feed::add_venue_json(json, line, names_[quote.instrument].venue);
        lines_ += '\n';
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} {:>10} {:>12} {:>12} {:>12} {:>10}{}{}{}\n",
                   time_of_day(quote.receive_utc_ns), text_of(quote.instrument), quote.bid_size,
                   price_or_dash(quote.instrument, quote.bid_price, quote.bid_size),
                   price_or_dash(quote.instrument, quote.ask_price, quote.ask_size), quote.ask_size, number,
                   incomplete_or_nothing(quote.flags), (quote.flags & feed::kHalted) != 0 ? " halted" : "",
                   (quote.flags & feed::kNotFirm) != 0   ? " not firm"
                   : (quote.flags & feed::kLocked) != 0  ? " locked"
                   : (quote.flags & feed::kCrossed) != 0 ? " crossed"
                                                         : "");
}

void EventLines::write(const feed::Trade& trade, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) return write_json(trade, number);
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} trade {} at {}, sequence {}\n",
                   time_of_day(trade.receive_utc_ns), text_of(trade.instrument), trade.size,
                   price_or_dash(trade.instrument, trade.price, trade.size), number);
}

void EventLines::write(const feed::TradeBreak& broken, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) return write_json(broken, number);
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} trade {} is cancelled, sequence {}\n",
                   time_of_day(broken.receive_utc_ns), text_of(broken.instrument), broken.trade_id, number);
}

void EventLines::write(const feed::Order& order, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) return write_json(order, number);
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} order {} {} {} {} at {}, {} left, sequence {}{}\n",
                   time_of_day(order.receive_utc_ns), text_of(order.instrument), order.order_id,
                   feed::to_string(order.action), feed::to_string(order.side), order.size,
                   price_or_dash(order.instrument, order.price, 1), order.size_left, number,
                   incomplete_or_nothing(order.flags));
}

void EventLines::write(const feed::Level& level, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) return write_json(level, number);
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} level {} {} at {} of {} orders, sequence {}{}\n",
                   time_of_day(level.receive_utc_ns), text_of(level.instrument), feed::to_string(level.side),
                   level.size, price_or_dash(level.instrument, level.price, 1), level.orders, number,
                   incomplete_or_nothing(level.flags));
}

void EventLines::write(const feed::Imbalance& imbalance, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) return write_json(imbalance, number);
    const auto id = imbalance.instrument;
    fmt::format_to(std::back_inserter(lines_),
                   "{} {:<12} {} auction, {}: {} paired, {} {} left over, reference {}, near {}, far {}, sequence {}\n",
                   time_of_day(imbalance.receive_utc_ns), text_of(id), feed::to_string(imbalance.auction),
                   feed::to_string(imbalance.state), imbalance.paired_size, imbalance.imbalance_size,
                   feed::to_string(imbalance.side), price_or_dash(id, imbalance.reference_price),
                   price_or_dash(id, imbalance.near_price), price_or_dash(id, imbalance.far_price), number);
}

void EventLines::write(const feed::Band& band, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) return write_json(band, number);
    const auto id = band.instrument;
    if (band.band == feed::BandKind::short_sale) {
        fmt::format_to(std::back_inserter(lines_), "{} {:<12} short sales {}, sequence {}\n",
                       time_of_day(band.receive_utc_ns), text_of(id), feed::to_string(band.short_sale), number);
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} {} {} to {}, reference {}, sequence {}\n",
                   time_of_day(band.receive_utc_ns), text_of(id), feed::to_string(band.band),
                   price_or_dash(id, band.lower_price), price_or_dash(id, band.upper_price),
                   price_or_dash(id, band.reference_price), number);
}

void EventLines::write(const feed::Definition& definition, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) return write_json(definition, number);
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} {}, {}, lot {}, tick {}, sequence {}\n",
                   time_of_day(definition.receive_utc_ns), text_of(definition.instrument),
                   feed::to_string(definition.instrument_class), definition.currency.view(), definition.lot,
                   price_or_dash(definition.instrument, definition.tick), number);
}

std::string EventLines::venues_of(std::uint64_t channels) const {
    std::string text;
    for (std::uint16_t channel = 0; channel < feed::kMaxCompositeChannels; ++channel) {
        if ((channels >> channel & 1U) == 0) continue;
        const auto& venue = channel_venues_[channel];
        if (!text.empty()) text += ' ';
        text += venue.empty() ? fmt::format("channel {}", channel) : std::string{venue.view()};
    }
    return text.empty() ? "-" : text;
}

void EventLines::write(const feed::BestVenues& venues, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) {
        std::array<char, feed::kMaxJsonBytes> json;
        const auto line = feed::event_json(json, venues, json_of(venues.instrument), number);
        lines_ += feed::add_venues_json<feed::BestVenues>(json, line, venues, channel_venues_);
        lines_ += '\n';
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} best bid of {}, best offer of {}",
                   time_of_day(venues.receive_utc_ns), text_of(venues.instrument), venues_of(venues.bid_channels),
                   venues_of(venues.ask_channels));
    const auto put = [&](std::uint64_t channels, std::string_view reason) {
        if (channels != 0) fmt::format_to(std::back_inserter(lines_), ", {}: {}", reason, venues_of(channels));
    };
    put(venues.incomplete_channels, "incomplete");
    put(venues.silent_channels, "silent");
    put(venues.halted_channels, "halted");
    put(venues.not_firm_channels, "not firm");
    fmt::format_to(std::back_inserter(lines_), ", sequence {}\n", number);
}

void EventLines::write(const feed::Status& status, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) return write_json(status, number);
    fmt::format_to(std::back_inserter(lines_), "{} {:<12} {} {}, sequence {}\n", time_of_day(status.receive_utc_ns),
                   text_of(status.instrument), feed::to_string(status.state), status.reason.view(), number);
}

void EventLines::write(const feed::Gap& gap, std::uint64_t number) {
    if (format_ == LineFormat::csv) {
        std::array<char, feed::kMaxCsvBytes> row;
        lines_ += feed::gap_csv(row, gap);
        return;
    }
    if (format_ == LineFormat::json) return write_json(gap, number);
    fmt::format_to(std::back_inserter(lines_), "{} channel {}: numbers {} to {} are missing ({}), sequence {}\n",
                   time_of_day(gap.receive_utc_ns), gap.channel, gap.first, gap.last, feed::to_string(gap.reason),
                   number);
}

void EventLines::write(const feed::Clear& clear, std::uint64_t number) {
    if (format_ == LineFormat::csv) return;
    if (format_ == LineFormat::json) return write_json(clear, number);
    fmt::format_to(std::back_inserter(lines_), "{} channel {}: quotes of {} are void: {}, sequence {}\n",
                   time_of_day(clear.receive_utc_ns), clear.channel, text_of(clear.instrument),
                   feed::to_string(clear.reason), number);
}

void EventLines::write(const market::Book& book, std::size_t depth, feed::InstrumentId id, std::uint16_t channel,
                       std::int64_t receive_utc_ns, std::uint64_t number, std::string_view reason) {
    if (format_ == LineFormat::csv) return;
    const auto& symbol = names_[id].json;
    if (format_ == LineFormat::json) {
        fmt::format_to(std::back_inserter(lines_),
                       "{{\"type\":\"book\",\"symbol\":{},\"channel\":{},\"timestamp\":{},\"sequence\":{}",
                       symbol.view(), channel, receive_utc_ns, number);
        append_book_json(lines_, book, {.decimals = symbol.decimals(), .depth = depth});
        if (book.complete()) {
            lines_ += ",\"incomplete\":false}\n";
        } else {
            fmt::format_to(std::back_inserter(lines_), ",\"incomplete\":true,\"reason\":\"{}\"}}\n", reason);
        }
        return;
    }
    fmt::format_to(std::back_inserter(lines_), "{} {:<12}", time_of_day(receive_utc_ns), text_of(id));
    const auto put = [&](const market::Book::Levels& levels) {
        for (const auto& level : levels | std::views::take(depth))
            fmt::format_to(std::back_inserter(lines_), " {}x{}", price_or_dash(id, level.price, 1), level.size);
    };
    put(book.bids());
    lines_ += " |";
    put(book.asks());
    fmt::format_to(std::back_inserter(lines_), ", sequence {}{}{}\n", number,
                   book.complete() ? "" : ", incomplete: ", book.complete() ? "" : reason);
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
