#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <pugixml.hpp>

#include <millpond/fix/dictionary.hpp>

/// Access to an XML element for the readers of both formats.
namespace millpond::fix::xml {

/// Maximum depth of nested components and groups.
inline constexpr std::size_t kMaxNested = 32;

/// Value of an attribute; empty if there is none.
inline std::string_view attribute(const pugi::xml_node& node, const char* name) { return node.attribute(name).value(); }

/// Value of a required attribute. Throws DictionaryError if there is none.
inline std::string needed(const pugi::xml_node& node, const char* name) {
    const auto value = attribute(node, name);
    if (value.empty()) throw DictionaryError(std::string{"<"} + node.name() + "> without " + name);
    return std::string{value};
}

/// Parses the attribute as a tag. field: its name, for errors.
inline Tag tag_in(const pugi::xml_node& node, const char* name, const std::string& field) {
    const auto number = needed(node, name);
    Tag tag = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), tag);
    if (error != std::errc{} || end != number.data() + number.size()) {
        throw DictionaryError("field " + field + " has the number '" + number + "'");
    }
    return tag;
}

/// The type, or text with a warning if it is unknown.
inline FieldType type_or_text(Dictionary& dictionary, std::optional<FieldType> type, const std::string& field,
                              const std::string& type_name) {
    if (type) return *type;
    dictionary.add_warning("field " + field + " has the unknown type '" + type_name + "': it is read as text");
    return FieldType::text;
}

}  // namespace millpond::fix::xml
