#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::app {

/// Colour of a text.
enum class Tone : std::uint8_t { plain, good, notice, warning, error, heading, faint };

/// The text in the tone's colour; unchanged if `colour` is false.
[[nodiscard]] std::string toned(std::string_view text, Tone tone, bool colour);

struct Column {
    std::string title;
    bool left{false};  ///< Aligned to the left.
    int worth{0};      ///< If the width is too small, columns with the least worth are left out first.
};

struct Cell {
    std::string text;
    Tone tone{Tone::plain};
};

/// A table with titles, as wide as its text needs and no wider than the terminal.
class TextTable {
public:
    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// cells: one for each column.
    void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }
    /// Rows with a warning or an error in them.
    [[nodiscard]] std::size_t marked() const;

    /// The titles and at most `most` rows; when there are more, the last line says how many. Each line is at most
    /// `width` characters long (0: as long as it needs).
    [[nodiscard]] std::vector<std::string> lines(std::size_t width, std::size_t most, bool colour) const;

private:
    /// Widths of the columns; 0 for those that are left out.
    [[nodiscard]] std::vector<std::size_t> widths(std::size_t width) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

}  // namespace millpond::app
