// Counted:     decoding a datagram into events that a handler adds up; encoding a quote as JSON.
// Not counted: construction, the first datagram of an instrument, receiving, publishing.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/feed/quotes_decoder.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/input.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kQuotes = 4096;

std::uint64_t decode_bbo28(feed::Bbo28Decoder& decoder, const std::vector<bench::Bbo28Bytes>& datagrams) {
    bench::Sum sum;
    for (const auto& datagram : datagrams) (void)decoder.decode(datagram, {}, sum);
    return sum.value;
}

std::uint64_t decode_quotes(feed::QuotesDecoder& decoder, const std::vector<std::vector<std::byte>>& datagrams) {
    bench::Sum sum;
    for (const auto& datagram : datagrams) (void)decoder.decode(datagram, {}, sum);
    return sum.value;
}

std::uint64_t encode_json(const std::vector<feed::Quote>& quotes, const std::vector<feed::JsonSymbol>& symbols) {
    std::array<char, feed::kMaxJsonBytes> line;
    std::uint64_t bytes = 0;
    for (const auto& quote : quotes) {
        bytes += feed::quote_json(line, quote, symbols[quote.instrument], quote.feed_sequence).size();
    }
    return bytes;
}

}  // namespace

int main() {
    const auto quotes = bench::wandering_quotes(kQuotes);
    const auto bbo28 = bench::bbo28_datagrams(quotes);
    const auto sequenced = bench::quotes_datagrams(quotes);
    feed::InstrumentTable bbo28_instruments(bench::kInstruments);
    feed::Bbo28Decoder bbo28_decoder(bbo28_instruments, {});
    feed::InstrumentTable quotes_instruments(bench::kInstruments);
    // A new one for each run: the same datagrams again would be duplicates.
    std::optional<feed::QuotesDecoder> quotes_decoder;
    std::vector<feed::JsonSymbol> symbols;
    for (std::size_t i = 0; i < bench::kInstruments; ++i) symbols.emplace_back(bench::symbol_of(i));
    return bench::count_cases({
        {"bbo28 decode, a datagram", kQuotes, [&] { return decode_bbo28(bbo28_decoder, bbo28); }},
        {"quotes decode, a quote of eight", kQuotes, [&] { return decode_quotes(*quotes_decoder, sequenced); },
         [&] { quotes_decoder.emplace(quotes_instruments, feed::QuotesDecoder::Options{}); }},
        {"quote as JSON", kQuotes, [&] { return encode_json(quotes, symbols); }},
    });
}
