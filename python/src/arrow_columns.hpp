#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arrow_layout.hpp"
#include "unset_bytes.hpp"

namespace millpond::python {

/// One column of Arrow's: its buffers, and what it says about itself.
struct ArrowColumn {
    std::string name;
    std::string format;
    std::vector<std::byte> validity;  ///< A bit a row; empty when no row is null.
    UnsetBytes values;                ///< Values, or offsets of 32 bits into `text`.
    std::string text;
    bool is_text{false};
    std::int64_t nulls{0};
    /// Of a column of 32-bit numbers: the names behind them.
    std::shared_ptr<const ArrowColumn> dictionary{};
    /// Of a column of lists, whose `values` are offsets into it.
    std::shared_ptr<ArrowColumn> child{};
    std::size_t rows{0};
};

/// What Arrow calls a record batch's schema. `out` owns a copy of all names.
void export_schema(std::span<const ArrowColumn> columns, ArrowSchema* out);
/// Hands the columns over to `out`.
void export_rows(std::vector<ArrowColumn>&& columns, std::size_t rows, ArrowArray* out);

/// Texts as a column.
[[nodiscard]] ArrowColumn text_column(std::string name);
void append_text(ArrowColumn& column, std::string_view text);
void append_null_text(ArrowColumn& column);

/// 64-bit integers as a column; `format` is Arrow's.
[[nodiscard]] ArrowColumn number_column(std::string name, std::string format);
void append_number(ArrowColumn& column, std::optional<std::int64_t> value);

/// For columns whose values the caller appends. Makes the row null, which may be the next one; then counts the rows.
void set_null(ArrowColumn& column, std::size_t row);
void end_rows(ArrowColumn& column, std::size_t rows);

/// Lists of texts as a column: append to its child, then end the row's list.
[[nodiscard]] ArrowColumn list_column(std::string name);
void end_list(ArrowColumn& column);

}  // namespace millpond::python
