#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::fixd::quickfix {

/// Lines of TOML, each with the line of the settings file that it comes from.
class TomlLines {
public:
    /// A key and its value, which is TOML. source: the line of the settings file.
    void add(std::size_t source, std::string_view key, std::string_view value);
    /// Adds whole lines that come from one line of the settings file.
    void add_text(std::size_t source, std::string_view lines);
    void append(const TomlLines& lines);

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    /// The line of the settings file that a line, counted from 1, comes from; 0 if there is no such line.
    [[nodiscard]] std::size_t source_of(std::size_t line) const noexcept;

private:
    std::string text_;
    std::vector<std::size_t> sources_;
};

/// Quotes text as a TOML string.
[[nodiscard]] std::string toml_text(std::string_view text);

}  // namespace millpond::fixd::quickfix
