// Counted:     decoding a datagram into events that a handler adds up; encoding a quote as JSON.
// Not counted: construction, the first datagram of an instrument, receiving, publishing.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/feed/quotes_decoder.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/input.hpp"
#include "bench/feed/itch_input.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kQuotes = 4096;
const feed::ItchDecoder::Options kItchOptions{
    .book = {.books = bench::kBooks, .orders = 1U << 14, .level_chunks = 256}};

std::uint64_t decode_bbo28(feed::Bbo28Decoder& decoder, const std::vector<bench::Bbo28Bytes>& datagrams) {
    bench::Sum sum;
    for (const auto& datagram : datagrams) (void)decoder.decode(datagram, {}, sum);
    return sum.value;
}

template <class Decoder>
std::uint64_t decode_stream(Decoder& decoder, const std::vector<std::vector<std::byte>>& datagrams) {
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
    // Decoders of sequenced feeds are new in each run: the same datagrams again would be duplicates.
    std::optional<feed::QuotesDecoder> quotes_decoder;
    const auto miax = bench::miax_datagrams(quotes);
    feed::InstrumentTable miax_instruments(bench::kInstruments);
    std::optional<feed::MiaxTomDecoder> miax_decoder;
    const auto itch = bench::itch_datagrams(kQuotes);
    feed::InstrumentTable itch_instruments(bench::kBooks);
    std::optional<feed::ItchDecoder> itch_decoder;
    std::vector<feed::JsonSymbol> symbols;
    for (std::size_t i = 0; i < bench::kInstruments; ++i) symbols.emplace_back(bench::symbol_of(i));
    return bench::count_cases({
        {"bbo28 decode, a datagram", kQuotes, [&] { return decode_bbo28(bbo28_decoder, bbo28); }},
        {"quotes decode, a quote of eight", kQuotes, [&] { return decode_stream(*quotes_decoder, sequenced); },
         [&] { quotes_decoder.emplace(quotes_instruments, feed::QuotesDecoder::Options{}); }},
        {"MIAX decode, a message of two or three", kQuotes, [&] { return decode_stream(*miax_decoder, miax); },
         [&] { miax_decoder.emplace(miax_instruments, feed::MiaxTomDecoder::Options{}); }},
        {"ITCH decode with its books, a message of three", kQuotes, [&] { return decode_stream(*itch_decoder, itch); },
         [&] { itch_decoder.emplace(itch_instruments, kItchOptions); }},
        {"quote as JSON", kQuotes, [&] { return encode_json(quotes, symbols); }},
    });
}
