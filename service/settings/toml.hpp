#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/settings/schema.hpp"
#include "service/settings/settings_of.hpp"

/// Reads TOML files and command-line flags by the schemas of their sections. All functions throw ConfigError with file
/// and line, or the flag, for bad syntax, unknown keys, wrong types and values out of range.
namespace millpond::settings {

/// Reads the text of a file.
[[nodiscard]] std::string text_of(const std::string& path);

/// The top level of a TOML document: plain keys and lists of tables.
class Document {
public:
    virtual ~Document() = default;

    /// Parses `text`. name: the name of the file in messages.
    [[nodiscard]] static std::unique_ptr<Document> parse(std::string_view text, std::string_view name);

    /// A key and its value.
    using OnValue = std::function<void(std::string_view key, std::string_view where, const Value& value)>;

    /// Calls `value` for each plain key of the top level, except those for which is_section is true. tables: names of
    /// the tables that may occur; another one is an error that names the most similar. Continues after an error and
    /// throws all errors at the end, as `sections` does.
    virtual void top_level(std::span<const std::string_view> tables,
                           const std::function<bool(std::string_view)>& is_section, const OnValue& value) const = 0;
    /// Called with the place where a table begins: "gateway.toml:12".
    using OnTable = std::function<void(std::string_view where)>;
    /// For each [[name]]: calls `begin`, then `value` for each of its keys.
    virtual void sections(std::string_view name, const OnTable& begin, const OnValue& value) const = 0;
};

/// Reads the top level into `section`, with the parameters of Document::top_level.
template <class Section>
void read_top_level(const Document& document, std::span<const std::string_view> tables,
                    const std::function<bool(std::string_view)>& is_section, Section& section) {
    document.top_level(tables, is_section, [&](std::string_view key, std::string_view where, const Value& value) {
        find_key<Section>(key, where).assign(section, value);
    });
}

/// Calls `assign` for a key of a section; notes in the section's origin if it throws.
template <class Assign>
void assign_to(Origin& origin, std::string_view key, Assign&& assign) try {
    assign();
} catch (const std::exception&) {
    origin.is_bad = true;
    origin.unread.emplace_back(key);
    throw;
}

/// Appends every [[section]] to `sections`, which begin as a copy of `model`.
template <class Section>
void read_sections(const Document& document, std::vector<Section>& sections, const Section& model = {}) {
    Origin none;
    const auto origin = [&]() -> Origin& {
        if constexpr (requires { sections.back().origin; }) {
            return sections.back().origin;
        } else {
            return none;
        }
    };
    document.sections(
        Schema<Section>::name(),
        [&](std::string_view where) {
            sections.push_back(model);
            origin().where = where;
        },
        [&](std::string_view key, std::string_view where, const Value& value) {
            assign_to(origin(), key, [&] { find_key<Section>(key, where).assign(sections.back(), value); });
        });
}

/// Reads a top-level key from the command line: `--log-level debug` is ("log_level", "debug").
template <class Section>
void read_flag(std::string_view key, const std::string& text, Section& section) {
    const auto flag = flag_of(key);
    find_key<Section>(key, flag).assign(section, Value{flag, "it", Value::Bare{text}});
}

/// Splits "a=1,b=2" into pairs. Values with a comma can only be set in a file.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view text, std::string_view flag);

/// Reads a table from the command line: `--feed listen=127.0.0.1:9000,format=bbo28`.
template <class Section>
void read_table_flag(std::string_view text, Section& section) {
    const auto flag = flag_of(Schema<Section>::name());
    const auto title = section_title(Schema<Section>::name());
    for (const auto& [key, value] : pairs_of(text, flag)) {
        find_key<Section>(key, flag).assign(section, Value{flag, described(title, key), Value::Bare{value}});
    }
}

}  // namespace millpond::settings
