#include "itch_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>

#include "collector.hpp"

namespace millpond::python {
namespace {

namespace at = feed::itch_layout;

enum class FieldKind : std::uint8_t {
    text,    ///< Padded with spaces.
    number,  ///< Unsigned.
    size,    ///< Unsigned; signed in rows, since differences of sizes are signed.
    price,   ///< In 1/10000.
    level,   ///< A price in 1/10^8.
};
constexpr std::int64_t kLevelScale = 100'000'000;

/// A field after the 11 bytes that all messages have.
struct Field {
    std::string_view name;
    FieldKind kind;
    std::size_t bytes;
};
using enum FieldKind;

// clang-format off
constexpr Field kFieldsS[] = {{"event", text, 1}};
constexpr Field kFieldsR[] = {{"stock", text, 8}, {"market_category", text, 1}, {"financial_status", text, 1},
    {"round_lot_size", size, 4}, {"round_lots_only", text, 1}, {"classification", text, 1}, {"subtype", text, 2},
    {"authenticity", text, 1}, {"short_sale_threshold", text, 1}, {"ipo", text, 1}, {"luld_tier", text, 1},
    {"etp", text, 1}, {"etp_leverage", number, 4}, {"inverse", text, 1}};
constexpr Field kFieldsH[] = {{"stock", text, 8}, {"state", text, 1}, {"reserved", text, 1}, {"reason", text, 4}};
constexpr Field kFieldsY[] = {{"stock", text, 8}, {"reg_sho_action", text, 1}};
constexpr Field kFieldsL[] = {{"mpid", text, 4}, {"stock", text, 8}, {"primary_market_maker", text, 1},
    {"mode", text, 1}, {"state", text, 1}};
constexpr Field kFieldsV[] = {{"level_1", level, 8}, {"level_2", level, 8}, {"level_3", level, 8}};
constexpr Field kFieldsW[] = {{"level", text, 1}};
constexpr Field kFieldsK[] = {{"stock", text, 8}, {"release_time", number, 4}, {"qualifier", text, 1},
    {"price", price, 4}};
constexpr Field kFieldsJ[] = {{"stock", text, 8}, {"reference_price", price, 4}, {"upper_price", price, 4},
    {"lower_price", price, 4}, {"extension", number, 4}};
constexpr Field kFieldsLowerH[] = {{"stock", text, 8}, {"market", text, 1}, {"action", text, 1}};
constexpr Field kFieldsA[] = {{"order_id", number, 8}, {"side", text, 1}, {"size", size, 4}, {"stock", text, 8},
    {"price", price, 4}};
constexpr Field kFieldsF[] = {{"order_id", number, 8}, {"side", text, 1}, {"size", size, 4}, {"stock", text, 8},
    {"price", price, 4}, {"mpid", text, 4}};
constexpr Field kFieldsE[] = {{"order_id", number, 8}, {"size", size, 4}, {"match_id", number, 8}};
constexpr Field kFieldsC[] = {{"order_id", number, 8}, {"size", size, 4}, {"match_id", number, 8},
    {"printable", text, 1}, {"price", price, 4}};
constexpr Field kFieldsX[] = {{"order_id", number, 8}, {"size", size, 4}};
constexpr Field kFieldsD[] = {{"order_id", number, 8}};
constexpr Field kFieldsU[] = {{"order_id", number, 8}, {"new_order_id", number, 8}, {"size", size, 4},
    {"price", price, 4}};
constexpr Field kFieldsP[] = {{"order_id", number, 8}, {"side", text, 1}, {"size", size, 4}, {"stock", text, 8},
    {"price", price, 4}, {"match_id", number, 8}};
constexpr Field kFieldsQ[] = {{"size", size, 8}, {"stock", text, 8}, {"price", price, 4}, {"match_id", number, 8},
    {"cross_type", text, 1}};
constexpr Field kFieldsB[] = {{"match_id", number, 8}};
constexpr Field kFieldsI[] = {{"paired_size", size, 8}, {"imbalance_size", size, 8}, {"direction", text, 1},
    {"stock", text, 8}, {"far_price", price, 4}, {"near_price", price, 4}, {"reference_price", price, 4},
    {"cross_type", text, 1}, {"price_variation", text, 1}};
constexpr Field kFieldsN[] = {{"stock", text, 8}, {"interest", text, 1}};
constexpr Field kFieldsO[] = {{"stock", text, 8}, {"open_eligibility", text, 1}, {"min_price", price, 4},
    {"max_price", price, 4}, {"near_price", price, 4}, {"near_time", number, 8}, {"lower_price", price, 4},
    {"upper_price", price, 4}};

struct Message {
    char type;
    std::span<const Field> fields;
};
constexpr Message kMessages[] = {{'S', kFieldsS}, {'R', kFieldsR}, {'H', kFieldsH}, {'Y', kFieldsY}, {'L', kFieldsL},
    {'V', kFieldsV}, {'W', kFieldsW}, {'K', kFieldsK}, {'J', kFieldsJ}, {'h', kFieldsLowerH}, {'A', kFieldsA},
    {'F', kFieldsF}, {'E', kFieldsE}, {'C', kFieldsC}, {'X', kFieldsX}, {'D', kFieldsD}, {'U', kFieldsU},
    {'P', kFieldsP}, {'Q', kFieldsQ}, {'B', kFieldsB}, {'I', kFieldsI}, {'N', kFieldsN}, {'O', kFieldsO}};
// clang-format on
constexpr std::size_t kTypes = std::size(kMessages);
constexpr std::size_t kBodyAt = 11;
static_assert(std::ranges::all_of(kMessages, [](const Message& message) {
    std::size_t bytes = kBodyAt;
    for (const auto& field : message.fields) bytes += field.bytes;
    return bytes == at::message_bytes(message.type);
}));

constexpr std::array<char, kTypes> kLetters = [] {
    std::array<char, kTypes> letters{};
    std::ranges::transform(kMessages, letters.begin(), &Message::type);
    return letters;
}();

Column column_of(const Field& field) {
    switch (field.kind) {
        case text: return {field.name, ColumnKind::text, field.bytes, 0};
        case number:
            return {field.name, field.bytes == 8 ? ColumnKind::number64 : ColumnKind::number32, field.bytes, 0};
        case FieldKind::size: return {field.name, ColumnKind::size, 8, 0};
        case price:
        case level: return {field.name, ColumnKind::price, 8, 0};
    }
    return {};
}

/// Columns one after the other, without padding.
struct Layout {
    std::vector<Column> columns;
    Table table{};

