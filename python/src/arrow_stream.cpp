#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrow_capsule.hpp"
#include "check_signals.hpp"
#include "opened_scan.hpp"
#include "parts.hpp"

namespace nb = nanobind;

namespace millpond::python {
namespace {

const char* format_of(ColumnKind kind, bool mantissa) noexcept {
    switch (kind) {
        case ColumnKind::time: return "tsn:UTC";
        case ColumnKind::price: return mantissa ? "l" : "g";
        case ColumnKind::number64: return "L";
        case ColumnKind::instrument: return "I";
        case ColumnKind::number16: return "S";
        case ColumnKind::text4: return "u";
    }
    return "";
}

std::size_t bytes_of(ColumnKind kind) noexcept {
    switch (kind) {
        case ColumnKind::time:
        case ColumnKind::price:
        case ColumnKind::number64: return 8;
        case ColumnKind::instrument:
        case ColumnKind::text4: return 4;
        case ColumnKind::number16: return 2;
    }
    return 0;
}

/// One column of a few rows.
struct Cells {
    const std::byte* first;
    std::size_t stride;
    std::size_t rows;
};

/// Appends a number for each cell. A null has a number, too, which nobody reads.
template <class Cell, class NumberOf, class IsNull>
void append_numbers(ArrowColumn& column, const Cells& cells, NumberOf&& number_of, IsNull&& is_null) {
    using Number = decltype(number_of(Cell{}));
    const auto before = column.values.size();
    column.values.resize(before + cells.rows * sizeof(Number));
    auto* place = column.values.data() + before;
    const auto* from = cells.first;
    for (std::size_t row = 0; row < cells.rows; ++row, from += cells.stride, place += sizeof(Number)) {
        Cell cell;
        std::memcpy(&cell, from, sizeof cell);
        const Number number = number_of(cell);
        std::memcpy(place, &number, sizeof number);
        if (is_null(cell)) [[unlikely]]
            set_null(column, column.rows + row);
    }
    end_rows(column, cells.rows);
}

/// One table of a scan. The rows come when the consumer asks for them.
class TableBatches {
public:
    TableBatches(std::shared_ptr<OpenedScan> scan, const Table& table, std::size_t max_rows)
        : scan_(std::move(scan)), table_(&table), max_rows_(max_rows) {}

    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return scan_->in_use(); }
    std::vector<ArrowColumn> schema() {
        auto columns = empty_columns(0);
        show_names(columns);
        return columns;
    }
    std::pair<std::vector<ArrowColumn>, std::size_t> next() {
        constexpr std::size_t kFew = 2'048;  // rows that are still in the cache when the last column takes them
        auto columns = empty_columns(max_rows_);
        std::size_t made = 0;
        while (!scan_->ended() && made < max_rows_) {
            scan_->read_some(std::min(max_rows_ - made, kFew), &check_signals).visit([&](TableKind kind, auto& table) {
                if (kind == table_->kind) {
                    append(columns, std::as_bytes(std::span{table}), table.size());
                    made += table.size();
                }
                table.clear();
            });
        }
        show_names(columns);
        return {std::move(columns), made};
    }

private:
    [[nodiscard]] bool mantissa() const noexcept { return scan_->collector().options().mantissa; }
    /// Venue and symbol stand in front of an instrument's number, as the texts behind it.
    [[nodiscard]] std::vector<ArrowColumn> empty_columns(std::size_t max_rows) const {
        std::vector<ArrowColumn> all;
        for (const auto& column : table_->columns) {
            if (column.kind == ColumnKind::instrument) {
                all.push_back(number_column("venue", "i"));
                all.push_back(number_column("symbol", "i"));
                for (auto names = all.end() - 2; names != all.end(); ++names) names->values.reserve(max_rows * 4);
            }
            all.push_back(column.kind == ColumnKind::text4
                              ? text_column(column.name)
                              : number_column(column.name, format_of(column.kind, mantissa())));
            all.back().values.reserve(max_rows * bytes_of(column.kind));
        }
        return all;
    }

