#include "fixd/quickfix/quickfix_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ranges>
#include <system_error>
#include <utility>

#include <millpond/core/json_string.hpp>

#include "service/config_error.hpp"

namespace millpond::fixd::quickfix {
namespace {

using service::ConfigError;

std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view kSpace = " \t\r";
    const auto begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

const Entry* find_in(const std::vector<Entry>& entries, std::string_view key) noexcept {
    const auto found = std::ranges::find_if(entries, [&](const Entry& entry) { return same_key(entry.key, key); });
    return found == entries.end() ? nullptr : &*found;
}

/// A section of the file.
struct Lines {
    std::vector<Entry> entries{};
    std::vector<Entry> repeated{};

    void add(Entry entry) {
        const auto earlier =
            std::ranges::find_if(entries, [&](const Entry& one) { return same_key(one.key, entry.key); });
        if (earlier != entries.end()) {
            repeated.push_back(std::move(*earlier));
            entries.erase(earlier);
        }
        entries.push_back(std::move(entry));
    }
};

/// The session's own settings, and the defaults that it does not override.
Section merged(std::size_t line, const Lines& defaults, Lines own) {
    for (const auto& entry : defaults.entries) {
        if (find_in(own.entries, entry.key) == nullptr) own.entries.push_back(entry);
    }
    own.repeated.insert(own.repeated.end(), defaults.repeated.begin(), defaults.repeated.end());
    std::ranges::stable_sort(own.entries, {}, &Entry::line);
    return {line, std::move(own.entries), std::move(own.repeated)};
}

/// "[DEFAULT]" of "[DEFAULT]  # comment"; empty if the line begins no section.
std::string_view section_of(std::string_view line) noexcept {
    const auto end = line.starts_with('[') ? line.find(']') : std::string_view::npos;
    if (end == std::string_view::npos) return {};
    const auto rest = trimmed(line.substr(end + 1));
    return rest.empty() || rest.front() == '#' ? line.substr(0, end + 1) : std::string_view{};
}

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto bytes = static_cast<unsigned char>(text.front()) < 0x80 ? 1 : core::utf8_bytes(text);
        if (bytes == 0) return false;
        text.remove_prefix(bytes);
    }
    return true;
}

}  // namespace

bool same_key(std::string_view left, std::string_view right) noexcept {
    return std::ranges::equal(left, right,
                              [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

std::optional<std::uint64_t> number_of(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const auto* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || at != end) return std::nullopt;
    return value;
}

bool is_numbered(std::string_view key, std::string_view name) noexcept {
    return key.size() > name.size() && same_key(key.substr(0, name.size()), name) &&
           number_of(key.substr(name.size())).has_value();
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (const auto part : std::views::split(text, separator)) {
        parts.emplace_back(trimmed({part.begin(), part.end()}));
    }
    return parts;
}

const Entry* Section::find(std::string_view key) const noexcept { return find_in(entries_, key); }

std::vector<Section> read_settings(std::string_view text, std::string_view name) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    Lines defaults;
    std::vector<std::pair<std::size_t, Lines>> sessions;
    Lines* current = nullptr;
    std::size_t number = 0;
    for (const auto part : std::views::split(text, '\n')) {
        const auto line = trimmed({part.begin(), part.end()});
        const auto fail = [&, at = ++number](std::string_view what) {
            throw ConfigError(fmt::format("{}:{}: {}", name, at, what));
        };
        if (line.empty() || line.front() == '#') continue;
        if (!is_utf8(line)) fail("expected UTF-8, as TOML has no other characters: convert the line (iconv -t UTF-8)");
        const auto section = section_of(line);
        if (same_key(section, "[DEFAULT]")) {
            current = &defaults;
        } else if (same_key(section, "[SESSION]")) {
            current = &sessions.emplace_back(number, Lines{}).second;
        } else if (line.front() == '[') {
            fail(fmt::format("expected [DEFAULT] or [SESSION], found '{}'", line));
        } else {
            const auto equals = line.find('=');
            if (equals == std::string_view::npos) fail(fmt::format("expected KEY=VALUE, found '{}'", line));
            if (current == nullptr) fail("a setting before [DEFAULT] and [SESSION]");
            const auto key = trimmed(line.substr(0, equals));
            current->add({number, std::string{key}, std::string{trimmed(line.substr(equals + 1))}});
        }
    }
    std::vector<Section> merged_sessions;
    for (auto& [line, own] : sessions) merged_sessions.push_back(merged(line, defaults, std::move(own)));
    return merged_sessions;
}

}  // namespace millpond::fixd::quickfix
