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

/// An Arrow column: its buffers and its description.
struct ArrowColumn {
    std::string name;
    std::string format;
    std::vector<std::byte> validity;  ///< One bit per row; empty if no row is null.
    UnsetBytes values;                ///< Values, or 32-bit offsets into `text`.
    std::string text;
    bool is_text{false};
    std::int64_t nulls{0};
    /// Dictionary of a column of 32-bit indexes: the names.
    std::shared_ptr<const ArrowColumn> dictionary{};
    /// Elements of a column of lists; `values` are offsets into it.
    std::shared_ptr<ArrowColumn> child{};
    std::size_t rows{0};
};

/// Exports the schema of a record batch. `out` owns a copy of all names.
void export_schema(std::span<const ArrowColumn> columns, ArrowSchema* out);
/// Exports the columns, which `out` owns from then on.
void export_rows(std::vector<ArrowColumn>&& columns, std::size_t rows, ArrowArray* out);

/// Creates a column of texts.
[[nodiscard]] ArrowColumn text_column(std::string name);
void append_text(ArrowColumn& column, std::string_view text);
void append_null_text(ArrowColumn& column);

/// Creates a column of 64-bit integers. format: Arrow's format string.
[[nodiscard]] ArrowColumn number_column(std::string name, std::string format);
void append_number(ArrowColumn& column, std::optional<std::int64_t> value);

/// Makes the row null, which may be the next one, and counts the rows; for columns whose values the caller appends.
void set_null(ArrowColumn& column, std::size_t row);
void end_rows(ArrowColumn& column, std::size_t rows);

/// Creates a column of lists of texts: append to its child, then end the row's list.
[[nodiscard]] ArrowColumn list_column(std::string name);
void end_list(ArrowColumn& column);

}  // namespace millpond::python
