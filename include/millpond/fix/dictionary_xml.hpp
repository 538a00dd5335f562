#pragma once

#include <string_view>

#include <millpond/fix/dictionary.hpp>

namespace millpond::fix {

/// Reads a dictionary in QuickFIX's XML format (header, trailer, messages, components, which may nest, and fields) or a
/// FIX Orchestra repository, such as that of FIX Latest. Of several scenarios the one named base is used, and
/// references use the scenario that they name; rules and extension packs are ignored. A field whose type is a code set
/// permits only its codes, unless it has a unionDataType. A field of an unknown type is text; Dictionary::warnings
/// names it. Link millpond::fix_xml, which needs pugixml; the component fix itself does not.
///
/// Throws DictionaryError with the element: invalid XML, another root or namespace, an undefined field, component or
/// group, one that contains itself, a duplicate definition, an empty group.
/// Source: the files in spec/ of QuickFIX; FIX Orchestra 1.0, technical standard, repository2020.xsd.
[[nodiscard]] Dictionary read_dictionary(std::string_view xml);

}  // namespace millpond::fix
