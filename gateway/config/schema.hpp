#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gateway/config/config.hpp"
#include "gateway/config/value.hpp"

namespace millpond::gateway {

/// One key of a section: how it is written, what it means and how it is stored. The file, the command line and the help
/// all read this, so that a key cannot be in one and not in the others.
template <class Section>
struct Key {
    std::string_view name;   ///< In the file; a top-level key's flag is this with '-' for '_'.
    std::string_view shape;  ///< What a value looks like; empty for a boolean.
    std::string_view help;
    void (*assign)(Section&, const Value&);  ///< Throws ConfigError.
};

/// The keys of a section, and its name in the file ("feed" for [[feed]], empty for the top level).
template <class Section>
struct Schema {
    static std::string_view name();
    static std::span<const Key<Section>> keys();
};

/// The key of that name; throws a ConfigError that names the unknown key and the one it most resembles.
template <class Section>
const Key<Section>& find_key(std::string_view name, std::string_view where);

/// How messages name a key: "key 'channel' of [[feed]]".
std::string described(std::string_view section, std::string_view key);

}  // namespace millpond::gateway
