#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_deep_plus.hpp>
#include <millpond/feed/iex_tops.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/quote_csv.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/feed/quotes_decoder.hpp>

#include "tests/support/free_of_cost.hpp"

namespace millpond::feed {
namespace {

constexpr std::size_t kInstruments = 100;

/// Converts every event to text, like a sink.
struct Encode {
    const std::vector<JsonSymbol>* json;
    const std::vector<CsvSymbol>* csv;
    std::array<char, kMaxJsonBytes> object{};
    std::array<char, kMaxCsvBytes> line{};
    std::uint64_t events{0};
    std::uint64_t characters{0};

    void on(const Quote& quote) {
        ++events;
        characters += quote_json(object, quote, (*json)[quote.instrument], events).size();
        characters += quote_csv(line, quote, (*csv)[quote.instrument]).size();
    }
    template <class Event>
    void on(const Event& event) {
        ++events;
        characters += event_json(object, event, (*json)[0], events).size();
    }
};

/// Decodes a generated feed with a gap, a duplicate and a malformed datagram, and encodes its events.
template <class Decoder, class Options>
void expect_no_cost(WireFormat format, const Options& options) {
    InstrumentTable instruments{kInstruments};
    GeneratedFeed feed{{.format = format, .market = {.instruments = kInstruments}, .steps_per_datagram = 3}};
    Decoder decoder{instruments, options};
    std::vector<JsonSymbol> json(kInstruments, JsonSymbol{Symbol{"NAME"}});
    std::vector<CsvSymbol> csv(kInstruments, CsvSymbol{Symbol{"NAME"}});
    Encode encode{&json, &csv};
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    std::int64_t utc_ns = 1'700'000'000'000'000'000;
    test::expect_free_of_cost([&] {
        const auto before = decoder.counters().quotes.read();
        for (int i = 0; i < 20'000; ++i) {
            const auto datagram = feed.next(buffer, utc_ns += 1'000'000);
            if (i % 1'000 == 500) continue;  // lost
            (void)decoder.decode(datagram, {}, encode);
            if (i % 1'000 == 600) (void)decoder.decode(datagram, {}, encode);
            if (i % 1'000 == 700) (void)decoder.decode(datagram.first(datagram.size() - 1), {}, encode);
        }
        return decoder.counters().quotes.read() > before && encode.characters > 0;
    });
}

TEST(HotPath, Bbo28NeedsNoHeapNoFaultAndNoSystemCall) {
    expect_no_cost<Bbo28Decoder>(WireFormat::bbo28, Bbo28Decoder::Options{});
}
TEST(HotPath, QuotesNeedNoHeapNoFaultAndNoSystemCall) {
    expect_no_cost<QuotesDecoder>(WireFormat::quotes, QuotesDecoder::Options{});
}
TEST(HotPath, MiaxTomNeedsNoHeapNoFaultAndNoSystemCall) {
    expect_no_cost<MiaxTomDecoder>(WireFormat::miax_tom, MiaxTomDecoder::Options{});
}
TEST(HotPath, IexTopsNeedsNoHeapNoFaultAndNoSystemCall) {
    expect_no_cost<IexTopsDecoder>(WireFormat::iex_tops, IexTopsDecoder::Options{});
}
TEST(HotPath, IexDeepNeedsNoHeapNoFaultAndNoSystemCall) {
    IexDeepDecoder::Options options;
    options.order_books = {.books = kInstruments, .orders = 1, .level_chunks = 512};
    expect_no_cost<IexDeepDecoder>(WireFormat::iex_deep, options);
}
TEST(HotPath, IexDeepPlusNeedsNoHeapNoFaultAndNoSystemCall) {
    IexDeepPlusDecoder::Options options;
    options.order_books = {.books = kInstruments, .level_chunks = 512};
    expect_no_cost<IexDeepPlusDecoder>(WireFormat::iex_deep_plus, options);
}
TEST(HotPath, ItchNeedsNoHeapNoFaultAndNoSystemCall) {
    expect_no_cost<ItchDecoder>(WireFormat::itch,
                                ItchDecoder::Options{.order_books = {.books = kInstruments, .level_chunks = 512}});
}

}  // namespace
}  // namespace millpond::feed
