#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::app {

/// Colour of a text.
enum class Tone : std::uint8_t { plain, good, notice, warning, error, heading, faint };

/// Returns the text in the tone's colour; unchanged if `colour` is false.
[[nodiscard]] std::string toned(std::string_view text, Tone tone, bool colour);

struct Column {
    std::string title;
    bool left{false};  ///< Aligned to the left.
    int worth{0};      ///< Priority: if the width is too small, columns with the lowest worth are omitted first.
};

struct Cell {
    std::string text;
    Tone tone{Tone::plain};
};

/// A table with titles, as wide as its text needs and no wider than the terminal.
class TextTable {
public:
    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// Adds a row with one cell for each column.
    void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }
    /// Number of rows with a warning or an error.
    [[nodiscard]] std::size_t marked() const;

    /// Formats the titles and at most `max_rows` rows; if there are more, the last line has their number. Each line is
    /// at most `width` characters long (0: no limit).
    [[nodiscard]] std::vector<std::string> lines(std::size_t width, std::size_t max_rows, bool colour) const;

private:
    /// Widths of the columns; 0: omitted.
    [[nodiscard]] std::vector<std::size_t> widths(std::size_t width) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

}  // namespace millpond::app
