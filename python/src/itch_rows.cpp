#include "itch_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>

namespace millpond::python {
namespace {

namespace at = feed::itch_layout;
using core::load_be;

bool concerns_every_stock(char type) noexcept { return type == 'S' || type == 'V' || type == 'W'; }

constexpr std::size_t kFirstOrders = 4'096;

std::uint32_t u32(const std::byte* place) noexcept { return load_be<std::uint32_t>(place); }
std::uint64_t u64(const std::byte* place) noexcept { return load_be<std::uint64_t>(place); }
char opposite(bool is_bid) noexcept { return is_bid ? 'A' : 'B'; }
char side_of(bool is_bid) noexcept { return is_bid ? 'B' : 'A'; }

template <class Bytes>
void append(std::vector<std::byte>& rows, const Bytes& bytes) {
    const auto place = rows.size();
    rows.resize(place + bytes.size());
    std::memcpy(rows.data() + place, bytes.data(), bytes.size());
}

}  // namespace

ItchRows::ItchRows(const Options& options)
    : options_(options),
      messages_(options.file, options.capture),
      filter_(options.file.symbols),
      row_bytes_(options.type == 0 ? sizeof(OrderRow) : sizeof(MessageHead) + at::message_bytes(options.type)) {}

Source::Counts ItchRows::counts() const {
    auto counts = messages_.counts();
    if (options_.type != 0) return counts;
    counts.emplace_back("orders_unknown", unknown_);
    counts.emplace_back("orders_inconsistent", inconsistent_);
    counts.emplace_back("orders_refused", refused_);
    return counts;
}

void ItchRows::take(const ItchMessage& message) {
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
                     .channel = message.channel,
                     .reserved = 0};
    if (options_.type == 0) return take_order_message(channel, message, head);
    if (type != options_.type || !admits(head)) return;
    append(rows_, std::as_bytes(std::span{&head, 1}));
    append(rows_, message.bytes);
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
    const auto place = stock_at(type);
    std::string symbol;
    if (place != 0) {
        symbol.assign(reinterpret_cast<const char*>(message) + place, at::kStockBytes);
        symbol.erase(symbol.find_last_not_of(' ') + 1);
    }
    // A file that begins within the day may change orders of stocks that it does not name.
    if (symbol.empty()) symbol = "#" + std::to_string(locate);
    const auto [found, added] = by_name_.try_emplace(symbol, static_cast<feed::InstrumentId>(names_.size()));
    if (added) names_.push_back(symbol);
    if (place == 0) return found->second;  // a later message may name it
    return instrument = found->second;
}

void ItchRows::take_order_message(Channel& channel, const ItchMessage& message, MessageHead& head) {
    const auto* const bytes = message.bytes.data();
    if (!channel.orders) channel.orders = std::make_unique<feed::OrderStore>(kFirstOrders);
    if (message.follows_loss) channel.incomplete = true;
    const auto type = static_cast<char>(bytes[0]);
    const bool begins = type == 'S' && static_cast<char>(bytes[at::system_event::kEventAt]) == 'O';
    if (begins || message.new_session) {
        channel.incomplete = message.follows_loss;
        if (channel.orders->size() != 0 || begins) {
            auto every = head;
            every.instrument = feed::kNoInstrument;
            put(channel, every, {'R', 'N', 0, 0}, true);
        }
        channel.orders->clear();
    }
    switch (type) {
        case 'A':
        case 'F': return add_order(channel, message, head);
        case 'E':
        case 'C':
        case 'X':
        case 'D':
        case 'U': return take_from_order(channel, message, head);
        case 'P':
            return put(channel, head,
                       {'T', 'N', 0, u32(bytes + at::hidden_trade::kSharesAt), u32(bytes + at::hidden_trade::kPriceAt)},
                       true);
        case 'Q': {
            const auto shares = u64(bytes + at::cross::kSharesAt);
            if (shares == 0) return;  // a cross without executions
            return put(channel, head, {'T', 'N', 0, shares, u32(bytes + at::cross::kPriceAt)}, true);
        }
        default: return;
    }
}

void ItchRows::add_order(Channel& channel, const ItchMessage& message, const MessageHead& head) {
    const auto* const bytes = message.bytes.data();
    const auto side = static_cast<char>(bytes[at::order_added::kSideAt]);
    if (side != 'B' && side != 'S') return note(channel, message, feed::ItchFault::invalid);
    const feed::OrderStore::Order order{
        u64(bytes + at::order_added::kOrderAt),        u32(bytes + at::order_added::kPriceAt),
        u32(bytes + at::order_added::kSharesAt),       0,
        load_be<std::uint16_t>(bytes + at::kLocateAt), side == 'B'};
    if (!keep(channel, message, order)) return;
    put(channel, head, {'A', side_of(order.is_bid), order.number, order.shares, order.price}, true);
}

