// Counted:     decoding MIAX Top of Market datagrams of two or three messages into events that a handler sums up.
// Not counted: construction, receiving, publishing.
#include <optional>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/input.hpp"

int main() {
    using namespace millpond;
    constexpr std::size_t kMessages = 4096;
    const auto datagrams = bench::miax_datagrams(bench::wandering_quotes(kMessages));
    feed::InstrumentTable instruments(bench::kInstruments);
    std::optional<feed::MiaxTomDecoder> decoder;
    return bench::count_cases({{"a message of two or three", kMessages,
                                [&] {
                                    bench::Sum sum;
                                    for (const auto& datagram : datagrams) (void)decoder->decode(datagram, {}, sum);
                                    return sum.value;
                                },
                                // A new decoder in each run: it would drop the same datagrams as duplicates.
                                [&] { decoder.emplace(instruments, feed::MiaxTomDecoder::Options{}); }}});
}
