#pragma once

#include <pugixml.hpp>

#include <millpond/fix/dictionary.hpp>

namespace millpond::fix::xml {

/// Whether the element is Orchestra's <repository>, in any namespace.
[[nodiscard]] bool is_repository(const pugi::xml_node& root);

/// Reads the dictionary in a <repository>. Throws like read_dictionary.
[[nodiscard]] Dictionary read_repository(const pugi::xml_node& root);

}  // namespace millpond::fix::xml