bool ItchRows::keep(Channel& channel, const ItchMessage& message, const feed::OrderStore::Order& order) {
    auto& orders = *channel.orders;
    if (order.shares == 0) {
        note(channel, message, feed::ItchFault::invalid);
        return false;
    }
    if (orders.find(order.number) != nullptr) {
        note(channel, message, feed::ItchFault::inconsistent);
        return false;
    }
    const bool full = orders.size() == orders.capacity();
    const bool grown = !full || (orders.capacity() < kMostOrders && orders.try_grow(2 * orders.capacity()));
    if (!grown || !orders.put(order)) note(channel, message, feed::ItchFault::refused);
    return true;
}

void ItchRows::note(Channel& channel, const ItchMessage& message, feed::ItchFault fault) {
    channel.incomplete = true;
    switch (fault) {
        case feed::ItchFault::unknown_order: ++unknown_; break;
        case feed::ItchFault::refused: ++refused_; break;
        case feed::ItchFault::invalid:
        case feed::ItchFault::inconsistent: ++inconsistent_;
    }
    messages_.note(message, fault);
}

void ItchRows::take_from_order(Channel& channel, const ItchMessage& message, MessageHead& head) {
    const auto* const bytes = message.bytes.data();
    const auto type = static_cast<char>(bytes[0]);
    const auto number = u64(bytes + at::order_added::kOrderAt);
    auto* const order = channel.orders->find(number);
    if (order == nullptr) return note(channel, message, feed::ItchFault::unknown_order);
    const bool executed = type == 'E' || type == 'C';
    const bool partly = executed || type == 'X';
    const auto asked = partly ? u32(bytes + at::order_executed::kSharesAt) : order->shares;
    if (asked > order->shares) note(channel, message, feed::ItchFault::inconsistent);
    const auto taken = std::min(asked, order->shares);
    const auto is_bid = order->is_bid;
    const auto price = order->price;
    const auto locate = order->book;
    if (locate < channel.instruments.size() && channel.instruments[locate] != feed::kNoInstrument)
        head.instrument = channel.instruments[locate];
    order->shares -= taken;
    if (order->shares == 0) channel.orders->erase(order);
    if (executed) {
        const bool priced = type == 'C';
        const auto paid = priced ? u32(bytes + at::order_executed::kPriceAt) : price;
        const bool printed = !priced || static_cast<char>(bytes[at::order_executed::kPrintableAt]) != 'N';
        if (printed) put(channel, head, {'T', opposite(is_bid), 0, taken, paid}, false);
        put(channel, head, {'F', side_of(is_bid), number, taken, paid}, false);
    }
    put(channel, head, {'C', side_of(is_bid), number, taken, price}, type != 'U');
    if (type != 'U') return;
    const feed::OrderStore::Order next{u64(bytes + at::order_replaced::kNewOrderAt),
                                       u32(bytes + at::order_replaced::kPriceAt),
                                       u32(bytes + at::order_replaced::kSharesAt),
                                       0,
                                       locate,
                                       is_bid};
    if (!keep(channel, message, next)) return;
    put(channel, head, {'A', side_of(is_bid), next.number, next.shares, next.price}, true);
}

void ItchRows::put(const Channel& channel, const MessageHead& head, const Step& step, bool last) {
    if (!admits(head)) return;
    PriceBits price = kNoPrice;
    if (options_.mantissa) {
        if (step.price) price = *step.price;
    } else {
        const auto whole = step.price ? static_cast<double>(*step.price) / static_cast<double>(feed::kPriceScale)
                                      : std::numeric_limits<double>::quiet_NaN();
        price = std::bit_cast<PriceBits>(whole);
    }
    const OrderRow row{.ts_recv = head.ts_recv,
                       .ts_event = head.ts_event,
                       .number = head.number,
                       .order_id = step.order,
                       .price = price,
                       .size = step.shares,
                       .instrument = head.instrument,
                       .channel = head.channel,
                       .flags = static_cast<std::uint16_t>((channel.incomplete ? kIncomplete : 0) | (last ? kLast : 0)),
                       .action = step.action,
                       .side = step.side,
                       .reserved = {}};
    append(rows_, std::as_bytes(std::span{&row, 1}));
}

}  // namespace millpond::python
