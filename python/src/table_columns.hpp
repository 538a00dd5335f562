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

/// The columns of one table of a scan, which take its rows a few at a time. An instrument is its number, and in front
/// of it venue and symbol as the texts behind that.
///
/// Threads: one at a time, and not while the source is read.
class TableColumns {
public:
    /// mantissa: prices are integers.
    TableColumns(const Source& source, const Table& table, bool mantissa)
        : source_(&source), table_(&table), mantissa_(mantissa) {}

    [[nodiscard]] TableKind kind() const noexcept { return table_->kind; }
    [[nodiscard]] std::size_t rows() const noexcept { return columns_.empty() ? 0 : columns_.front().rows; }
    /// Columns without rows.
    [[nodiscard]] std::vector<ArrowColumn> empty();
    /// room: rows for which the columns get memory at once, if these are the first ones.
    void append(std::span<const std::byte> bytes, std::size_t rows, std::size_t room);
    /// The columns so far; the next rows begin new ones.
    [[nodiscard]] std::vector<ArrowColumn> take();

private:
    /// Names as Arrow wants them: each once, and which one is an instrument's.
    struct Names {
        ArrowColumn texts = text_column("");
        std::map<std::string, std::int32_t, std::less<>> places;
        std::vector<std::int32_t> of_instrument;
        std::shared_ptr<const ArrowColumn> shown;

        void add(const std::string& text);
        std::shared_ptr<const ArrowColumn> show();
    };

    [[nodiscard]] std::vector<ArrowColumn> new_columns(std::size_t room) const;
    void learn_names();
    /// Puts the names that were learnt behind the numbers that stand for them.
    void show_names(std::vector<ArrowColumn>& columns);

    const Source* source_;
    const Table* table_;
    bool mantissa_;
    std::vector<ArrowColumn> columns_;
    Names venues_;
    Names symbols_;
};

}  // namespace millpond::python
