#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include <pugixml.hpp>

#include <millpond/fix/dictionary.hpp>

/// Access to an XML element for the readers of both formats.
namespace millpond::fix::xml {

/// Components inside of components, and groups inside of groups.
inline constexpr std::size_t kMostNested = 32;

/// Empty if there is none.
inline std::string_view attribute(const pugi::xml_node& node, const char* name) { return node.attribute(name).value(); }

/// Throws DictionaryError if there is none.
inline std::string needed(const pugi::xml_node& node, const char* name) {
    const auto value = attribute(node, name);
    if (value.empty()) throw DictionaryError(std::string{"<"} + node.name() + "> without " + name);
    return std::string{value};
}

/// The attribute as a tag; field: for the error.
inline Tag tag_in(const pugi::xml_node& node, const char* name, const std::string& field) {
    const auto number = needed(node, name);
    Tag tag = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), tag);
    if (error != std::errc{} || end != number.data() + number.size()) {
        throw DictionaryError("field " + field + " has the number '" + number + "'");
    }
    return tag;
}

}  // namespace millpond::fix::xml
