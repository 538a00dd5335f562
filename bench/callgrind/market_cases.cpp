// Counted:     publishing a quote: its board slot, then its ring entry; reading it from the ring; publishing a group,
// of a
//              level or of a level and a quote: depth slot, then board slot and ring entry of each.
// Not counted: opening the ring, naming instruments, joining.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <unistd.h>

#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/input.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kQuotes = 4096;

struct Read : bench::Sum {
    using bench::Sum::on;
    void on(const queue::MissedRange&) noexcept {}
};

}  // namespace

int main() {
    const auto quotes = bench::wandering_quotes(kQuotes);
    const auto name = "callgrind." + std::to_string(getpid());
    market::RingWriter writer({.name = name, .capacity = kQuotes, .max_instruments = bench::kInstruments});
    market::RingWriter deep(
        {.name = name + ".deep", .capacity = kQuotes, .max_instruments = bench::kInstruments, .depth = 10});
    deep.set_depth(0, {.depth = 10});
    for (std::size_t i = 0; i < bench::kInstruments; ++i) {
        for (auto* const ring : {&writer, &deep})
            ring->name(static_cast<feed::InstrumentId>(i), feed::Venue{"XNAS"}, bench::symbol_of(i));
    }
    market::RingReader reader({.name = name});
    const auto publish_all = [&] {
        std::uint64_t published = 0;
        for (const auto& quote : quotes) published += writer.publish(quote) ? 1U : 0U;
        return published;
    };
    std::vector<feed::Level> levels;
    auto lasts = quotes;
    for (auto& quote : lasts) {
        quote.flags = feed::kLast;
        auto& level = levels.emplace_back();
        level.instrument = quote.instrument;
        level.side = feed::Side::bid;
        level.price = quote.bid_price;
        level.size = quote.bid_size;
    }
    const auto publish_groups = [&] {
        std::uint64_t published = 0;
        for (std::size_t i = 0; i < kQuotes; ++i)
            published += deep.publish(levels[i]) && deep.publish(lasts[i]) ? 1U : 0U;
        return published;
    };
    auto alone = levels;
    for (auto& level : alone) level.flags = feed::kLast;
    const auto publish_levels = [&] {
        std::uint64_t published = 0;
        for (const auto& level : alone) published += deep.publish(level) ? 1U : 0U;
        return published;
    };
    return bench::count_cases({
        {"publish a quote on board and ring", kQuotes, publish_all},
        {"read a quote from the ring", kQuotes / 2,  // far enough behind the writer not to be lapped
         [&] {
             Read read;
             reader.poll(read, kQuotes);
             return read.value;
         },
         [&] {
             publish_all();
             reader.seek(reader.newest() - kQuotes / 2 + 1);
         }},
        {"publish a level, depth 10", kQuotes, publish_levels},
        {"publish a level and a quote, depth 10", kQuotes, publish_groups},
    });
}
