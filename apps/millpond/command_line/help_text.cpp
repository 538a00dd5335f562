#include "apps/millpond/command_line/help_text.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace millpond::app {
namespace {

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// The column in which the rest of a line continues.
std::size_t hang_of(std::string_view line) {
    const auto indent = indent_of(line);
    const bool describes = indent == 2 && line.size() > kDescriptionColumn && line[kDescriptionColumn - 1] == ' ' &&
                           line[kDescriptionColumn] != ' ';
    if (describes || indent == kDescriptionColumn) return kDescriptionColumn;
    return indent == 0 ? 0 : indent + 2;
}

void append_wrapped(std::string& out, std::string_view line, bool is_command) {
    constexpr std::string_view kContinues = " \\";
    const auto hang = is_command ? indent_of(line) + 4 : hang_of(line);
    const auto columns = is_command ? kHelpColumns - kContinues.size() : kHelpColumns;
    std::string indent;
    while (indent.size() + line.size() > kHelpColumns) {
        const auto fits = columns - indent.size();
        auto end = line.rfind(' ', fits);
        // A word that is longer than a line is not broken.
        if (end == std::string_view::npos || line.find_first_not_of(' ') >= end) end = line.find(' ', fits);
        if (end == std::string_view::npos) break;
        auto part = line.substr(0, end);
        part.remove_suffix(part.size() - 1 - std::min(part.find_last_not_of(' '), part.size() - 1));
        out += indent;
        out += part;
        out += is_command ? kContinues : std::string_view{};
        out += '\n';
        line.remove_prefix(end);
        line.remove_prefix(indent_of(line));
        indent.assign(hang, ' ');
    }
    out += indent;
    out += line;
    out += '\n';
}

/// Whether a line is of the same paragraph as the one before.
bool continues(std::string_view before, std::string_view line) {
    if (before.empty() || line.empty() || before.front() == ' ' || line.front() == ' ') return false;
    return before.back() != '.' && before.back() != ':';
}

}  // namespace

std::string wrapped(std::string_view page) {
    std::vector<std::string> lines;
    while (!page.empty()) {
        const auto end = std::min(page.find('\n'), page.size());
        const auto line = page.substr(0, end);
        page.remove_prefix(std::min(end + 1, page.size()));
        if (line.empty() && !lines.empty() && lines.back().empty()) continue;
        if (!lines.empty() && continues(lines.back(), line) && !line.starts_with("Usage:")) {
            (lines.back() += ' ') += line;
        } else {
            lines.emplace_back(line);
        }
    }
    std::string out;
    bool examples = false;
    for (const auto& line : lines) {
        if (line.empty() || line.front() != ' ') examples = line.starts_with("Example");
        append_wrapped(out, line, examples && line.starts_with("  "));
    }
    return out;
}

}  // namespace millpond::app
