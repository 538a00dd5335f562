#pragma once

#include <string_view>

#include <millpond/fix/dictionary.hpp>

namespace millpond::fix {

/// Reads a dictionary in QuickFIX's XML format: header, trailer, messages, components (which may nest) and fields.
/// Link millpond::fix_xml, which needs pugixml; the room fix itself does not.
///
/// Throws DictionaryError that names the element: no XML, an unknown type of field, a field or component that is used
/// and not defined, a component that contains itself, a thing defined twice, an empty group.
/// Source: the files in spec/ of QuickFIX.
[[nodiscard]] Dictionary read_dictionary(std::string_view xml);

}  // namespace millpond::fix
