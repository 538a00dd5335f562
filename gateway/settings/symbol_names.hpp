#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/feed/instrument_table.hpp>

#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// The table [symbols]: one name for what several venues name differently.
///
/// Threads: built at start-up on one; find on any.
/// Memory:  grows while it is being filled, never afterwards.
class SymbolNames {
public:
    /// Parses one name per line: venue, symbol at the venue and name, separated by commas. Empty lines, lines that
    /// start with '#' and the line "venue,symbol,name" are skipped. Throws ConfigError that names the line: not three
    /// texts, one that is too long or not printable, a symbol of a venue that has a name already, two symbols of one
    /// venue with the same name. file: for messages.
    [[nodiscard]] static SymbolNames parse(std::string_view text, std::string_view file);
    /// Reads and parses the file of a complete configuration; no names without a file. Throws ConfigError, also for a
    /// venue that is none of a composite's.
    [[nodiscard]] static SymbolNames read(const Config& config);

    /// The name of a venue's symbol: the symbol itself if the file has none. Null if the file gives that name to
    /// another symbol of the venue. Valid as long as this object and the symbol.
    [[nodiscard]] const feed::Symbol* find(const feed::Venue& venue, const feed::Symbol& symbol) const;

private:
    using Key = std::pair<feed::Venue, feed::Symbol>;
    std::map<Key, feed::Symbol> names_;  // by venue and symbol
    std::set<Key> named_;                // venues with the names that their symbols have
};

}  // namespace millpond::gateway
