#include "gateway/json_lines/event_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <millpond/feed/event_json.hpp>
#include <millpond/queue/broadcast_reader.hpp>

#include "service/out_of_memory.hpp"

namespace millpond::gateway::json_lines {
namespace {

void set_length(Line& line, std::string_view json) {
    line.text[json.size()] = '\n';
    line.length = static_cast<std::uint16_t>(json.size() + 1);
}

std::span<char, feed::kMaxJsonBytes> json_in(Line& line) { return std::span{line.text}.first<feed::kMaxJsonBytes>(); }

}  // namespace

EventLines::EventLines(std::size_t backlog)
    : log_(service::need_memory(fmt::format("backlog = {} ({} bytes)", backlog, backlog * sizeof(Line)),
                                [&] { return LineLog{backlog}; })) {}

void EventLines::name(const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) {
    snapshot_.name(venue, symbol, decimals);
    const auto id = static_cast<feed::InstrumentId>(snapshot_.size() - 1);
    for (auto* subscriber : subscribers_) subscriber->add_instrument(id);
}

Line& EventLines::append(LineKind kind, feed::InstrumentId id, std::uint64_t events) {
    if (log_.end() >= slowest_ + log_.capacity()) evict_oldest();
    return log_.append(kind, id, events);
}

void EventLines::evict_oldest() {
    // Number of parts of the log. A whole part is evicted at once: otherwise each event would visit every subscriber
    // while one of them is stuck.
    constexpr std::uint64_t kParts = 16;
    const auto oldest = log_.end() - log_.capacity() + std::max<std::uint64_t>(log_.capacity() / kParts, 1);
    for (auto* subscriber : subscribers_) subscriber->drop_before(oldest);
    find_slowest();
}

void EventLines::find_slowest() noexcept {
    slowest_ = log_.end();
    for (const auto* subscriber : subscribers_) slowest_ = std::min(slowest_, subscriber->next_line());
}

void EventLines::board(const feed::Level& level, std::uint64_t number) {
    books_.add_of_board(level, number);
    if ((level.flags & feed::kLast) != 0) write_changes(level.instrument, books_.end_group(level.instrument));
}

Admission EventLines::on(const feed::Order& order, std::uint64_t number) {
    books_.add(order, number);
    if ((order.flags & feed::kLast) != 0) write_changes(order.instrument, books_.end_group(order.instrument));
    return books_.demand().wants_orders(order.instrument) ? Admission::kept : Admission::filtered;
}

Admission EventLines::on(const feed::Level& level, std::uint64_t number) {
    books_.add(level, number);
    if ((level.flags & feed::kLast) != 0) write_changes(level.instrument, books_.end_group(level.instrument));
    return books_.demand().wants_levels(level.instrument) ? Admission::kept : Admission::filtered;
}

template <class Event>
void EventLines::end_group(const Event& event, std::uint64_t number) {
    if (books_.has_open_group()) write_changes(event.instrument, books_.end_group(event.instrument));
    if ((event.flags & feed::kLast) != 0) write_changes(event.instrument, books_.apply_last(event, number));
}

void EventLines::write_changes(feed::InstrumentId id, std::span<const BookChange> changes) {
    for (const auto& change : changes) {
        const auto write = [&]<class Event>(const Event& event) {
            constexpr bool kIsWhole = std::is_same_v<Event, BookChange::Whole>;
            constexpr bool kIsLevel = std::is_same_v<Event, feed::Level>;
            auto& line =
                append(kIsWhole ? LineKind::book : (kIsLevel ? LineKind::level : LineKind::order), id, change.events);
            line.min_levels = change.min_levels;
            line.max_levels = change.max_levels;
            line.moved_events = static_cast<std::uint8_t>(change.moved_events);
            line.length = 0;
            if constexpr (!kIsWhole) {
                if (change.min_levels > change.max_levels) return;
                set_length(line, feed::event_json(json_in(line), event, snapshot_.json_symbol(id), change.number));
            }
        };
        std::visit(write, change.event);
    }
}

void EventLines::on(const feed::Quote& quote, std::uint64_t number) {
    end_group(quote, number);
    if (next_venues_.instrument != feed::kNoInstrument) [[unlikely]] {
        if (next_venues_.instrument == quote.instrument) snapshot_.put(next_venues_);
        next_venues_.instrument = feed::kNoInstrument;
    }
    if (subscribers_.empty()) {  // later clients get the quote from the snapshot
        snapshot_.put(quote, number);
        return;
    }
    auto& line = append(LineKind::quote, quote.instrument);
    set_length(line, snapshot_.json(json_in(line), quote, number));
    snapshot_.put(quote, number, log_.end() - 1);
}

template <class Event>
void EventLines::pass_on(const Event& event, std::uint64_t number) {
    auto& line = append(LineKind::other, event.instrument);
    set_length(line, feed::event_json(json_in(line), event, snapshot_.json_symbol(event.instrument), number));
}

void EventLines::on(const feed::Trade& trade, std::uint64_t number) {
    end_group(trade, number);
    auto shown = trade;
    shown.flags = static_cast<std::uint16_t>(shown.flags & ~feed::kLast);  // marks the last change of a book
    pass_on(shown, number);
}

void EventLines::on(const feed::TradeBreak& broken, std::uint64_t number) { pass_on(broken, number); }

void EventLines::on(const feed::Imbalance& imbalance, std::uint64_t number) { pass_on(imbalance, number); }

void EventLines::on(const feed::Band& band, std::uint64_t number) { pass_on(band, number); }

void EventLines::on(const feed::Definition& definition, std::uint64_t number) { pass_on(definition, number); }

void EventLines::on(const feed::Status& status, std::uint64_t number) {
    auto& line = append(LineKind::other, status.instrument);
    const bool all = status.instrument == feed::kNoInstrument;
    set_length(line, feed::event_json(json_in(line), status,
                                      all ? feed::JsonSymbol{} : snapshot_.json_symbol(status.instrument), number));
    snapshot_.put(status, number, log_.end() - 1);
}

void EventLines::on(const feed::Gap& gap, std::uint64_t number) {
    auto& line = append(LineKind::gap, feed::kNoInstrument);
    set_length(line, feed::event_json(json_in(line), gap, {}, number));
    snapshot_.mark_incomplete(gap.channel, log_.end() - 1);
    books_.on(gap, log_.end() - 1);
}

void EventLines::on(const feed::Clear& clear, std::uint64_t number) {
    auto& line = append(LineKind::clear, clear.instrument);
    const bool all = clear.instrument == feed::kNoInstrument;
    set_length(line, feed::event_json(json_in(line), clear,
                                      all ? feed::JsonSymbol{} : snapshot_.json_symbol(clear.instrument), number));
    snapshot_.clear(clear);
    books_.on(clear, number);
}

void EventLines::missed(std::uint64_t first, std::uint64_t last) {
    auto& line = append(LineKind::loss, feed::kNoInstrument, last - first + 1);
    const auto end =
        fmt::format_to_n(line.text.data(), feed::kMaxJsonBytes,
                         R"({{"type":"missed","count":{},"first":{},"last":{}}})", last - first + 1, first, last);
    set_length(line, {line.text.data(), end.size});
    snapshot_.mark_incomplete(std::nullopt, log_.end() - 1);
    snapshot_.forget_venues();
    books_.on(queue::MissedRange{first, last}, log_.end() - 1);
}

}  // namespace millpond::gateway::json_lines
