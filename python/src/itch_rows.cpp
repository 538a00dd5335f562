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

/// Where a message of that type names its stock; 0: nowhere.
std::size_t stock_at(char type) noexcept {
    switch (type) {
        case 'A':
        case 'F': return at::order_added::kStockAt;
        case 'P': return at::hidden_trade::kStockAt;
        case 'Q': return at::cross::kStockAt;
        case 'R':
        case 'H':
        case 'h':
        case 'Y':
        case 'K':
        case 'J':
        case 'N':
        case 'O': return at::directory::kStockAt;
        case 'L': return 15;
        case 'I': return 28;
        default: return 0;
    }
}

bool concerns_every_stock(char type) noexcept { return type == 'S' || type == 'V' || type == 'W'; }

constexpr std::size_t kFirstOrders = 4'096;
constexpr std::size_t kMostOrders = std::size_t{1} << 23U;

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
        case 'F':
            return add_order(channel, bytes, head, u64(bytes + at::order_added::kOrderAt),
                             static_cast<char>(bytes[at::order_added::kSideAt]) == 'B',
                             u32(bytes + at::order_added::kSharesAt), u32(bytes + at::order_added::kPriceAt));
        case 'E':
        case 'C':
        case 'X':
        case 'D':
        case 'U': return take_from_order(channel, bytes, head);
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

void ItchRows::add_order(Channel& channel, const std::byte* bytes, const MessageHead& head, std::uint64_t number,
                         bool is_bid, std::uint32_t shares, std::uint32_t price) {
    if (shares == 0 || channel.orders->find(number) != nullptr) {
        ++inconsistent_;
        channel.incomplete = true;
        return;
    }
    const auto locate = load_be<std::uint16_t>(bytes + at::kLocateAt);
    keep(channel, {number, price, shares, 0, locate, is_bid});
    put(channel, head, {'A', side_of(is_bid), number, shares, price}, true);
}

void ItchRows::keep(Channel& channel, const feed::OrderStore::Order& order) {
    auto& orders = *channel.orders;
    const bool full = orders.size() == orders.capacity();
    const bool grown = !full || (orders.capacity() < kMostOrders && orders.try_grow(2 * orders.capacity()));
    if (grown && orders.put(order)) return;
    ++refused_;
    channel.incomplete = true;
}

void ItchRows::take_from_order(Channel& channel, const std::byte* bytes, MessageHead& head) {
    const auto type = static_cast<char>(bytes[0]);
    const auto number = u64(bytes + at::order_added::kOrderAt);
    auto* const order = channel.orders->find(number);
    if (order == nullptr) {
        ++unknown_;
        channel.incomplete = true;
        return;
    }
    const bool executed = type == 'E' || type == 'C';
    const bool partly = executed || type == 'X';
    const auto asked = partly ? u32(bytes + at::order_executed::kSharesAt) : order->shares;
    if (asked > order->shares) {
        ++inconsistent_;
        channel.incomplete = true;
    }
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
    const auto shares = u32(bytes + at::order_replaced::kSharesAt);
    const auto next = u64(bytes + at::order_replaced::kNewOrderAt);
    if (shares == 0 || channel.orders->find(next) != nullptr) {
        ++inconsistent_;
        channel.incomplete = true;
        return;
    }
    keep(channel, {next, u32(bytes + at::order_replaced::kPriceAt), shares, 0, locate, is_bid});
    put(channel, head, {'A', side_of(is_bid), next, shares, u32(bytes + at::order_replaced::kPriceAt)}, true);
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
