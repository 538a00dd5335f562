#include "gateway/json_lines/line_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/feed/event_json.hpp>
#include <millpond/feed/quote_json.hpp>

#include "service/out_of_memory.hpp"

namespace millpond::gateway::json_lines {
namespace {

void set_length(Line& line, std::string_view json) {
    line.text[json.size()] = '\n';
    line.length = static_cast<std::uint16_t>(json.size() + 1);
}

std::span<char, feed::kMaxJsonBytes> room_in(Line& line) { return std::span{line.text}.first<feed::kMaxJsonBytes>(); }

}  // namespace

LineSink::LineSink(std::size_t backlog)
    : log_(service::need_memory(fmt::format("backlog = {} ({} bytes)", backlog, backlog * sizeof(Line)),
                                [&] { return LineLog{backlog}; })) {}

void LineSink::name(feed::InstrumentId, const feed::Venue&, const feed::Symbol& symbol) {
    standing_.name(symbol);
    const auto id = static_cast<feed::InstrumentId>(standing_.size() - 1);
    for (auto* subscriber : subscribers_) subscriber->named(id);
}

void LineSink::board(const feed::Quote& quote, std::uint64_t number) { standing_.put(quote, number); }

void LineSink::board(const feed::Status& status, std::uint64_t number) { standing_.put(status, number); }

Line& LineSink::append(LineKind kind, feed::InstrumentId id, std::uint64_t events) {
    if (log_.end() >= slowest_ + log_.capacity()) make_room();
    return log_.append(kind, id, events);
}

void LineSink::make_room() {
    // More than one line at once: otherwise each event would cost a look at every subscriber while one of them is
    // stuck.
    constexpr std::uint64_t kParts = 16;
    const auto oldest = log_.end() - log_.capacity() + std::max<std::uint64_t>(log_.capacity() / kParts, 1);
    for (auto* subscriber : subscribers_) subscriber->leave_behind(oldest);
    find_slowest();
}

void LineSink::find_slowest() noexcept {
    slowest_ = log_.end();
    for (const auto* subscriber : subscribers_) slowest_ = std::min(slowest_, subscriber->next_line());
}

Taken LineSink::on(const feed::Quote& quote, std::uint64_t number) {
    if (subscribers_.empty()) {  // later clients get it as a standing quote
        standing_.put(quote, number);
        return Taken::kept;
    }
    auto& line = append(LineKind::quote, quote.instrument);
    set_length(line, feed::quote_json(room_in(line), quote, standing_.json_symbol(quote.instrument), number));
    standing_.put(quote, number, log_.end() - 1);
    return Taken::kept;
}

Taken LineSink::on(const feed::Trade& trade, std::uint64_t number) {
    auto& line = append(LineKind::other, trade.instrument);
    set_length(line, feed::trade_json(room_in(line), trade, standing_.json_symbol(trade.instrument), number));
    return Taken::kept;
}

Taken LineSink::on(const feed::TradeBreak& broken, std::uint64_t number) {
    auto& line = append(LineKind::other, broken.instrument);
    set_length(line, feed::trade_break_json(room_in(line), broken, standing_.json_symbol(broken.instrument), number));
    return Taken::kept;
}

Taken LineSink::on(const feed::Status& status, std::uint64_t number) {
    auto& line = append(LineKind::other, status.instrument);
    const bool all = status.instrument == feed::kNoInstrument;
    set_length(line, feed::status_json(room_in(line), status,
                                       all ? feed::JsonSymbol{} : standing_.json_symbol(status.instrument), number));
    standing_.put(status, number, log_.end() - 1);
    return Taken::kept;
}

Taken LineSink::on(const feed::Gap& gap, std::uint64_t number) {
    auto& line = append(LineKind::gap, feed::kNoInstrument);
    set_length(line, feed::gap_json(room_in(line), gap, number));
    standing_.mark_incomplete(gap.channel, log_.end() - 1);
    return Taken::kept;
}

Taken LineSink::on(const feed::Clear& clear, std::uint64_t number) {
    auto& line = append(LineKind::other, clear.instrument);
    const bool all = clear.instrument == feed::kNoInstrument;
    set_length(line, feed::clear_json(room_in(line), clear,
                                      all ? feed::JsonSymbol{} : standing_.json_symbol(clear.instrument), number));
    standing_.clear(clear);
    return Taken::kept;
}

void LineSink::missed(std::uint64_t first, std::uint64_t last) {
    auto& line = append(LineKind::loss, feed::kNoInstrument, last - first + 1);
    const auto end =
        fmt::format_to_n(line.text.data(), feed::kMaxJsonBytes,
                         R"({{"type":"missed","count":{},"first":{},"last":{}}})", last - first + 1, first, last);
    set_length(line, {line.text.data(), end.size});
    standing_.mark_incomplete(std::nullopt, log_.end() - 1);
}

void LineSink::leave(const Subscriber& subscriber) { std::erase(subscribers_, &subscriber); }

}  // namespace millpond::gateway::json_lines
