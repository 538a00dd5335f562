#pragma once

#include <string>
#include <vector>

#include <millpond/fix/dictionary.hpp>

namespace millpond::fix {

struct HeaderOptions {
    std::string name_space{"fix_messages"};    ///< Namespace of the generated code; may be nested, a::b.
    std::vector<std::string> message_types{};  ///< Messages that get a view; empty: all.
};

/// Generates a C++ header with named tags and typed views of a dictionary's messages and repeating groups: no lookup of
/// names and no dictionary at run time. Views are made from a parsed Message and valid as long as it is.
///
/// Throws std::invalid_argument if a message type is not in the dictionary or the namespace is not valid.
[[nodiscard]] std::string generate_header(const Dictionary& dictionary, const HeaderOptions& options);

}  // namespace millpond::fix
