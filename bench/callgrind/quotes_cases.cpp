// Counted:     decoding `quotes` datagrams of eight quotes into events that a handler sums up.
// Not counted: construction, receiving, publishing.
#include <optional>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/quotes_decoder.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/input.hpp"

int main() {
    using namespace millpond;
    constexpr std::size_t kMessages = 4096;
    const auto datagrams = bench::quotes_datagrams(bench::wandering_quotes(kMessages));
    feed::InstrumentTable instruments(bench::kInstruments);
    std::optional<feed::QuotesDecoder> decoder;
    return bench::count_cases({{"a quote of eight", kMessages,
                                [&] {
                                    bench::Sum sum;
                                    for (const auto& datagram : datagrams) (void)decoder->decode(datagram, {}, sum);
                                    return sum.value;
                                },
                                // A new decoder in each run: it would drop the same datagrams as duplicates.
                                [&] { decoder.emplace(instruments, feed::QuotesDecoder::Options{}); }}});
}
