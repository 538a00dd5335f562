// Measured:     from a Quote to its JSON line in a buffer in cache; the symbol's text was made before.
// Not measured: sending; the first line of a symbol.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/quote_json.hpp>

#include "bench/feed/input.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kQuotes = 4096;
using Line = std::array<char, feed::kMaxJsonBytes>;

const auto kInput = bench::wandering_quotes(kQuotes);

std::vector<feed::JsonSymbol> json_symbols() {
    std::vector<feed::JsonSymbol> symbols;
    for (std::size_t i = 0; i < bench::kInstruments; ++i) symbols.emplace_back(bench::symbol_of(i));
    return symbols;
}

// Runs `encode(line, index)`, which returns the line's text, and sums up lengths and a character in the middle.
template <class Encode>
bench::Finding run(Encode&& encode) {
    std::uint64_t answer = 0;
    Line line;
    const auto nanos = bench::typical_nanos_each(bench::scaled(60), kQuotes, [&] {
        for (std::size_t i = 0; i < kQuotes; ++i) {
            const std::string_view text = encode(line, i);
            bench::keep(line);
            answer += text.size() + static_cast<unsigned char>(text[text.size() / 2]);
        }
    });
    return {.value = nanos, .answer = answer};
}

// The usual way to write such a line: prices as doubles, through the C library's formatter.
std::string_view print_line(Line& line, const feed::Quote& quote, const std::string& symbol) {
    const double bid = static_cast<double>(quote.bid_price) / 1e9;
    const double ask = static_cast<double>(quote.ask_price) / 1e9;
    const int size = std::snprintf(
        line.data(), line.size(),
        R"({"type":"quote","symbol":"%s","timestamp":%lld,"exchange_timestamp":%lld,"sequence":%llu,)"
        R"("bid":{"price":%.4f,"shares":%llu},"ask":{"price":%.4f,"shares":%llu},)"
        R"("spread":{"price":%.4f,"percent":%.4f},"incomplete":%s})",
        symbol.c_str(), static_cast<long long>(quote.receive_utc_ns), static_cast<long long>(quote.exchange_utc_ns),
        static_cast<unsigned long long>(quote.feed_sequence), bid, static_cast<unsigned long long>(quote.bid_size), ask,
        static_cast<unsigned long long>(quote.ask_size), ask - bid, (ask - bid) / ((ask + bid) / 2) * 100,
        (quote.flags & feed::kIncomplete) != 0 ? "true" : "false");
    return {line.data(), static_cast<std::size_t>(size)};
}

}  // namespace

int main() {
    const auto symbols = json_symbols();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < bench::kInstruments; ++i) names.emplace_back(bench::symbol_of(i).view());
    std::vector<std::string> ready;  // lines that the limit copies
    for (const auto& quote : kInput) {
        Line line;
        ready.emplace_back(feed::quote_json(line, quote, symbols[quote.instrument], quote.feed_sequence));
    }
    bench::compare({.question = "What does a quote's JSON line cost?",
                    .unit = "ns/line",
                    .goals = {{.contender = "quote_json", .at_most = 60}},
                    .measured = "from a Quote to its JSON line in a buffer in cache; the symbol's text was made before",
                    .not_measured = "sending, the first line of a symbol"},
                   {{"limit: memcpy of the finished line",
                     [&] {
                         return run([&](Line& line, std::size_t i) {
                             std::memcpy(line.data(), ready[i].data(), ready[i].size());
                             return std::string_view(line.data(), ready[i].size());
                         });
                     }},
                    {"quote_json",
                     [&] {
                         return run([&](Line& line, std::size_t i) {
                             const auto& quote = kInput[i];
                             return feed::quote_json(line, quote, symbols[quote.instrument], quote.feed_sequence);
                         });
                     }},
                    {"snprintf of doubles", [&] {
                         return run([&](Line& line, std::size_t i) {
                             return print_line(line, kInput[i], names[kInput[i].instrument]);
                         });
                     }}});
}
