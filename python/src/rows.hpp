#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/event_schema.hpp>
#include <millpond/journal/layout.hpp>

#include "pages.hpp"

/// The tables that Python sees, made from the events' schemas: numpy views the bytes of the rows, and Arrow gets an
/// array for each column.
namespace millpond::python {

inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();  ///< numpy's NaT.

/// A feed::Price, or the bits of a double in whole units, as the reader asked for.
using PriceBits = std::int64_t;

/// The cell of a price, or of its absence. The double is the nearest one.
[[nodiscard]] inline PriceBits price_cell(feed::Price price, bool nanos) noexcept {
    if (nanos) return price;
    return std::bit_cast<PriceBits>(price == feed::kNoPrice ? std::numeric_limits<double>::quiet_NaN()
                                                            : feed::nearest_double(price));
}

enum class ColumnKind : std::uint8_t {
    time,      ///< Nanoseconds UTC; kNoTime is none.
    price,     ///< feed::kNoPrice, or NaN, is none. As integers, its name has the ending `_nanos`.
    size,      ///< Signed, as differences of sizes are.
    number64,  ///< Unsigned, as the next ones.
    number32,
    number16,
    instrument,  ///< A 32-bit number; in Arrow venue and symbol precede it.
    text,        ///< Column::bytes characters of Latin-1, padded with zeros.
};

struct Column {
    std::string_view name;
    ColumnKind kind;
    std::size_t bytes;
    std::size_t offset;

    /// The name that Python sees.
    [[nodiscard]] std::string shown_name(bool nanos) const {
        return std::string{name} + (nanos && kind == ColumnKind::price ? "_nanos" : "");
    }
};

struct Table {
    std::string_view name;
    std::size_t row_bytes;
    std::span<const Column> columns;
};

namespace detail {

template <class Event, std::size_t I>
consteval Column column_of() {
    constexpr const auto& kField = std::get<I>(feed::EventSchema<Event>::kFields);
    using Value = std::remove_cvref_t<decltype(kField.of(std::declval<const Event&>()))>;
    using enum feed::Unit;
    switch (kField.unit) {
        case receive_time:
        case exchange_time: return {kField.column, ColumnKind::time, 8, 0};
        case price: return {kField.column, ColumnKind::price, 8, 0};
        case size: return {kField.column, ColumnKind::size, 8, 0};
        case instrument: return {kField.column, ColumnKind::instrument, 4, 0};
        default: break;
    }
    if constexpr (std::is_class_v<Value>) return {kField.column, ColumnKind::text, sizeof(Value), 0};
    // Enumerations have 16 bits, however many they have in the event.
    if constexpr (std::is_same_v<Value, std::uint32_t>) return {kField.column, ColumnKind::number32, 4, 0};
    return sizeof(Value) == 8 ? Column{kField.column, ColumnKind::number64, 8, 0}
                              : Column{kField.column, ColumnKind::number16, 2, 0};
}

}  // namespace detail

/// The row of an event: the cells of 8 bytes first, then the smaller ones, both in the order of its schema. `number`
/// follows the times; a LostRecord has none.
template <class Event>
struct RowLayout {
    static constexpr std::size_t kFields = std::tuple_size_v<decltype(feed::EventSchema<Event>::kFields)>;
    static constexpr bool kHasNumber = requires { Event::kKind; };

    std::array<Column, kFields + 1> columns{};
    std::size_t count{0};
    std::array<std::size_t, kFields> offsets{};  ///< Offset of each field.
    std::size_t number{0};                       ///< Offset of `number`.
    std::size_t bytes{0};

    consteval RowLayout() {
        const auto append = [this](Column column) {
            column.offset = bytes;
            columns[count++] = column;
            bytes += column.bytes;
            return column.offset;
        };
        for (const bool wide : {true, false}) {
            feed::for_each_field<Event>([&]<std::size_t I>() {
                constexpr auto kColumn = detail::column_of<Event, I>();
                if (!kColumn.name.empty() && (kColumn.bytes == 8) == wide) offsets[I] = append(kColumn);
                if (kHasNumber && wide && I == feed::kLastTime<Event>)
                    number = append({"number", ColumnKind::number64, 8, 0});
            });
        }
        bytes = (bytes + 7) / 8 * 8;
    }
};
template <class Event>
inline constexpr RowLayout<Event> kRowLayout{};

template <class Event>
struct alignas(8) Row {
    std::array<std::byte, kRowLayout<Event>.bytes> cells;
};

template <class Event>
using RowVector = std::vector<Row<Event>, PageAllocator<Row<Event>>>;

/// The events that have tables, in the order of the tables.
using TableEvents =
    feed::EventList<feed::Quote, feed::Trade, feed::TradeBreak, feed::Status, feed::Gap, feed::Clear, feed::Order,
                    feed::Level, feed::Imbalance, feed::Band, feed::Definition, feed::BestVenues, journal::LostRecord>;
inline constexpr std::size_t kTables = 13;

template <class Event>
inline constexpr std::size_t kTableIndex = [] {
    std::size_t index = 0;
    std::size_t found = 0;
    TableEvents::for_each([&]<class Each>() {
        if (std::is_same_v<Each, Event>) found = index;
        ++index;
    });
    return found;
}();

[[nodiscard]] std::span<const Table, kTables> tables() noexcept;

/// A batch: rows of each table, in the order in which they came.
class Rows {
public:
    template <class Event>
    [[nodiscard]] RowVector<Event>& of() noexcept {
        return std::get<RowVector<Event>>(vectors_);
    }
    [[nodiscard]] std::size_t size() const noexcept {
        return std::apply([](const auto&... rows) { return (rows.size() + ...); }, vectors_);
    }
    /// Calls visit(index, vector) for each table.
    template <class Visitor>
    void visit(Visitor&& visitor) {
        TableEvents::for_each([&]<class Event>() { visitor(kTableIndex<Event>, of<Event>()); });
    }

private:
    template <class>
    struct Vectors;
    template <class... Event>
    struct Vectors<feed::EventList<Event...>> {
        using Tuple = std::tuple<RowVector<Event>...>;
    };

    Vectors<TableEvents>::Tuple vectors_;
};

}  // namespace millpond::python
