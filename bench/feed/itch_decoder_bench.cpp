// Measured:     from the bytes of a MoldUDP64 datagram of three ITCH messages to order books of full depth and the
//               Quotes and Trades that a handler has added up; as many books and live orders as the build says:
//               64 and 1,000, in cache, or 2,000 and 520,000, a day's shape, in memory, on huge pages.
// Not measured: receiving, publishing, the directory at the start.
#include <string>
#include <vector>

#include "bench/feed/order_books.hpp"
#include "bench/harness/compare.hpp"

namespace {

using namespace millpond;

// A day's shape has its orders before the measurement begins; its messages go to books at random, which misses the
// caches.
constexpr bool kDay = MILLPOND_BENCH_BOOKS > bench::kBooks;
constexpr bench::OrderShape kShape{.books = MILLPOND_BENCH_BOOKS,
                                   .live_each = kDay ? 260 : 16,
                                   .fill_first = kDay,
                                   .measured = kDay ? 600'000 : 27'000};

template <class Decode>
bench::Finding run() {
    static const auto kStream = bench::order_stream(kShape);
    return bench::decode_stream<Decode>(kStream, bench::scaled(kDay ? 1 : 40));
}

}  // namespace

int main() {
    const auto shape = std::to_string(kShape.books) + " books, " + std::to_string(kShape.books * kShape.live_each) +
                       " live orders or more";
    bench::Question question{
        .question = "What does an ITCH message cost, with its order book of full depth? " + shape,
        .unit = "ns/message",
        .measured =
            "from the bytes of a MoldUDP64 datagram of three messages to the order books and the Quotes and "
            "Trades that a handler has added up; " +
            shape,
        .not_measured = "receiving, publishing, the directory at the start"};
    if (kDay) question.goals.push_back({.contender = "ItchDecoder", .at_most = 100});
    std::vector<bench::Contender> contenders{{"limit: dense arrays", run<bench::Walk<bench::DenseBooks<kShape>>>},
                                             {"ItchDecoder", run<bench::Decoder<kShape>>}};
    if (kDay) {
        contenders.push_back({"ItchDecoder, 8 datagrams a read", run<bench::DecoderOfTrains<kShape>>});
        contenders.push_back({"ItchDecoder, base pages", run<bench::Decoder<kShape, memory::HugePages::none>>});
    }
    contenders.push_back({"maps of doubles", run<bench::Walk<bench::MapBooks<kShape>>>});
    bench::compare(question, contenders);
}
