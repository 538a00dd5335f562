#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Names of instruments that a wire format knows by number only, from a file of the user's.
///
/// Threads: built at start-up on one; find on any.
/// Memory:  grows while it is being filled, never afterwards.
class ProductNames {
public:
    /// One product a line: its number, then a comma or blanks, then its symbol. Empty lines and what follows a '#' at
    /// the beginning of a line are skipped. Throws std::invalid_argument that names the line: not a number, no symbol,
    /// a symbol longer than 32 characters or not printable, a product named twice,
    /// a symbol that two products have.
    [[nodiscard]] static ProductNames parse(std::string_view text);

    /// False when the product has a name already.
    bool add(std::uint32_t product, const Symbol& symbol) { return names_.try_emplace(product, symbol).second; }

    /// The name; where there is none the number as text.
    [[nodiscard]] Symbol find(std::uint32_t product) const noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }

private:
    std::unordered_map<std::uint32_t, Symbol> names_;
};

}  // namespace millpond::feed
