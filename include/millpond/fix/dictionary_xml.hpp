#pragma once

#include <string_view>

#include <millpond/fix/dictionary.hpp>

namespace millpond::fix {

/// Reads a dictionary in QuickFIX's XML format (header, trailer, messages, components, which may nest, and fields) or a
/// FIX Orchestra repository, such as that of FIX Latest. Of what a repository has in several scenarios, the one named
/// base counts, and references go to the scenario that they name; rules and extension packs do not count. A field whose
/// type is a code set takes its codes only, unless it has a unionDataType.
/// Link millpond::fix_xml, which needs pugixml; the room fix itself does not.
///
/// Throws DictionaryError that names the element: no XML, another root or namespace, an unknown type of field, a field,
/// component or group that is used and not defined, one that contains itself, a thing defined twice, an empty group.
/// Source: the files in spec/ of QuickFIX; FIX Orchestra 1.0, technical standard, repository2020.xsd.
[[nodiscard]] Dictionary read_dictionary(std::string_view xml);

}  // namespace millpond::fix
