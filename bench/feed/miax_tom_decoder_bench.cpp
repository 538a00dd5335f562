// Measured:     from the bytes of a MIAX ToM datagram of two or three one-sided messages, in cache, to two-sided Quotes
//               that a handler has added up.
// Not measured: receiving, publishing, a product's first message.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/miax_tom_layout.hpp>

#include "bench/feed/input.hpp"
#include "bench/feed/stream.hpp"
#include "bench/harness/compare.hpp"

namespace {

using namespace millpond;
namespace at = feed::miax_tom_layout;

constexpr std::size_t kMessages = 8'192;
constexpr std::size_t kWarmDatagrams = 512;  // two or three messages each
const bench::Stream kStream{.datagrams = bench::miax_datagrams(bench::wandering_quotes(kMessages)),
                            .warm = kWarmDatagrams,
                            .messages = kMessages - kWarmDatagrams * 5 / 2};

template <class Decode>
bench::Finding run() {
    return bench::decode_stream<Decode>(kStream, bench::scaled(200));
}

// Calls on_side(is_bid, product, price in 1/100, size) for each message of the datagram; all are narrow.
template <class OnSide>
void walk(const std::vector<std::byte>& datagram, OnSide&& on_side) {
    for (const auto *bytes = datagram.data(), *end = bytes + datagram.size(); bytes < end;
         bytes += core::load_le<std::uint16_t>(bytes + at::kLengthAt)) {
        const auto* const message = bytes + at::kHeaderBytes;
        on_side(static_cast<char>(message[0]) == 'B', core::load_le<std::uint32_t>(message + at::kProductAt),
                core::load_le<std::uint16_t>(message + at::kSideAt),
                core::load_le<std::uint16_t>(message + at::kSideAt + at::kNarrow.size_at));
    }
}

// The bare minimum: loads at fixed offsets, into the two sides of an array that is indexed by the product's number.
class FixedOffsets {
public:
    FixedOffsets() {
        for (std::size_t i = 0; i < bench::kInstruments; ++i) {
            quotes_[i].instrument = static_cast<feed::InstrumentId>(i);
        }
    }

    void operator()(const std::vector<std::byte>& datagram, bench::Sum& sum) {
        walk(datagram, [&](bool is_bid, std::uint32_t product, std::uint16_t price, std::uint16_t size) {
            auto& quote = quotes_[(product - bench::product_of(0)) / (bench::product_of(1) - bench::product_of(0))];
            (is_bid ? quote.bid_price : quote.ask_price) = feed::price_from<100>(price);
            (is_bid ? quote.bid_size : quote.ask_size) = size;
            sum.on(quote);
        });
    }

private:
    std::array<feed::Quote, bench::kInstruments> quotes_{};
};

// Like the decoder above, into structs of doubles and a name, found by a map.
class DoublesAndStrings {
public:
    void operator()(const std::vector<std::byte>& datagram, bench::Sum& sum) {
        walk(datagram, [&](bool is_bid, std::uint32_t product, std::uint16_t price, std::uint16_t size) {
            const auto [found, fresh] = books_.try_emplace(std::to_string(product));
            auto& book = found->second;
            if (fresh) book.id = books_.size() - 1;
            (is_bid ? book.bid_price : book.ask_price) = price / 100.0;
            (is_bid ? book.bid_size : book.ask_size) = size;
            feed::Quote quote;
            quote.instrument = static_cast<feed::InstrumentId>(book.id);
            quote.bid_price = std::llround(book.bid_price * 1e9);
            quote.ask_price = std::llround(book.ask_price * 1e9);
            quote.bid_size = book.bid_size;
            quote.ask_size = book.ask_size;
            sum.on(quote);
        });
    }

private:
    struct Book {
        std::size_t id{0};
        double bid_price{0};
        double ask_price{0};
        std::uint32_t bid_size{0};
        std::uint32_t ask_size{0};
    };
    std::unordered_map<std::string, Book> books_;
};

struct Decoder {
    feed::InstrumentTable instruments{bench::kInstruments};
    feed::MiaxTomDecoder decoder{instruments, {}};

    void operator()(const std::vector<std::byte>& datagram, bench::Sum& sum) {
        (void)decoder.decode(datagram, {}, sum);
    }
};

}  // namespace

int main() {
    bench::compare(
        {.question = "What does decoding a MIAX Top of Market message cost?",
         .unit = "ns/message",
         .measured = "from the bytes in cache to a two-sided Quote that a handler has added up; two or three "
                     "one-sided messages a datagram, sequence followed, product looked up",
         .not_measured = "receiving, publishing, a product's first message"},
        {{"limit: fixed offsets", run<FixedOffsets>},
         {"MiaxTomDecoder", run<Decoder>},
         {"doubles and std::string", run<DoublesAndStrings>}});
}
