#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "fixd/quickfix/quickfix_import.hpp"
#include "fixd/quickfix/quickfix_settings.hpp"
#include "fixd/quickfix/toml_lines.hpp"

namespace millpond::fixd::quickfix {

/// An [[acceptor]] and the keys of its TLS.
struct Acceptor {
    std::size_t line;  ///< In the settings file.
    std::string listen;
    std::string name;
    TomlLines tls{};
};

/// The tables of one [SESSION]. file: its name, for messages; acceptors: those that earlier sessions need, gets this
/// one's; left_out: gets the settings without a counterpart. Throws service::ConfigError with file and line.
[[nodiscard]] TomlLines session_tables(const Section& section, std::string_view file, std::vector<Acceptor>& acceptors,
                                       std::vector<LeftOut>& left_out);

}  // namespace millpond::fixd::quickfix
