#include "apps/millpond/top/event_printer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include <millpond/market/board_layout.hpp>

#include "service/settings/nearest.hpp"

namespace millpond::app {
namespace {

std::string in_lower_case(std::string_view text) {
    std::string lower;
    for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

/// The names that differ from `symbol` only in case; if there are none, those that begin with it or differ by one or
/// two edits, at most five, the shortest first.
std::vector<std::string> near_names(std::string_view symbol, const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 5;
    const auto wanted = in_lower_case(symbol);
    std::vector<std::string> near;
    for (const auto& name : names) {
        const auto lower = in_lower_case(name);
        const std::array<std::string_view, 1> known{lower};
        if (!lower.empty() && !settings::nearest(wanted, known).empty()) near.push_back(name);
    }
    const auto is_same = [&](const std::string& name) { return in_lower_case(name) == wanted; };
    if (std::ranges::any_of(near, is_same)) std::erase_if(near, std::not_fn(is_same));
    std::ranges::sort(near, {}, [](const std::string& name) { return std::tuple{name.size(), name}; });
    if (near.size() > kShown) near.resize(kShown);
    return near;
}

/// Why a book is incomplete. faults: those since it was complete.
std::string reason_of(const market::Book::Faults& faults) {
    std::string reason;
    const auto add = [&](std::uint64_t count, std::string_view one, std::string_view many) {
        if (count != 0) reason += fmt::format("{}{} {}", reason.empty() ? "" : ", ", count, count == 1 ? one : many);
    };
    add(faults.gaps, "gap of the channel", "gaps of the channel");
    add(faults.missed, "missed range", "missed ranges");
    add(faults.marked, "event or board entry marked incomplete", "events or board entries marked incomplete");
    add(faults.refused_levels, "level did not fit", "levels did not fit");
    return reason.empty() ? "joined after the book began" : reason;
}

}  // namespace

void check_depth(std::uint32_t depth, std::uint32_t most, const std::string& source) {
    if (depth <= most) return;
    throw std::runtime_error(most == 0 ? fmt::format("--depth: no feed of {} sends levels; set its key depth", source)
                                       : fmt::format("--depth: {} is more than the {} levels that the feeds of {} send",
                                                     depth, most, source));
}

void EventPrinter::name_absent_symbols(const std::string& source) {
    for (feed::InstrumentId id = 0; instrument(id) != nullptr; ++id) static_cast<void>(wants(id));
    std::vector<std::string> names;
    for (feed::InstrumentId id = 0; id < printer_.named(); ++id) names.emplace_back(printer_.symbol_of(id));
    for (const auto& symbol : wanted_) {
        if (found_.contains(symbol)) continue;
        const auto near = near_names(symbol, names);
        std::string hint;
        if (!near.empty())
            hint = fmt::format("; there {} '{}'", near.size() == 1 ? "is" : "are", fmt::join(near, "', '"));
        to_stderr("millpond: tail: no instrument '{}' {} yet{}\n", symbol, source, hint);
    }
}

bool EventPrinter::wants(feed::InstrumentId id) {
    if (id >= market::kMaxInstruments) return false;  // books are kept for that many
    while (printer_.named() <= id) {
        const auto next = static_cast<feed::InstrumentId>(printer_.named());
        const auto* named = instrument(next);
        const auto symbol = named == nullptr ? feed::Symbol{fmt::format("#{}", next)} : named->symbol;
        printer_.name(symbol, named == nullptr ? feed::kDefaultDecimals : named->decimals,
                      named != nullptr && shows_venues_ ? named->venue : feed::Venue{});
        const bool is_requested = wanted_.contains(symbol.view());
        if (is_requested) found_.emplace(symbol.view());
        is_wanted_.push_back(wanted_.empty() || is_requested);
    }
    return is_wanted_[id];
}

void EventPrinter::show_venues(const market::QuoteBoard& board) {
    shows_venues_ = board.has_best_venues();
    printer_.name_channels(board.venues());
}

void EventPrinter::write_book(const market::Book& book, feed::InstrumentId id, std::uint16_t channel,
                              std::int64_t receive_utc_ns) {
    if (id >= complete_faults_.size()) complete_faults_.resize(std::size_t{id} + 1);
    auto& faults = complete_faults_[id];
    if (book.complete()) faults = book.faults();
    printer_.write(book, depth_, id, channel, receive_utc_ns, number(),
                   book.complete() ? std::string{} : reason_of(book.faults() - faults));
}

}  // namespace millpond::app
