#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/market/book.hpp>

#include "arrays.hpp"
#include "in_use.hpp"
#include "parts.hpp"
#include "rows.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

using RowBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The cells of one row of an event's table, by their columns.
template <class Event>
class RowView {
public:
    RowView(const std::byte* row, bool nanos) : row_(row), nanos_(nanos) {}

    template <class Value>
    [[nodiscard]] Value get(std::size_t offset) const noexcept {
        Value value;
        std::memcpy(&value, row_ + offset, sizeof value);
        return value;
    }
    [[nodiscard]] std::uint64_t number() const noexcept { return get<std::uint64_t>(kRowLayout<Event>.number); }
    /// Receive time, or exchange time if there is none.
    [[nodiscard]] std::int64_t time() const noexcept {
        const auto receive = get<std::int64_t>(offset_of("ts_recv"));
        if constexpr (requires(Event event) { event.exchange_utc_ns; }) {
            if (receive == kNoTime) return get<std::int64_t>(offset_of("ts_event"));
        }
        return receive;
    }
    [[nodiscard]] feed::Price price() const {
        const auto cell = get<PriceBits>(offset_of("price"));
        if (nanos_) return cell;
        // Up to there the price that is nearest to the double is the one that the double was made of.
        constexpr double kMost = 2'000'000;
        const auto price = std::bit_cast<double>(cell);
        if (!(std::abs(price) <= kMost))
            throw std::invalid_argument("price " + std::to_string(price) +
                                        " is not in -2000000..2000000: use prices=\"nanos\"");
        return std::llround(price * static_cast<double>(feed::kPriceScale));
    }

    /// The largest cell stands for all larger sizes too, of which no sum is exact: it is the size that no sum holds.
    [[nodiscard]] std::uint64_t size(std::size_t offset) const noexcept {
        const auto cell = get<std::int64_t>(offset);
        return cell == std::numeric_limits<std::int64_t>::max() ? std::numeric_limits<std::uint64_t>::max()
                                                                : static_cast<std::uint64_t>(cell);
    }

    static consteval std::size_t offset_of(std::string_view name) {
        const auto& layout = kRowLayout<Event>;
        for (std::size_t i = 0; i < layout.count; ++i) {
            if (layout.columns[i].name == name) return layout.columns[i].offset;
        }
        throw std::invalid_argument("no such column");
    }
    /// The members of all events of instruments or channels that rows have.
    [[nodiscard]] Event event() const noexcept {
        Event event;
        if constexpr (requires { event.instrument; })
            event.instrument = get<feed::InstrumentId>(offset_of("instrument_id"));
        event.channel = get<std::uint16_t>(offset_of("channel"));
        if constexpr (requires { event.flags; }) event.flags = get<std::uint16_t>(offset_of("flags"));
        return event;
    }

private:
    const std::byte* row_;
    bool nanos_;
};

feed::Order order_of(const RowView<feed::Order>& row) {
    using View = RowView<feed::Order>;
    auto order = row.event();
    order.action = static_cast<feed::OrderAction>(row.get<std::uint16_t>(View::offset_of("action")));
    order.side = static_cast<feed::Side>(row.get<std::uint16_t>(View::offset_of("side")));
    order.order_id = row.get<std::uint64_t>(View::offset_of("order_id"));
    order.price = row.price();
    order.size = row.size(View::offset_of("size"));
    order.size_left = row.size(View::offset_of("size_left"));
    return order;
}

feed::Level level_of(const RowView<feed::Level>& row) {
    using View = RowView<feed::Level>;
    auto level = row.event();
    level.side = static_cast<feed::Side>(row.get<std::uint16_t>(View::offset_of("side")));
    level.price = row.price();
    level.size = row.size(View::offset_of("size"));
    level.orders = row.get<std::uint32_t>(View::offset_of("count"));
    return level;
}

/// The book of one instrument, made of rows.
///
/// Threads: one at a time.
class RowBook {
public:
    /// Channel of rows of JSON lines, which name none and have no flags that end groups in quotes and trades.
    static constexpr std::uint16_t kNoChannel = 0xFFFF;

    RowBook(std::optional<feed::InstrumentId> instrument, const market::Book::Options& options, bool nanos)
        : book_(options), instrument_(instrument), is_given_(instrument.has_value()), nanos_(nanos) {}

