#include "table_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace millpond::python {
namespace {

const char* arrow_format_of(ColumnKind kind, bool nanos) noexcept {
    switch (kind) {
        case ColumnKind::time: return "tsn:UTC";
        case ColumnKind::price: return nanos ? "l" : "g";
        case ColumnKind::size: return "l";
        case ColumnKind::number64: return "L";
        case ColumnKind::instrument:
        case ColumnKind::number32: return "I";
        case ColumnKind::number16: return "S";
        case ColumnKind::text: return "u";
    }
    return "";
}

/// A column of a few rows.
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

/// Appends texts of Latin-1, padded with zeros, as UTF-8.
void append_texts(ArrowColumn& column, const Cells& cells, std::size_t bytes) {
    constexpr unsigned kAscii = 0x80;
    std::string text;
    for (std::size_t row = 0; row < cells.rows; ++row) {
        const auto* const begin = reinterpret_cast<const char*>(cells.first + row * cells.stride);
        const std::string_view padded{begin, bytes};
        text.clear();
        for (const char each : padded.substr(0, padded.find_last_not_of('\0') + 1)) {
            const auto code = static_cast<unsigned char>(each);
            if (code >= kAscii) text += static_cast<char>(0xC0U | code >> 6U);
            text += static_cast<char>(code >= kAscii ? kAscii | (code & 0x3FU) : code);
        }
        append_text(column, text);
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

std::vector<ArrowColumn> TableColumns::new_columns(std::size_t rows_to_reserve) const {
    std::vector<ArrowColumn> all;
    for (const auto& column : table_->columns) {
        if (column.kind == ColumnKind::instrument) {
            all.push_back(number_column("venue", "i"));
            all.push_back(number_column("symbol", "i"));
            for (auto names = all.end() - 2; names != all.end(); ++names) names->values.reserve(rows_to_reserve * 4);
        }
        all.push_back(column.kind == ColumnKind::text
                          ? text_column(std::string{column.name})
                          : number_column(column.shown_name(nanos_), arrow_format_of(column.kind, nanos_)));
        all.back().values.reserve(rows_to_reserve * (column.kind == ColumnKind::text ? 4 : column.bytes));
    }
    return all;
}

std::vector<ArrowColumn> TableColumns::empty() {
    auto columns = new_columns(0);
    show_names(columns);
    return columns;
}

std::vector<ArrowColumn> TableColumns::drain() {
    show_names(columns_);
    return std::exchange(columns_, {});
}

void TableColumns::append(std::span<const std::byte> bytes, std::size_t rows, std::size_t rows_to_reserve) {
    if (columns_.empty()) columns_ = new_columns(rows_to_reserve);
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
                if (nanos_) {
                    append_numbers<std::int64_t>(*to++, cells, same, [](auto cell) { return cell == feed::kNoPrice; });
                } else {
                    append_numbers<double>(*to++, cells, same, [](auto cell) { return std::isnan(cell); });
                }
                break;
            case ColumnKind::size: append_numbers<std::int64_t>(*to++, cells, same, never); break;
            case ColumnKind::number64: append_numbers<std::uint64_t>(*to++, cells, same, never); break;
            case ColumnKind::number16: append_numbers<std::uint16_t>(*to++, cells, same, never); break;
            case ColumnKind::number32: append_numbers<std::uint32_t>(*to++, cells, same, never); break;
            case ColumnKind::text: append_texts(*to++, cells, column.bytes); break;
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
    for (auto id = symbols_.of_instrument.size(); id < instruments_->instruments(); ++id) {
        const auto named = instruments_->instrument(static_cast<feed::InstrumentId>(id));
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
