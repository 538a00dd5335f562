#pragma once

#include <pugixml.hpp>

#include <millpond/fix/dictionary.hpp>

namespace millpond::fix::xml {

/// Whether it is Orchestra's <repository>, whatever its namespace.
[[nodiscard]] bool is_repository(const pugi::xml_node& root);

/// The dictionary in a <repository>. Throws as read_dictionary.
[[nodiscard]] Dictionary read_repository(const pugi::xml_node& root);

}  // namespace millpond::fix::xml