    /// Applies the rows from `positions` on, in the order of their numbers, up to the first one whose time is not below
    /// `until`. Returns the positions of the rows that are left.
    std::vector<std::size_t> apply(const std::vector<RowBytes>& tables, const std::vector<std::size_t>& positions,
                                   std::optional<std::int64_t> until) {
        if (tables.size() != kTables || positions.size() != kTables)
            throw std::invalid_argument("tables: must be those of a batch");
        Cursors cursors{};
        TableEvents::for_each([&]<class Event>() {
            constexpr auto kTable = kTableIndex<Event>;
            const auto bytes = tables[kTable].size();
            if (bytes % sizeof(Row<Event>) != 0) throw std::invalid_argument("tables: rows of another table");
            auto& cursor = cursors[kTable];
            cursor.rows = reinterpret_cast<const std::byte*>(tables[kTable].data());
            cursor.count = bytes / sizeof(Row<Event>);
            cursor.position = positions[kTable];
            skip<Event>(cursor);
        });
        while (apply_next(cursors, until)) {
        }
        std::vector<std::size_t> left;
        for (const auto& cursor : cursors) left.push_back(cursor.position);
        return left;
    }

    void miss() noexcept { book_.apply(queue::MissedRange{}); }
    [[nodiscard]] const market::Book& book() const noexcept { return book_; }
    [[nodiscard]] bool nanos() const noexcept { return nanos_; }
    [[nodiscard]] std::optional<feed::InstrumentId> instrument() const noexcept { return instrument_; }
    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return in_use_; }

private:
    struct Cursor {
        const std::byte* rows{nullptr};
        std::size_t count{0};
        std::size_t position{0};
        std::uint64_t number{0};  // of the next row
        std::int64_t time{0};
        bool is_at_end{true};
    };
    using Cursors = std::array<Cursor, kTables>;
    template <class Event>
    static constexpr bool kIsNeeded =
        requires(market::Book& book, const Event& event) { book.apply(event); } || std::is_same_v<Event, feed::Status>;

    template <class Event>
    [[nodiscard]] RowView<Event> view(const Cursor& cursor) const noexcept {
        return {cursor.rows + cursor.position * sizeof(Row<Event>), nanos_};
    }

    /// Skips rows that the book does not need.
    template <class Event>
    void skip(Cursor& cursor) {
        if constexpr (!kIsNeeded<Event>) {
            cursor.position = cursor.count;
        } else {
            for (; cursor.position < cursor.count; ++cursor.position) {
                const auto row = view<Event>(cursor);
                if (!concerns(row.event())) continue;
                cursor.number = row.number();
                cursor.time = row.time();
                break;
            }
        }
        cursor.is_at_end = cursor.position >= cursor.count;
    }

    template <class Event>
    [[nodiscard]] bool concerns(const Event& event) {
        if constexpr (requires { event.instrument; }) {
            if (event.instrument != feed::kNoInstrument) return is_own(event.instrument);
        }
        return !channel_ || *channel_ == event.channel;
    }
    [[nodiscard]] bool is_own(feed::InstrumentId id) {
        if (!instrument_) instrument_ = id;
        if (*instrument_ == id) return true;
        if (is_given_) return false;
        throw std::invalid_argument("rows of the instruments " + std::to_string(*instrument_) + " and " +
                                    std::to_string(id) + ": the book needs an instrument_id");
    }

    /// Applies the row with the lowest number. False if there is none before `until`.
    bool apply_next(Cursors& cursors, std::optional<std::int64_t> until) {
        const Cursor* next = nullptr;
        for (const auto& cursor : cursors) {
            if (!cursor.is_at_end && (next == nullptr || cursor.number < next->number)) next = &cursor;
        }
        if (next == nullptr) return false;
        if (until && next->time != kNoTime && next->time >= *until) return false;
        TableEvents::for_each([&]<class Event>() {
            auto& cursor = cursors[kTableIndex<Event>];
            if (&cursor != next) return;
            if constexpr (kIsNeeded<Event>) {
                const auto row = view<Event>(cursor);
                if (concerns(row.event())) apply_row(row);  // the channel may be known by now
            }
            ++cursor.position;
            skip<Event>(cursor);
        });
        return true;
    }

    void apply_row(const RowView<feed::Order>& row) { apply_own(order_of(row)); }
    void apply_row(const RowView<feed::Level>& row) { apply_own(level_of(row)); }
    template <class Event>
    void apply_row(const RowView<Event>& row) {
        if constexpr (std::is_same_v<Event, feed::Clear>) {
            auto clear = row.event();
            if (clear.instrument != feed::kNoInstrument) {
                note_channel(clear.channel);
            } else if (!channel_) {
                clear.flags |= feed::kIncomplete;  // it may be of another channel
            }
            book_.apply(clear);
        } else if constexpr (std::is_same_v<Event, feed::Status>) {
            if (row.event().instrument != feed::kNoInstrument) note_channel(row.event().channel);
        } else if constexpr (requires { book_.apply(row.event()); }) {
            if constexpr (requires { row.event().instrument; }) {
                apply_follower(row.event());
            } else {
                book_.apply(row.event());
            }
        }
    }
    template <class Event>
    void apply_own(const Event& event) {
        note_channel(event.channel);
        book_.apply(event);
    }
    /// A quote or trade.
    template <class Event>
    void apply_follower(Event event) {
        note_channel(event.channel);
        if (event.channel == kNoChannel) {
            if ((event.flags & feed::kIncomplete) == 0) return;
            event.flags |= feed::kLast;
        }
        book_.apply(event);
    }
    void note_channel(std::uint16_t channel) noexcept {
        if (!channel_ && channel != kNoChannel) channel_ = channel;
    }

    market::Book book_;
    std::optional<feed::InstrumentId> instrument_;
    std::optional<std::uint16_t> channel_;
    bool is_given_;
    bool nanos_;
    std::atomic<bool> in_use_{false};
};

