#pragma once

#include <string>
#include <vector>

#include <millpond/fix/dictionary.hpp>

namespace millpond::fix {

struct HeaderOptions {
    std::string name_space{"fix_messages"};    ///< Of what is generated; may be nested, a::b.
    std::vector<std::string> message_types{};  ///< Which messages get a view; empty: all.
};

/// A C++ header that gives a dictionary's tags names and its messages and repeating groups typed views: no look-up of
/// names and no dictionary when it runs. Views are made of a parsed Message and as valid as it.
///
/// Throws std::invalid_argument when a message type is not in the dictionary or the namespace is none.
[[nodiscard]] std::string generate_header(const Dictionary& dictionary, const HeaderOptions& options);

}  // namespace millpond::fix
