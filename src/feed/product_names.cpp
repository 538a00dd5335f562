#include <charconv>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include <millpond/feed/decimal.hpp>
#include <millpond/feed/product_names.hpp>

namespace millpond::feed {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool printable(std::string_view text) {
    for (const char c : text) {
        if (c < ' ' || c > '~') return false;
    }
    return true;
}

[[noreturn]] void refuse(std::size_t line, std::string_view text, std::string_view why) {
    throw std::invalid_argument("product names, line " + std::to_string(line) + ": " + std::string{why} + ": " +
                                std::string{text.substr(0, 80)});
}

}  // namespace

ProductNames ProductNames::parse(std::string_view text) {
    ProductNames names;
    std::set<std::string_view> symbols;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const auto end = text.find('\n');
        const auto row = trimmed(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (row.empty() || row.front() == '#') continue;
        std::uint32_t product = 0;
        const auto [rest, error] = std::from_chars(row.data(), row.data() + row.size(), product);
        if (error != std::errc{}) refuse(line, row, "does not begin with a product number");
        auto symbol = trimmed(row.substr(static_cast<std::size_t>(rest - row.data())));
        if (!symbol.empty() && symbol.front() == ',') symbol = trimmed(symbol.substr(1));
        if (symbol.empty()) refuse(line, row, "has no symbol");
        if (!Symbol::fits(symbol)) refuse(line, row, "the symbol is longer than 32 characters");
        if (!printable(symbol)) refuse(line, row, "the symbol is not printable ASCII");
        // Two products with the same name would be one instrument.
        if (!symbols.insert(symbol).second) refuse(line, row, "another product has this symbol");
        if (!names.add(product, Symbol{symbol})) refuse(line, row, "the product has a name already");
    }
    return names;
}

Symbol ProductNames::find(std::uint32_t product) const noexcept {
    if (const auto found = names_.find(product); found != names_.end()) return found->second;
    char text[kMaxIntegerChars + kDecimalSlack];
    return Symbol{{text, static_cast<std::size_t>(write_unsigned(text, product) - text)}};
}

}  // namespace millpond::feed