    void append(Column column) {
        column.offset = table.row_bytes;
        table.row_bytes += column.bytes;
        columns.push_back(column);
    }
    void end() { table.columns = columns; }
};

Layout layout_of(const Message& message) {
    using enum ColumnKind;
    Layout layout;
    layout.append({"ts_recv", time, 8, 0});
    layout.append({"ts_event", time, 8, 0});
    layout.append({"number", number64, 8, 0});
    layout.append({"instrument_id", instrument, 4, 0});
    layout.append({"channel", number16, 2, 0});
    layout.append({"stock_locate", number16, 2, 0});
    layout.append({"tracking", number16, 2, 0});
    for (const auto& field : message.fields) layout.append(column_of(field));
    layout.table.name = {&message.type, 1};
    layout.end();
    return layout;
}

Layout layout_of_orders() {
    using enum ColumnKind;
    Layout layout;
    layout.columns = {{"ts_recv", time, 8, offsetof(OrderRow, ts_recv)},
                      {"ts_event", time, 8, offsetof(OrderRow, ts_event)},
                      {"number", number64, 8, offsetof(OrderRow, number)},
                      {"order_id", number64, 8, offsetof(OrderRow, order_id)},
                      {"price", ColumnKind::price, 8, offsetof(OrderRow, price)},
                      {"size", ColumnKind::size, 8, offsetof(OrderRow, size)},
                      {"instrument_id", instrument, 4, offsetof(OrderRow, instrument)},
                      {"channel", number16, 2, offsetof(OrderRow, channel)},
                      {"flags", number16, 2, offsetof(OrderRow, flags)},
                      {"action", ColumnKind::text, 1, offsetof(OrderRow, action)},
                      {"side", ColumnKind::text, 1, offsetof(OrderRow, side)}};
    layout.table = {.name = "orders", .row_bytes = kOrderRowBytes, .columns = {}};
    layout.end();
    return layout;
}

/// An unsigned number of 4 or 8 bytes.
std::uint64_t number_of(const std::byte* place, std::size_t bytes) noexcept {
    return bytes == 8 ? core::load_be<std::uint64_t>(place) : core::load_be<std::uint32_t>(place);
}

/// A level that is larger than any price is none.
feed::Price level_of(std::uint64_t value) noexcept {
    constexpr std::uint64_t kNanos = feed::kPriceScale / kLevelScale;
    return value <= feed::kMaxPrice / kNanos ? static_cast<feed::Price>(value * kNanos) : feed::kNoPrice;
}

template <class Cell>
std::byte* put_cell(std::byte* out, Cell cell) noexcept {
    std::memcpy(out, &cell, sizeof cell);
    return out + sizeof cell;
}

std::byte* put_field(std::byte* out, const Field& field, const std::byte* place, bool nanos) noexcept {
    switch (field.kind) {
        case text: {
            auto end = field.bytes;
            while (end != 0 && place[end - 1] == std::byte{' '}) --end;
            std::memcpy(out, place, end);
            std::memset(out + end, 0, field.bytes - end);
            return out + field.bytes;
        }
        case number:
            return field.bytes == 8 ? put_cell(out, core::load_be<std::uint64_t>(place))
                                    : put_cell(out, core::load_be<std::uint32_t>(place));
        case FieldKind::size: return put_cell(out, Collector::size(number_of(place, field.bytes)));
        case price:
            return put_cell(out,
                            price_cell(feed::price_from<at::kVenueScale>(core::load_be<std::uint32_t>(place)), nanos));
        case level: return put_cell(out, price_cell(level_of(core::load_be<std::uint64_t>(place)), nanos));
    }
    return out;
}

std::size_t index_of(char type) noexcept { return itch_types().find(type); }

}  // namespace

std::string_view itch_types() noexcept { return {kLetters.data(), kLetters.size()}; }

const Table& itch_table(char type) {
    static const auto orders = layout_of_orders();
    static const auto messages = [] {
        std::array<Layout, kTypes> all;
        std::ranges::transform(kMessages, all.begin(), layout_of);
        return all;
    }();
    return type == 0 ? orders.table : messages[index_of(type)].table;
}

void append_message(std::vector<std::byte>& rows, const MessageHead& head, std::span<const std::byte> message,
                    bool nanos) {
    const auto type = static_cast<char>(message[0]);
    const auto before = rows.size();
    rows.resize(before + itch_table(type).row_bytes);
    auto* out = rows.data() + before;
    out = put_cell(out, head.ts_recv);
    out = put_cell(out, head.ts_event);
    out = put_cell(out, head.number);
    out = put_cell(out, head.instrument);
    out = put_cell(out, head.channel);
    out = put_cell(out, core::load_be<std::uint16_t>(&message[at::kLocateAt]));
    out = put_cell(out, core::load_be<std::uint16_t>(&message[at::kLocateAt + 2]));
    const auto* place = message.data() + kBodyAt;
    for (const auto& field : kMessages[index_of(type)].fields) {
        out = put_field(out, field, place, nanos);
        place += field.bytes;
    }
}

}  // namespace millpond::python
