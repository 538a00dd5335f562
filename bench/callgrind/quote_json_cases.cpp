// Counted:     a Quote's JSON line, the symbol's text made before.
// Not counted: sending, the first line of a symbol.
#include <array>
#include <vector>

#include <millpond/feed/quote_json.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/input.hpp"

int main() {
    using namespace millpond;
    constexpr std::size_t kQuotes = 4096;
    const auto quotes = bench::wandering_quotes(kQuotes);
    std::vector<feed::JsonSymbol> symbols;
    for (std::size_t i = 0; i < bench::kInstruments; ++i) symbols.emplace_back(bench::symbol_of(i));
    return bench::count_cases({{"a line", kQuotes, [&] {
                                    std::array<char, feed::kMaxJsonBytes> line;
                                    std::uint64_t bytes = 0;
                                    for (const auto& quote : quotes) {
                                        const auto& symbol = symbols[quote.instrument];
                                        bytes += feed::quote_json(line, quote, symbol, quote.feed_sequence).size();
                                    }
                                    return bytes;
                                }}});
}
