#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arrow_columns.hpp"
#include "rows.hpp"
#include "source.hpp"

namespace millpond::python {

/// The columns of one table; rows are appended in batches. An instrument becomes three columns: venue, symbol and its
/// number.
///
/// Threads: one at a time, and not while the source is read.
class TableColumns {
public:
    /// nanos: prices are integers.
    TableColumns(const Instruments& instruments, const Table& table, bool nanos)
        : instruments_(&instruments), table_(&table), nanos_(nanos) {}

    [[nodiscard]] const Table& table() const noexcept { return *table_; }
    [[nodiscard]] std::size_t rows() const noexcept { return columns_.empty() ? 0 : columns_.front().rows; }
    /// Columns without rows.
    [[nodiscard]] std::vector<ArrowColumn> empty();
    /// rows_to_reserve: number of rows to reserve memory for, if these are the first rows.
    void append(std::span<const std::byte> bytes, std::size_t rows, std::size_t rows_to_reserve);
    /// Returns the columns; further rows go to new ones.
    [[nodiscard]] std::vector<ArrowColumn> drain();

private:
    /// Names as an Arrow dictionary: each text once, and the index of each instrument's text.
    struct Names {
        ArrowColumn texts = text_column("");
        std::map<std::string, std::int32_t, std::less<>> places;
        std::vector<std::int32_t> of_instrument;
        std::shared_ptr<const ArrowColumn> shown;

        void add(const std::string& text);
        std::shared_ptr<const ArrowColumn> show();
    };

    [[nodiscard]] std::vector<ArrowColumn> new_columns(std::size_t rows_to_reserve) const;
    void learn_names();
    /// Attaches the names as dictionaries to the columns that refer to them.
    void show_names(std::vector<ArrowColumn>& columns);

    const Instruments* instruments_;
    const Table* table_;
    bool nanos_;
    std::vector<ArrowColumn> columns_;
    Names venues_;
    Names symbols_;
};

}  // namespace millpond::python
