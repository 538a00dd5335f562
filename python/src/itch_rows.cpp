#include "itch_rows.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>

namespace millpond::python {
namespace {

namespace at = feed::itch_layout;
using core::load_be;

bool concerns_every_stock(char type) noexcept { return type == 'S' || type == 'V' || type == 'W'; }

std::uint32_t u32(const std::byte* place) noexcept { return load_be<std::uint32_t>(place); }
char side_of(bool is_bid) noexcept { return is_bid ? 'B' : 'A'; }

}  // namespace

ItchRows::ItchRows(const Options& options)
    : options_(options),
      messages_(options.file, options.capture),
      filter_(options.file.symbols),
      table_(&itch_table(options.type)) {}

Source::Counts ItchRows::counts() const {
    auto counts = messages_.counts();
    if (options_.type != 0) return counts;
    counts.emplace_back("orders_unknown", unknown_);
    counts.emplace_back("orders_inconsistent", inconsistent_);
    counts.emplace_back("orders_refused", refused_);
    return counts;
}

void ItchRows::read_some(std::size_t max_bytes) {
    constexpr int kMessages = 8'192;
    const std::scoped_lock lock{state_};
    ItchMessage message;
    for (int count = 0; count < kMessages && rows_.size() < max_bytes; ++count) {
        if (!messages_.next(message)) {
            ended_ = true;
            return;
        }
        add(message);
    }
}

void ItchRows::add(const ItchMessage& message) {
    while (message.channel >= channels_.size()) channels_.emplace_back();
    auto& channel = channels_[message.channel];
    const auto* const bytes = message.bytes.data();
    const auto type = static_cast<char>(bytes[0]);
    if (message.new_session) channel.instruments.clear();
    const auto time = at::load_time(bytes);
    const auto midnight = options_.file.midnight_utc_ns;
    MessageHead head{.ts_recv = message.receive_utc_ns == 0 ? kNoTime : message.receive_utc_ns,
                     .ts_event = midnight == 0 ? kNoTime : midnight + time + options_.shift_ns,
                     .number = message.number,
                     .instrument = instrument_of(channel, bytes),
                     .channel = message.channel};
    if (options_.type == 0) return take_order_message(channel, message, head);
    if (type != options_.type || !admits(head)) return;
    append_message(rows_, head, message.bytes, options_.nanos);
}

bool ItchRows::admits(const MessageHead& head) {
    const auto wanted = filter_.wants(head.instrument, [&]() -> std::string_view { return names_[head.instrument]; });
    if (!wanted) return false;
    const auto time = head.ts_recv != kNoTime ? head.ts_recv : head.ts_event;
    if (time == kNoTime) return true;
    const auto& file = options_.file;
    const bool inside = (!file.start || time >= *file.start) && (!file.end || time < *file.end);
    if (!inside) ++outside_;
    return inside;
}

feed::InstrumentId ItchRows::instrument_of(Channel& channel, const std::byte* message) {
    const auto type = static_cast<char>(message[0]);
    if (concerns_every_stock(type)) return feed::kNoInstrument;
    const std::size_t locate = load_be<std::uint16_t>(message + at::kLocateAt);
    if (locate >= channel.instruments.size()) channel.instruments.resize(locate + 1, feed::kNoInstrument);
    auto& instrument = channel.instruments[locate];
    if (instrument != feed::kNoInstrument) return instrument;
    std::string symbol{named_stock(message)};
    // A file that begins within the day may change orders of stocks that it does not name.
    if (symbol.empty()) symbol = "#" + std::to_string(locate);
    const auto [found, added] = by_name_.try_emplace(symbol, static_cast<feed::InstrumentId>(names_.size()));
    if (added) names_.push_back(symbol);
    if (stock_at(type) == 0) return found->second;  // a later message may name it
    return instrument = found->second;
}

/// Makes rows of what a message does to orders.
class ItchRows::OrderHandler {
public:
    OrderHandler(ItchRows& rows, Channel& channel, const ItchMessage& message, const MessageHead& head)
        : rows_(rows), channel_(channel), message_(message), head_(head) {}

