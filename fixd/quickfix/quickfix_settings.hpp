#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The syntax of QuickFIX's settings files.
namespace millpond::fixd::quickfix {

struct Entry {
    std::size_t line{0};
    std::string key{};
    std::string value{};
};

/// A [SESSION] with the defaults that it does not override.
class Section {
public:
    Section(std::size_t line, std::vector<Entry> entries, std::vector<Entry> repeated)
        : line_(line), entries_(std::move(entries)), repeated_(std::move(repeated)) {}

    [[nodiscard]] std::size_t line() const noexcept { return line_; }
    [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
    /// Entries that a later entry with the same key in the same section overrides.
    [[nodiscard]] const std::vector<Entry>& repeated() const noexcept { return repeated_; }
    /// The entry of this key; null if there is none.
    [[nodiscard]] const Entry* find(std::string_view key) const noexcept;

private:
    std::size_t line_;
    std::vector<Entry> entries_;
    std::vector<Entry> repeated_;
};

/// Compares keys like QuickFIX, ignoring case.
[[nodiscard]] bool same_key(std::string_view left, std::string_view right) noexcept;
[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view text) noexcept;
/// Whether the key is `name` followed by a number: SocketConnectHost1.
[[nodiscard]] bool is_numbered(std::string_view key, std::string_view name) noexcept;
/// The parts between separators, without spaces around them.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

/// The sessions of a file. Throws service::ConfigError with file and line: text that is neither a section, a setting
/// nor a comment, an unknown section, or a setting that is not UTF-8.
[[nodiscard]] std::vector<Section> read_settings(std::string_view text, std::string_view name);

}  // namespace millpond::fixd::quickfix
