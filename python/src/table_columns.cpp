#include "table_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace millpond::python {
namespace {

const char* arrow_format_of(ColumnKind kind, bool mantissa) noexcept {
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

/// Appends a number for each cell. A null has a number, too, which has no meaning.
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

void append_texts(ArrowColumn& column, const Cells& cells) {
    for (std::size_t row = 0; row < cells.rows; ++row) {
        core::FixedString<4> text;
        std::memcpy(&text, cells.first + row * cells.stride, sizeof text);
        append_text(column, text.view());
    }
}

/// Arrow's texts are UTF-8, and a damaged file's names are not.
std::string printable(std::string_view text) {
    std::string result{text};
    for (auto& each : result) {
        if (static_cast<unsigned char>(each) >= 0x80) each = '?';
    }
    return result;
}

}  // namespace

std::vector<ArrowColumn> TableColumns::new_columns(std::size_t room) const {
    std::vector<ArrowColumn> all;
    for (const auto& column : table_->columns) {
        if (column.kind == ColumnKind::instrument) {
            all.push_back(number_column("venue", "i"));
            all.push_back(number_column("symbol", "i"));
            for (auto names = all.end() - 2; names != all.end(); ++names) names->values.reserve(room * 4);
        }
        all.push_back(column.kind == ColumnKind::text4
                          ? text_column(column.name)
                          : number_column(column.name, arrow_format_of(column.kind, mantissa_)));
        all.back().values.reserve(room * bytes_of(column.kind));
    }
    return all;
}

std::vector<ArrowColumn> TableColumns::empty() {
    auto columns = new_columns(0);
    show_names(columns);
    return columns;
}

std::vector<ArrowColumn> TableColumns::take() {
    show_names(columns_);
    return std::exchange(columns_, {});
}

void TableColumns::append(std::span<const std::byte> bytes, std::size_t rows, std::size_t room) {
    if (columns_.empty()) columns_ = new_columns(room);
    constexpr auto same = [](auto cell) { return cell; };
    constexpr auto never = [](auto) { return false; };
    auto to = columns_.begin();
    for (const auto& column : table_->columns) {
        const Cells cells{bytes.data() + column.offset, table_->row_bytes, rows};
        switch (column.kind) {
            case ColumnKind::time:
                append_numbers<std::int64_t>(*to++, cells, same, [](auto cell) { return cell == kNoTime; });
                break;
            case ColumnKind::price:
                if (mantissa_) {
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

void TableColumns::Names::add(const std::string& text) {
    const auto [place, added] = places.try_emplace(text, static_cast<std::int32_t>(places.size()));
    if (added) append_text(texts, text);
    of_instrument.push_back(place->second);
}

std::shared_ptr<const ArrowColumn> TableColumns::Names::show() {
    if (!shown || shown->rows != texts.rows) shown = std::make_shared<const ArrowColumn>(texts);
    return shown;
}

void TableColumns::learn_names() {
    for (auto id = symbols_.of_instrument.size(); id < source_->instruments(); ++id) {
        const auto named = source_->instrument(static_cast<feed::InstrumentId>(id));
        venues_.add(printable(named.venue.view()));
        symbols_.add(printable(named.symbol.view()));
    }
}

void TableColumns::show_names(std::vector<ArrowColumn>& columns) {
    for (auto& column : columns) {
        if (column.name == "venue") column.dictionary = venues_.show();
        if (column.name == "symbol") column.dictionary = symbols_.show();
    }
}

}  // namespace millpond::python
