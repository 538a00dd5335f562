#include "fixd/quickfix/toml_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace millpond::fixd::quickfix {

void TomlLines::add(std::size_t source, std::string_view key, std::string_view value) {
    add_text(source, fmt::format("{} = {}\n", key, value));
}

void TomlLines::add_text(std::size_t source, std::string_view lines) {
    text_ += lines;
    sources_.resize(sources_.size() + static_cast<std::size_t>(std::ranges::count(lines, '\n')), source);
}

void TomlLines::append(const TomlLines& lines) {
    text_ += lines.text_;
    sources_.insert(sources_.end(), lines.sources_.begin(), lines.sources_.end());
}

std::size_t TomlLines::source_of(std::size_t line) const noexcept {
    return line == 0 || line > sources_.size() ? 0 : sources_[line - 1];
}

std::string toml_text(std::string_view text) {
    std::string out{'"'};
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
        } else {
            out += c;
        }
    }
    out += '"';
    return out;
}

}  // namespace millpond::fixd::quickfix
