#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>

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

/// One table of a scan. The rows come when the consumer asks for them.
class TableBatches {
public:
    TableBatches(std::shared_ptr<OpenedScan> scan, const Table& table, std::size_t max_rows)
        : scan_(std::move(scan)), table_(&table), max_rows_(max_rows) {}

    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return scan_->in_use(); }
    std::vector<ArrowColumn> schema() { return columns({}, 0); }
    std::pair<std::vector<ArrowColumn>, std::size_t> next() {
        while (!scan_->ended()) {
            auto rows = scan_->read(max_rows_, &check_signals);
            std::pair<std::vector<ArrowColumn>, std::size_t> made;
            rows.visit([&](TableKind kind, const auto& table) {
                if (kind != table_->kind || table.empty()) return;
                made = {columns(std::as_bytes(std::span{table}), table.size()), table.size()};
            });
            if (made.second != 0) return made;
        }
        return {};
    }

private:
    [[nodiscard]] bool mantissa() const noexcept { return scan_->collector().options().mantissa; }
    std::vector<ArrowColumn> columns(std::span<const std::byte> bytes, std::size_t rows) {
        std::vector<ArrowColumn> all;
        for (const auto& column : table_->columns) {
            switch (column.kind) {
                case ColumnKind::time:
                    all.push_back(
                        numbers<std::int64_t>(column, bytes, rows, [](auto each) { return each == kNoTime; }));
                    break;
                case ColumnKind::price:
                    all.push_back(
                        mantissa()
                            ? numbers<std::int64_t>(column, bytes, rows, [](auto each) { return each == kNoPrice; })
                            : numbers<double>(column, bytes, rows, [](auto each) { return std::isnan(each); }));
                    break;
                case ColumnKind::number64: all.push_back(numbers<std::uint64_t>(column, bytes, rows, never)); break;
                case ColumnKind::number16: all.push_back(numbers<std::uint16_t>(column, bytes, rows, never)); break;
                case ColumnKind::text4: all.push_back(texts(column, bytes, rows)); break;
                case ColumnKind::instrument: add_instrument(all, column, bytes, rows); break;
            }
        }
        return all;
    }

    static constexpr auto never = [](auto) { return false; };
    template <class Number, class IsNull>
    ArrowColumn numbers(const Column& column, std::span<const std::byte> bytes, std::size_t rows,
                        IsNull&& is_null) const {
        ArrowColumn result;
        result.name = column.name;
        result.format = format_of(column.kind, mantissa());
        result.rows = rows;
        result.values.resize(rows * sizeof(Number));
        const auto stride = table_->row_bytes;
        for (std::size_t row = 0; row < rows; ++row) {
            Number value;
            std::memcpy(&value, &bytes[row * stride + column.offset], sizeof value);
            std::memcpy(&result.values[row * sizeof value], &value, sizeof value);
            if (is_null(value)) [[unlikely]] {
                if (result.validity.empty()) result.validity.assign((rows + 7) / 8, std::byte{0xFF});
                result.validity[row / 8] &= ~(std::byte{1} << static_cast<int>(row % 8));
                ++result.nulls;
            }
        }
        return result;
    }
    ArrowColumn texts(const Column& column, std::span<const std::byte> bytes, std::size_t rows) const {
        auto result = text_column(column.name);
        for (std::size_t row = 0; row < rows; ++row) {
            core::FixedString<4> text;
            std::memcpy(&text, &bytes[row * table_->row_bytes + column.offset], sizeof text);
            append_text(result, text.view());
        }
        return result;
    }
    /// The number, and venue and symbol as the texts behind it.
    void add_instrument(std::vector<ArrowColumn>& all, const Column& column, std::span<const std::byte> bytes,
                        std::size_t rows) {
        auto ids = numbers<std::uint32_t>(column, bytes, rows, [](auto id) { return id == feed::kNoInstrument; });
        learn_names();
        all.push_back(names_of(ids, "venue", venues_));
        all.push_back(names_of(ids, "symbol", symbols_));
        all.push_back(std::move(ids));
    }

    /// Names as Arrow wants them: each once, and which one is an instrument's.
    struct Names {
        ArrowColumn texts = text_column("");
        std::map<std::string, std::int32_t, std::less<>> places;
        std::vector<std::int32_t> of_instrument;
        std::shared_ptr<const ArrowColumn> shown = std::make_shared<const ArrowColumn>(text_column(""));

        void add(const std::string& text) {
            const auto [place, added] = places.try_emplace(text, static_cast<std::int32_t>(places.size()));
            if (added) append_text(texts, text);
            of_instrument.push_back(place->second);
        }
    };
    static ArrowColumn names_of(const ArrowColumn& ids, const char* name, const Names& names) {
        auto result = ids;
        result.name = name;
        result.format = "i";
        result.dictionary = names.shown;
        for (std::size_t row = 0; row < ids.rows; ++row) {
            std::uint32_t id;
            std::memcpy(&id, &ids.values[row * sizeof id], sizeof id);
            const auto place = id == feed::kNoInstrument ? 0 : names.of_instrument[id];
            std::memcpy(&result.values[row * sizeof place], &place, sizeof place);
        }
        return result;
    }
    void learn_names() {
        const auto& source = scan_->source();
        auto id = symbols_.of_instrument.size();
        if (id == source.instruments()) return;
        for (; id < source.instruments(); ++id) {
            const auto named = source.instrument(static_cast<feed::InstrumentId>(id));
            venues_.add(printable(named.venue.view()));
            symbols_.add(printable(named.symbol.view()));
        }
        venues_.shown = std::make_shared<const ArrowColumn>(venues_.texts);
        symbols_.shown = std::make_shared<const ArrowColumn>(symbols_.texts);
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
