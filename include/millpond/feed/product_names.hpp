#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Names of instruments that a wire format identifies only by number, read from a file of the user.
///
/// Threads: built at start-up on one; find on any.
/// Memory:  grows while it is being filled, never afterwards.
class ProductNames {
public:
    /// Parses one product per line: its number, a comma or blanks, its symbol. Empty lines and lines that start with
    /// '#' are skipped. Throws std::invalid_argument that names the line: not a number, no symbol, a symbol longer than
    /// 32 characters or not printable, a product named twice, a symbol of two products.
    [[nodiscard]] static ProductNames parse(std::string_view text);

    /// Returns false if the product already has a name.
    bool add(std::uint32_t product, const Symbol& symbol) { return names_.try_emplace(product, symbol).second; }

    /// Returns the name, or the number as text if there is none.
    [[nodiscard]] Symbol find(std::uint32_t product) const noexcept;

    [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }

private:
    std::unordered_map<std::uint32_t, Symbol> names_;
};

}  // namespace millpond::feed
