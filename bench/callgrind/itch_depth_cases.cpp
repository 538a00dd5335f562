// Counted:     decoding MoldUDP64 datagrams of three ITCH messages, with their order books, into groups of order and
// level events that a handler adds up. Not counted: construction, receiving, publishing.
#include <optional>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/itch_input.hpp"

namespace millpond::bench {
namespace {

struct BookSum : Sum {
    using Sum::on;
    void on(const feed::Order& order) noexcept { value += order.size; }
    void on(const feed::Level& level) noexcept { value += level.size; }
};

}  // namespace
}  // namespace millpond::bench

int main() {
    using namespace millpond;
    constexpr std::size_t kMessages = 4096;
    constexpr bench::OrderShape kDeep{.live_each = 260, .fill_first = true, .measured = kMessages};
    const auto shallow = bench::itch_datagrams(kMessages);
    const auto deep = bench::itch_datagrams(kDeep.messages(), kDeep);
    feed::InstrumentTable instruments(bench::kBooks);
    std::optional<feed::ItchDecoder> decoder;
    bench::BookSum sum;
    // filling: leading datagrams that are not counted.
    const auto count = [&](const char* name, std::uint32_t depth, bool orders, const auto& datagrams,
                           std::size_t filling) {
        return bench::Case{name, kMessages,
                           [&, filling] {
                               for (auto i = filling; i < datagrams.size(); ++i)
                                   (void)decoder->decode(datagrams[i], {}, sum);
                               return sum.value;
                           },
                           // A new one in each run: the same datagrams again would be duplicates.
                           [&, depth, orders, filling] {
                               decoder.emplace(
                                   instruments,
                                   feed::ItchDecoder::Options{
                                       .order_books = {.books = bench::kBooks, .orders = 1U << 16, .level_chunks = 256},
                                       .depth = depth,
                                       .orders = orders});
                               for (std::size_t i = 0; i < filling; ++i) (void)decoder->decode(datagrams[i], {}, sum);
                               sum = {};
                           }};
    };
    const auto filling = kDeep.warm() / bench::kItchMessagesEach;
    return bench::count_cases(
        {count("a message of three, depth and orders off", 0, false, shallow, 0),
         count("a message of three, depth 10", 10, false, shallow, 0),
         count("a message of three, depth 10 and orders", 10, true, shallow, 0),
         count("a message of three, all levels and orders", feed::kFullDepth, true, shallow, 0),
         count("a message of three to deep books, depth and orders off", 0, false, deep, filling),
         count("a message of three to deep books, depth 10", 10, false, deep, filling),
         count("a message of three to deep books, all levels and orders", feed::kFullDepth, true, deep, filling)});
}
