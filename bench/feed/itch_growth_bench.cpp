// Measured:     what an ITCH message costs while the books grow, with 260 live orders in each.
// Not measured: receiving, publishing, the directory at the start; fewer orders a book: itch_decoder_bench.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bench/feed/order_books.hpp"
#include "bench/harness/compare.hpp"

namespace {

using namespace millpond;

template <std::size_t kBooks>
constexpr bench::OrderShape kShape{.books = kBooks, .live_each = 260, .fill_first = true, .measured = 300'000};

template <std::size_t kBooks>
void add(std::vector<bench::Contender>& contenders) {
    static const auto kStream = bench::order_stream(kShape<kBooks>);
    const auto add = [&]<class Decode>(const std::string& line) {
        contenders.push_back({.name = line + ", " + std::to_string(kBooks),
                              .run = [] { return bench::decode_stream<Decode>(kStream, 1); },
                              .point = bench::Point{.line = line, .at = double{kBooks}}});
    };
    add.template operator()<bench::Decoder<kShape<kBooks>>>("ItchDecoder");
    add.template operator()<bench::Walk<bench::DenseBooks<kShape<kBooks>>>>("limit: dense arrays");
}

}  // namespace

int main() {
    std::vector<bench::Contender> contenders;
    add<64>(contenders);
    add<250>(contenders);
    add<1'000>(contenders);
    add<2'000>(contenders);
    add<4'000>(contenders);
    add<8'000>(contenders);
    bench::compare(
        {.question = "What does an ITCH message cost while the order books grow?",
         .unit = "ns/message",
         .curve =
             bench::Curve{
                 .axis = "books of 260 live orders or more",
                 .knees = {{.at = 1'000,
                            .why = "the orders, 260,000, and their price levels leave the second-level cache: the "
                                   "arrays take about twice as long from here on; the decoder requests ahead what "
                                   "the next messages need, and its line bends less"}}},
         .measured = "from the bytes of a MoldUDP64 datagram of three messages, to books at random, to the order books "
                     "and the Quotes and Trades that a handler has added up",
         .not_measured = "receiving, publishing, the directory at the start"},
        contenders);
}
