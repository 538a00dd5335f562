#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/settings/schema.hpp"

/// TOML files and command-line flags, as the schemas of their sections say. All throw ConfigError: with file and line
/// for bad syntax, unknown keys, wrong types and values out of range; with the flag's name.
namespace millpond::settings {

/// The text of a file.
[[nodiscard]] std::string text_of(const std::string& path);

/// What a document holds at its top level: plain keys and lists of tables.
class Document {
public:
    virtual ~Document() = default;

    /// The document in `text`; `name` stands for the file in messages.
    [[nodiscard]] static std::unique_ptr<Document> parse(std::string_view text, std::string_view name);

    /// A key and its value.
    using OnValue = std::function<void(std::string_view key, std::string_view where, const Value& value)>;

    /// Calls `value` for each plain key of the top level. A key for which is_section says true is left out. `tables`
    /// names all that may be a table; another one is an error that names the one it resembles.
    virtual void top_level(std::span<const std::string_view> tables,
                           const std::function<bool(std::string_view)>& is_section, const OnValue& value) const = 0;
    /// Where a table begins: "gateway.toml:12".
    using OnTable = std::function<void(std::string_view where)>;
    /// For each [[name]]: calls `begin`, then `value` for each of its keys. Does nothing when there is none.
    virtual void sections(std::string_view name, const OnTable& begin, const OnValue& value) const = 0;
};

/// Reads the top level into `section`, but for the keys that is_section names; `tables` as for top_level.
template <class Section>
void read_top_level(const Document& document, std::span<const std::string_view> tables,
                    const std::function<bool(std::string_view)>& is_section, Section& section) {
    document.top_level(tables, is_section, [&](std::string_view key, std::string_view where, const Value& value) {
        find_key<Section>(key, where).assign(section, value);
    });
}

/// Appends every [[section]] to `sections`, which begin as a copy of `model`.
template <class Section>
void read_sections(const Document& document, std::vector<Section>& sections, const Section& model = {}) {
    document.sections(
        Schema<Section>::name(),
        [&](std::string_view where) {
            sections.push_back(model);
            if constexpr (requires { sections.back().origin.where; }) sections.back().origin.where = where;
        },
        [&](std::string_view key, std::string_view where, const Value& value) {
            find_key<Section>(key, where).assign(sections.back(), value);
        });
}

/// One top-level key from the command line: `--log-level debug` is ("log_level", "debug").
template <class Section>
void read_flag(std::string_view key, const std::string& text, Section& section) {
    const auto flag = flag_of(key);
    find_key<Section>(key, flag).assign(section, Value{flag, "it", Value::Bare{text}});
}

/// "a=1,b=2" in pairs. Values that hold a comma are for the file.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view text, std::string_view flag);

/// One table from the command line: `--feed listen=127.0.0.1:9000,format=bbo28`.
template <class Section>
void read_table_flag(std::string_view text, Section& section) {
    const auto flag = flag_of(Schema<Section>::name());
    for (const auto& [key, value] : pairs_of(text, flag)) {
        find_key<Section>(key, flag).assign(section,
                                            Value{flag, described(Schema<Section>::name(), key), Value::Bare{value}});
    }
}

}  // namespace millpond::settings