struct LevelCells {
    PriceBits price;
    std::int64_t size;
    std::uint32_t count;
    std::uint32_t unused{0};
};
struct OrderCells {
    std::uint64_t order_id;
    PriceBits price;
    std::int64_t size;
};

std::int64_t size_cell(std::uint64_t size) noexcept {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(size, kMost));
}

market::Book::Levels levels_of(const RowBook& book, bool is_bid) {
    return is_bid ? book.book().bids() : book.book().asks();
}

/// Rows of the levels of a side, the best first.
ByteArray levels(RowBook& book, bool is_bid) {
    const InUse guard{book.in_use()};
    std::vector<LevelCells> rows;
    for (const auto& level : levels_of(book, is_bid)) {
        rows.push_back({price_cell(level.price, book.nanos()), size_cell(level.size), level.orders});
    }
    return to_bytes(std::move(rows));
}

/// Rows of the orders of these levels, in the order of their priority.
ByteArray orders(RowBook& book, bool is_bid) {
    const InUse guard{book.in_use()};
    std::vector<OrderCells> rows;
    for (const auto& level : levels_of(book, is_bid)) {
        book.book().visit_orders(level, [&](const market::Book::Order& order) {
            rows.push_back({order.id, price_cell(order.price, book.nanos()), size_cell(order.size)});
        });
    }
    return to_bytes(std::move(rows));
}

nb::typed<nb::dict, nb::str, std::uint64_t> faults(RowBook& book) {
    const auto& found = book.book().faults();
    nb::dict all;
    all["marked"] = found.marked;
    all["gaps"] = found.gaps;
    all["missed"] = found.missed;
    all["refused_levels"] = found.refused_levels;
    all["refused_orders"] = found.refused_orders;
    all["unknown_orders"] = found.unknown_orders;
    all["wrong_orders"] = found.wrong_orders;
    all["crossed"] = found.crossed;
    return all;
}

std::vector<std::size_t> apply(RowBook& book, const std::vector<RowBytes>& tables,
                               const std::vector<std::size_t>& positions, std::optional<std::int64_t> until_ns) {
    const InUse guard{book.in_use()};
    const nb::gil_scoped_release unlocked;
    return book.apply(tables, positions, until_ns);
}

void make_book(RowBook* place, std::optional<std::uint32_t> instrument, std::uint32_t depth, std::uint32_t levels,
               std::uint32_t orders, bool nanos) {
    new (place) RowBook(instrument, {.depth = depth, .levels = levels, .orders = orders}, nanos);
}

}  // namespace

void add_book(nb::module_& module) {
    nb::class_<RowBook>(module, "Book")
        .def("__init__", &make_book, nb::arg("instrument").none(), nb::arg("depth"), nb::arg("levels"),
             nb::arg("orders"), nb::arg("nanos"))
        .def("apply", &apply, nb::arg("tables"), nb::arg("positions"), nb::arg("until_ns").none())
        .def("miss", &RowBook::miss)
        .def("levels", &levels, nb::arg("is_bid"))
        .def("orders", &orders, nb::arg("is_bid"))
        .def("faults", &faults)
        .def_prop_ro("complete", [](RowBook& book) { return book.book().complete(); })
        .def_prop_ro("live_orders", [](RowBook& book) { return book.book().live_orders(); })
        .def_prop_ro("instrument", &RowBook::instrument);
}

}  // namespace millpond::python
