// Measured:     from the bytes of a `quotes` datagram of eight quotes, in cache, to Quotes that a handler has added up.
// Not measured: receiving, publishing, a symbol's first quote.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/feed/quotes_layout.hpp>

#include "bench/feed/input.hpp"
#include "bench/feed/stream.hpp"
#include "bench/harness/compare.hpp"

namespace {

using namespace millpond;
namespace at = feed::quotes_layout;

constexpr std::size_t kQuotes = 8'192;
constexpr std::size_t kWarm = 1024;  // the first quotes, which name every instrument
const bench::Stream kStream{.datagrams = bench::quotes_datagrams(bench::wandering_quotes(kQuotes)),
                            .warm = kWarm / 8,
                            .messages = kQuotes - kWarm};

template <class Decode>
bench::Finding run() {
    return bench::decode_stream<Decode>(kStream, bench::scaled(200));
}

// Walks the quotes of a datagram by their two length bytes.
template <class OnQuote>
void walk(const std::vector<std::byte>& datagram, OnQuote&& on_quote) {
    const auto* bytes = datagram.data();
    const auto count = core::load_le<std::uint16_t>(bytes + at::kCountAt);
    bytes += at::kHeaderBytes;
    for (unsigned i = 0; i < count; ++i) {
        const auto symbol_length = std::to_integer<std::size_t>(bytes[at::kSymbolLengthAt]);
        const auto venue_length = std::to_integer<std::size_t>(bytes[at::kVenueLengthAt]);
        on_quote(bytes, venue_length, symbol_length);
        bytes += at::kNamesAt + venue_length + symbol_length;
    }
}

// The bare minimum: loads at fixed offsets, and a perfect hash of exactly these names, without checks.
class FixedOffsets {
public:
    FixedOffsets() {
        std::uint64_t multiplier = 0x9E37'79B9'7F4A'7C15;
        while (!try_multiplier(multiplier)) multiplier = multiplier * 6'364'136'223'846'793'005U + 2;
    }

    void operator()(const std::vector<std::byte>& datagram, bench::Sum& sum) const {
        walk(datagram, [&](const std::byte* bytes, std::size_t, std::size_t symbol_length) {
            feed::Quote quote;
            quote.instrument = ids_[place(key(bytes, symbol_length))];
            quote.bid_price = core::load_le<std::int64_t>(bytes + at::kBidPriceAt);
            quote.ask_price = core::load_le<std::int64_t>(bytes + at::kAskPriceAt);
            quote.bid_size = core::load_le<std::uint64_t>(bytes + at::kBidSizeAt);
            quote.ask_size = core::load_le<std::uint64_t>(bytes + at::kAskSizeAt);
            sum.on(quote);
        });
    }

private:
    static constexpr unsigned kBits = 14;

    // The last eight bytes of venue and symbol and the symbol's length, which distinguish these symbols.
    static std::uint64_t key(const std::byte* bytes, std::size_t symbol_length) {
        return core::load_le<std::uint64_t>(bytes + at::kNamesAt + 4 + symbol_length - 8);
    }
    [[nodiscard]] std::size_t place(std::uint64_t key) const { return (key * multiplier_) >> (64 - kBits); }

    bool try_multiplier(std::uint64_t multiplier) {
        constexpr std::uint16_t kFree = 0xFFFF;
        multiplier_ = multiplier;
        ids_.fill(kFree);
        std::uint16_t next = 0;
        bool distinct = true;
        for (std::size_t i = 0; i < bench::kInstruments / 8; ++i) {
            walk(kStream.datagrams[i], [&](const std::byte* bytes, std::size_t, std::size_t symbol_length) {
                auto& id = ids_[place(key(bytes, symbol_length))];
                distinct = distinct && id == kFree;
                id = next++;
            });
        }
        return distinct;
    }

    std::uint64_t multiplier_{0};
    std::array<std::uint16_t, std::size_t{1} << kBits> ids_;
};

// Like the decoder above, into a struct of doubles and strings, and a map from names to numbers.
class DoublesAndStrings {
public:
    void operator()(const std::vector<std::byte>& datagram, bench::Sum& sum) {
        walk(datagram, [&](const std::byte* bytes, std::size_t venue_length, std::size_t symbol_length) {
            const auto* const names = reinterpret_cast<const char*>(bytes + at::kNamesAt);
            const std::string venue(names, venue_length);
            const std::string symbol(names + venue_length, symbol_length);
            const auto price = [&](std::size_t where) {
                return static_cast<double>(core::load_le<std::int64_t>(bytes + where)) / 1e9;
            };
            const auto bid_price = price(at::kBidPriceAt);
            const auto ask_price = price(at::kAskPriceAt);
            feed::Quote quote;
            quote.instrument =
                static_cast<feed::InstrumentId>(ids_.try_emplace(venue + ":" + symbol, ids_.size()).first->second);
            quote.bid_price = std::llround(bid_price * 1e9);
            quote.ask_price = std::llround(ask_price * 1e9);
            quote.bid_size = core::load_le<std::uint64_t>(bytes + at::kBidSizeAt);
            quote.ask_size = core::load_le<std::uint64_t>(bytes + at::kAskSizeAt);
            sum.on(quote);
        });
    }

private:
    std::unordered_map<std::string, std::size_t> ids_;
};

struct Decoder {
    feed::InstrumentTable instruments{bench::kInstruments};
    feed::QuotesDecoder decoder{instruments, {}};

    void operator()(const std::vector<std::byte>& datagram, bench::Sum& sum) {
        (void)decoder.decode(datagram, {}, sum);
    }
};

}  // namespace

int main() {
    bench::compare({.question = "What does decoding a quote of a `quotes` datagram cost?",
                    .unit = "ns/quote",
                    .measured = "from the bytes in cache to a Quote that a handler has added up; eight a datagram, "
                                "sequence followed, symbol looked up",
                    .not_measured = "receiving, publishing, a symbol's first quote"},
                   {{"limit: fixed offsets", run<FixedOffsets>},
                    {"QuotesDecoder", run<Decoder>},
                    {"doubles and std::string", run<DoublesAndStrings>}});
}
