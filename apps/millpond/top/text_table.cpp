#include "apps/millpond/top/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace millpond::app {
namespace {

constexpr std::size_t kSpace = 2;  // between columns

std::string_view escape_of(Tone tone) {
    switch (tone) {
        case Tone::plain: return "";
        case Tone::good: return "\033[32m";
        case Tone::notice: return "\033[36m";
        case Tone::warning: return "\033[33m";
        case Tone::error: return "\033[31m";
        case Tone::heading: return "\033[1m";
        case Tone::faint: return "\033[2m";
    }
    return "";
}

/// Columns of UTF-8 text of characters that are one column wide.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string placed(const std::string& text, std::size_t width, bool left) {
    constexpr std::string_view kMore = "...";
    if (const auto wide = width_of(text); wide <= width) {
        const std::string space(width - wide, ' ');
        return left ? text + space : space + text;
    }
    const bool whole = width <= kMore.size();
    const auto cut = whole ? text.substr(0, width) : text.substr(0, width - kMore.size()).append(kMore);
    return left ? fmt::format("{:<{}}", cut, width) : fmt::format("{:>{}}", cut, width);
}

}  // namespace

std::string toned(std::string_view text, Tone tone, bool colour) {
    if (!colour || tone == Tone::plain || text.empty()) return std::string{text};
    return fmt::format("{}{}\033[0m", escape_of(tone), text);
}

std::size_t TextTable::marked() const {
    return static_cast<std::size_t>(std::ranges::count_if(rows_, [](const auto& row) {
        return std::ranges::any_of(
            row, [](const Cell& cell) { return cell.tone == Tone::warning || cell.tone == Tone::error; });
    }));
}

std::vector<std::size_t> TextTable::widths(std::size_t width) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        auto widest = columns_[i].title.size();
        for (const auto& row : rows_) widest = std::max(widest, width_of(row[i].text));
        result.push_back(widest);
    }
    const auto total = [&] {
        const auto shown = static_cast<std::size_t>(std::ranges::count_if(result, [](auto one) { return one != 0; }));
        return std::accumulate(result.begin(), result.end(), std::size_t{0}) + (shown - 1) * kSpace;
    };
    while (width != 0 && total() > width) {
        std::size_t narrowed = 0;
        for (std::size_t i = 1; i < columns_.size(); ++i) {
            if (result[i] != 0 && (narrowed == 0 || columns_[i].worth <= columns_[narrowed].worth)) narrowed = i;
        }
        if (narrowed == 0) {  // only the first column is left
            result[0] = width;
            break;
        }
        // Shortens a long left-aligned text before its column is omitted.
        constexpr std::size_t kReadable = 16;
        const auto over = total() - width;
        if (columns_[narrowed].left && result[narrowed] >= over + kReadable) {
            result[narrowed] -= over;
        } else {
            result[narrowed] = 0;
        }
    }
    return result;
}

std::vector<std::string> TextTable::lines(std::size_t width, std::size_t max_rows, bool colour) const {
    const auto wide = widths(width);
    std::vector<std::string> result;
    const auto write = [&](auto&& cell_of) {
        std::string line;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (wide[i] == 0) continue;
            const Cell& cell = cell_of(i);
            if (!line.empty()) line += std::string(kSpace, ' ');
            line += toned(placed(cell.text, wide[i], columns_[i].left), cell.tone, colour);
        }
        if (!colour) line.erase(line.find_last_not_of(' ') + 1);
        result.push_back(std::move(line));
    };
    std::vector<Cell> titles;
    for (const auto& column : columns_) titles.push_back({column.title, Tone::heading});
    write([&](std::size_t i) -> const Cell& { return titles[i]; });
    const auto shown = rows_.size() <= max_rows ? rows_.size() : std::max<std::size_t>(max_rows, 1) - 1;
    for (std::size_t r = 0; r < shown; ++r) write([&](std::size_t i) -> const Cell& { return rows_[r][i]; });
    if (shown < rows_.size())
        result.push_back(toned(fmt::format("  {} more", rows_.size() - shown), Tone::faint, colour));
    return result;
}

}  // namespace millpond::app