    void append(std::vector<ArrowColumn>& columns, std::span<const std::byte> bytes, std::size_t rows) {
        constexpr auto same = [](auto cell) { return cell; };
        constexpr auto never = [](auto) { return false; };
        auto to = columns.begin();
        for (const auto& column : table_->columns) {
            const Cells cells{bytes.data() + column.offset, table_->row_bytes, rows};
            switch (column.kind) {
                case ColumnKind::time:
                    append_numbers<std::int64_t>(*to++, cells, same, [](auto cell) { return cell == kNoTime; });
                    break;
                case ColumnKind::price:
                    if (mantissa()) {
                        append_numbers<std::int64_t>(*to++, cells, same, [](auto cell) { return cell == kNoPrice; });
                    } else {
                        append_numbers<double>(*to++, cells, same, [](auto cell) { return std::isnan(cell); });
                    }
                    break;
                case ColumnKind::number64: append_numbers<std::uint64_t>(*to++, cells, same, never); break;
                case ColumnKind::number16: append_numbers<std::uint16_t>(*to++, cells, same, never); break;
                case ColumnKind::text4: append_texts(*to++, cells); break;
                case ColumnKind::instrument: {
                    constexpr auto none = [](feed::InstrumentId id) { return id == feed::kNoInstrument; };
                    learn_names();
                    for (const auto* names : {&venues_, &symbols_}) {
                        const auto place = [&](auto id) { return none(id) ? 0 : names->of_instrument[id]; };
                        append_numbers<feed::InstrumentId>(*to++, cells, place, none);
                    }
                    append_numbers<feed::InstrumentId>(*to++, cells, same, none);
                }
            }
        }
    }
    static void append_texts(ArrowColumn& column, const Cells& cells) {
        for (std::size_t row = 0; row < cells.rows; ++row) {
            core::FixedString<4> text;
            std::memcpy(&text, cells.first + row * cells.stride, sizeof text);
            append_text(column, text.view());
        }
    }

    /// Names as Arrow wants them: each once, and which one is an instrument's.
    struct Names {
        ArrowColumn texts = text_column("");
        std::map<std::string, std::int32_t, std::less<>> places;
        std::vector<std::int32_t> of_instrument;
        std::shared_ptr<const ArrowColumn> shown;

        void add(const std::string& text) {
            const auto [place, added] = places.try_emplace(text, static_cast<std::int32_t>(places.size()));
            if (added) append_text(texts, text);
            of_instrument.push_back(place->second);
        }
        std::shared_ptr<const ArrowColumn> show() {
            if (!shown || shown->rows != texts.rows) shown = std::make_shared<const ArrowColumn>(texts);
            return shown;
        }
    };
    void learn_names() {
        const auto& source = scan_->source();
        for (auto id = symbols_.of_instrument.size(); id < source.instruments(); ++id) {
            const auto named = source.instrument(static_cast<feed::InstrumentId>(id));
            venues_.add(printable(named.venue.view()));
            symbols_.add(printable(named.symbol.view()));
        }
    }
    /// Puts the names that were learnt behind the numbers that stand for them.
    void show_names(std::vector<ArrowColumn>& columns) {
        for (auto& column : columns) {
            if (column.name == "venue") column.dictionary = venues_.show();
            if (column.name == "symbol") column.dictionary = symbols_.show();
        }
    }
    /// Arrow's texts are UTF-8, and a damaged file's names are not.
    static std::string printable(std::string_view text) {
        std::string result{text};
        for (auto& each : result) {
            if (static_cast<unsigned char>(each) >= 0x80) each = '?';
        }
        return result;
    }

    std::shared_ptr<OpenedScan> scan_;
    const Table* table_;
    std::size_t max_rows_;
    Names venues_;
    Names symbols_;
};

nb::object arrow_stream(std::shared_ptr<OpenedScan> scan, std::size_t table, std::size_t max_rows) {
    return arrow_capsule(TableBatches{std::move(scan), tables()[table], max_rows});
}

}  // namespace

void add_arrow_stream(nb::module_& module) {
    module.def("arrow_stream", &arrow_stream, nb::arg("scan"), nb::arg("table"), nb::arg("max_rows"));
}

}  // namespace millpond::python
