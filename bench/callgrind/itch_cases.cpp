// Counted:     decoding MoldUDP64 datagrams of three ITCH messages, with their order books, into events that a handler
// adds up. Not counted: construction, receiving, publishing.
#include <optional>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/itch_input.hpp"

int main() {
    using namespace millpond;
    constexpr std::size_t kMessages = 4096;
    const auto datagrams = bench::itch_datagrams(kMessages);
    feed::InstrumentTable instruments(bench::kBooks);
    std::optional<feed::ItchDecoder> decoder;
    return bench::count_cases(
        {{"a message of three", kMessages,
          [&] {
              bench::Sum sum;
              for (const auto& datagram : datagrams) (void)decoder->decode(datagram, {}, sum);
              return sum.value;
          },
          // A new decoder in each run: it would drop the same datagrams as duplicates.
          [&] {
              decoder.emplace(instruments,
                              feed::ItchDecoder::Options{
                                  .order_books = {.books = bench::kBooks, .orders = 1U << 14, .level_chunks = 256}});
          }}});
}