    void on_order_added(const feed::OrderStore::Order& order, bool is_stored) {
        if (!is_stored) channel_.incomplete = true;
        put(order, {'A', side_of(order.is_bid), order.number, order.shares, order.price}, true);
    }
    void on_order_reduced(const feed::OrderStore::Order& before, std::uint32_t shares) {
        if (shares > before.shares) channel_.incomplete = true;
        const auto reduced = std::min(shares, before.shares);
        const auto* const bytes = message_.bytes.data();
        const auto type = static_cast<char>(bytes[0]);
        if (type == 'E' || type == 'C') {
            const bool priced = type == 'C';
            const auto paid = priced ? u32(bytes + at::order_executed::kPriceAt) : before.price;
            const bool printed = !priced || static_cast<char>(bytes[at::order_executed::kPrintableAt]) != 'N';
            if (printed) put(before, {'T', side_of(!before.is_bid), 0, reduced, paid}, false);
            put(before, {'F', side_of(before.is_bid), before.number, reduced, paid}, false);
        }
        put(before, {'C', side_of(before.is_bid), before.number, reduced, before.price}, type != 'U');
    }
    void on(const feed::Trade& trade) {
        const auto type = static_cast<char>(message_.bytes[0]);
        if (type != 'P' && type != 'Q') return;  // on_order_reduced makes the rows of an execution
        rows_.put(
            channel_, head_,
            {'T', 'N', 0, trade.size, static_cast<std::uint32_t>(feed::in_venue_scale<at::kVenueScale>(trade.price))},
            true);
    }
    template <class Event>
    void on(const Event&) noexcept {}
    void on_fault(std::span<const std::byte>, std::uint64_t, feed::ItchFault fault) {
        rows_.note(channel_, message_, fault);
    }

private:
    void put(const feed::OrderStore::Order& order, const Step& step, bool last) {
        auto head = head_;
        head.instrument = channel_.instruments[channel_.books->locate_of_book(order.book)];
        rows_.put(channel_, head, step, last);
    }

    ItchRows& rows_;
    Channel& channel_;
    const ItchMessage& message_;
    const MessageHead& head_;
};

void ItchRows::take_order_message(Channel& channel, const ItchMessage& message, const MessageHead& head) {
    const auto* const bytes = message.bytes.data();
    if (!known_) known_ = std::make_unique<feed::InstrumentTable>(kMaxStocks);
    if (!channel.books) {
        channel.books = std::make_unique<feed::ItchBookBuilder>(
            *known_, feed::ItchBookBuilder::Options{.order_books = books_for(options_.file)});
    }
    if (message.follows_loss) channel.incomplete = true;
    const auto type = static_cast<char>(bytes[0]);
    const bool begins = type == 'S' && static_cast<char>(bytes[at::system_event::kEventAt]) == 'O';
    if (begins || message.new_session) {
        channel.incomplete = message.follows_loss;
        if (channel.books->order_books().live_orders() != 0 || begins) {
            auto every = head;
            every.instrument = feed::kNoInstrument;
            put(channel, every, {'R', 'N', 0, 0}, true);
        }
        channel.books->reset();
    }
    if (!at::is_time_of_day(bytes)) return note(channel, message, feed::ItchFault::invalid);
    constexpr std::string_view kTypes = "RAFECXDUPQ";  // a directory message names the stock of its locate
    if (kTypes.find(type) == std::string_view::npos) return;
    OrderHandler handler{*this, channel, message, head};
    channel.books->apply(message.bytes, message.number, {}, handler);
}

void ItchRows::note(Channel& channel, const ItchMessage& message, feed::ItchFault fault) {
    channel.incomplete = true;
    switch (fault) {
        case feed::ItchFault::unknown_order: ++unknown_; break;
        case feed::ItchFault::refused: ++refused_; break;
        case feed::ItchFault::invalid:
        case feed::ItchFault::other_stock:
        case feed::ItchFault::inconsistent: ++inconsistent_;
    }
    const std::size_t locate = load_be<std::uint16_t>(message.bytes.data() + at::kLocateAt);
    const auto& known = channel.instruments;
    const bool has_name = locate < known.size() && known[locate] != feed::kNoInstrument;
    messages_.note(message, fault, has_name ? std::string_view{names_[known[locate]]} : std::string_view{});
}

void ItchRows::put(const Channel& channel, const MessageHead& head, const Step& step, bool last) {
    if (!admits(head)) return;
    const auto price = step.price ? feed::price_from<at::kVenueScale>(*step.price) : feed::kNoPrice;
    const OrderRow row{.ts_recv = head.ts_recv,
                       .ts_event = head.ts_event,
                       .number = head.number,
                       .order_id = step.order,
                       .price = price_cell(price, options_.nanos),
                       .size = Collector::size(step.shares),
                       .instrument = head.instrument,
                       .channel = head.channel,
                       .flags = static_cast<std::uint16_t>((channel.incomplete ? kIncomplete : 0) | (last ? kLast : 0)),
                       .action = step.action,
                       .side = step.side};
    const auto bytes = std::as_bytes(std::span{&row, 1}).first(kOrderRowBytes);
    rows_.insert(rows_.end(), bytes.begin(), bytes.end());
}

}  // namespace millpond::python
