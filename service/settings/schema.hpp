#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/settings/value.hpp"

namespace millpond::settings {

/// One key of a section: how it is written, what it means and how it is stored. The file, the command line and the help
/// all read this, so that a key cannot be in one and not in the others.
template <class Section>
struct Key {
    std::string_view name;   ///< In the file; see flag_of for a top-level key's flag.
    std::string_view shape;  ///< What a value looks like; empty for a boolean.
    std::string_view help;
    void (*assign)(Section&, const Value&);         ///< Throws ConfigError.
    std::string (*show)(const Section&) = nullptr;  ///< The value as a user writes it; empty if there is none.
};

/// A key in words, for help, manual and reference.
struct KeyText {
    std::string name;
    std::string shape;
    std::string help;  ///< With the default, where there is one.
};

/// The help of a key, with the default that a default-constructed section has.
template <class Section>
std::string help_with_default(const Key<Section>& key, const Section& defaults = {}) {
    std::string help{key.help};
    const auto value = key.show == nullptr ? std::string{} : key.show(defaults);
    return value.empty() ? help : help + " (default: " + value + ")";
}

template <class Section>
std::vector<KeyText> texts_of(std::span<const Key<Section>> keys, const Section& defaults = {}) {
    std::vector<KeyText> texts;
    for (const auto& key : keys) {
        texts.push_back({std::string{key.name}, std::string{key.shape}, help_with_default(key, defaults)});
    }
    return texts;
}

/// The keys of a section, and its name in the file ("feed" for [[feed]], empty for the top level).
template <class Section>
struct Schema {
    static std::string_view name();
    static std::span<const Key<Section>> keys();
};

/// The flag of a top-level key or a table: `--drop-copy` of "drop_copy".
[[nodiscard]] std::string flag_of(std::string_view name);

/// How messages name a key: "key 'channel' of [[feed]]".
[[nodiscard]] std::string described(std::string_view section, std::string_view key);

/// Throws a ConfigError that names the unknown key and the one it most resembles, else all that are known.
[[noreturn]] void fail_unknown(std::string_view section, std::string_view name, std::span<const std::string_view> known,
                               std::string_view where);

/// The same for a table of the top level.
[[noreturn]] void fail_unknown_table(std::string_view name, std::span<const std::string_view> known,
                                     std::string_view where);

/// The key of that name. Throws as fail_unknown.
template <class Section>
const Key<Section>& find_key(std::span<const Key<Section>> keys, std::string_view section, std::string_view name,
                             std::string_view where) {
    std::vector<std::string_view> known;
    for (const auto& key : keys) {
        if (key.name == name) return key;
        known.push_back(key.name);
    }
    fail_unknown(section, name, known, where);
}

template <class Section>
const Key<Section>& find_key(std::string_view name, std::string_view where) {
    return find_key<Section>(Schema<Section>::keys(), Schema<Section>::name(), name, where);
}

}  // namespace millpond::settings
