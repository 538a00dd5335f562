#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/config_error.hpp"
#include "service/settings/value.hpp"

namespace millpond::settings {

/// A key of a section: its name, help and storage. Files, flags, help and completion all read this table.
template <class Section>
struct Key {
    std::string_view name;                          ///< Name in the file; flag_of gives the flag of a top-level key.
    std::string_view shape;                         ///< Form of the value; empty for a boolean.
    std::string_view help;                          ///< Of a removed key, the value that it is fixed to.
    void (*assign)(Section&, const Value&);         ///< Throws ConfigError. Null: the key was removed.
    std::string (*show)(const Section&) = nullptr;  ///< Formats the value as a user writes it; empty if there is none.
    bool is_read = false;        ///< The value is a file that is read: a secret, a certificate, a dictionary.
    std::string_view example{};  ///< Value in a first configuration, of a key that has no default and must be set.

    [[nodiscard]] constexpr bool is_removed() const noexcept { return assign == nullptr; }
    /// The same key, which must be set.
    [[nodiscard]] constexpr Key required(std::string_view value) const noexcept {
        auto key = *this;
        key.example = value;
        return key;
    }
};

/// Description of a key, for help, manual and reference.
struct KeyText {
    std::string name;
    std::string shape;
    std::string help;  ///< Without the default.
    std::string default_value{};
    std::string toml{};  ///< The default or the example as a file has it; empty if there is neither.
    bool is_required{false};
};

/// The help of a key, with its default if it has one.
[[nodiscard]] std::string help_with_default(const KeyText& key);

/// The value of a key as a file has it. assigns: whether the key accepts a value of this type.
[[nodiscard]] std::string toml_of(std::string_view value, const std::function<bool(Value::Data)>& assigns);

template <class Section>
KeyText text_of(const Key<Section>& key, const Section& defaults = {}) {
    KeyText text{.name = std::string{key.name}, .shape = std::string{key.shape}, .help = std::string{key.help}};
    if (key.show != nullptr) text.default_value = key.show(defaults);
    text.is_required = !key.example.empty();
    text.toml = toml_of(text.is_required ? key.example : text.default_value, [&](Value::Data data) {
        auto section = defaults;
        try {
            key.assign(section, Value{{}, std::string{key.name}, std::move(data)});
        } catch (const service::ConfigError&) {
            return false;
        }
        return true;
    });
    return text;
}

/// The keys that were not removed.
template <class Section>
std::vector<KeyText> texts_of(std::span<const Key<Section>> keys, const Section& defaults = {}) {
    std::vector<KeyText> texts;
    for (const auto& key : keys) {
        if (key.is_removed()) continue;
        texts.push_back(text_of(key, defaults));
    }
    return texts;
}

/// Files that the keys of a section name and that are read.
template <class Section>
std::vector<std::string> files_read(std::span<const Key<Section>> keys, const Section& section) {
    std::vector<std::string> files;
    for (const auto& key : keys) {
        if (!key.is_read) continue;
        if (auto file = key.show(section); !file.empty()) files.push_back(std::move(file));
    }
    return files;
}

/// The keys of a section, and its name in the file ("feed" for [[feed]], empty for the top level).
template <class Section>
struct Schema {
    static std::string_view name();
    static std::span<const Key<Section>> keys();
};

template <class Section>
std::vector<std::string> files_read(const Section& section) {
    return files_read(Schema<Section>::keys(), section);
}

/// The flag of a top-level key or a table: `--drop-copy` of "drop_copy".
[[nodiscard]] std::string flag_of(std::string_view name);

/// A table as messages name it: [[feed]] may occur several times, [standby] and [session.logon] once. An empty name is
/// the top level.
[[nodiscard]] std::string section_title(std::string_view name);
[[nodiscard]] std::string table_title(std::string_view name);

/// The name of a key in messages: "key 'channel' of [[feed]]".
[[nodiscard]] std::string described(std::string_view title, std::string_view key);

/// Throws a ConfigError that names the unknown key and the most similar one, or all known keys.
[[noreturn]] void fail_unknown(std::string_view title, std::string_view name, std::span<const std::string_view> known,
                               std::string_view where);

/// Throws a ConfigError that names the removed key and the value that it is fixed to.
[[noreturn]] void fail_removed(std::string_view title, std::string_view name, std::string_view value,
                               std::string_view where);

/// Throws a ConfigError for an unknown table, like fail_unknown.
[[noreturn]] void fail_unknown_table(std::string_view name, std::span<const std::string_view> known,
                                     std::string_view where);

/// The key of that name. title: its table, for messages. Throws like fail_unknown and fail_removed.
template <class Section>
const Key<Section>& find_key(std::span<const Key<Section>> keys, std::string_view title, std::string_view name,
                             std::string_view where) {
    std::vector<std::string_view> known;
    for (const auto& key : keys) {
        if (key.name == name) {
            if (key.is_removed()) fail_removed(title, name, key.help, where);
            return key;
        }
        if (!key.is_removed()) known.push_back(key.name);
    }
    fail_unknown(title, name, known, where);
}

template <class Section>
const Key<Section>& find_key(std::string_view name, std::string_view where) {
    return find_key<Section>(Schema<Section>::keys(), section_title(Schema<Section>::name()), name, where);
}

}  // namespace millpond::settings
