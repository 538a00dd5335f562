// Counted:     decoding bbo28 datagrams into Quotes that a handler sums up.
// Not counted: construction, a symbol's first datagram, receiving, publishing.
#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/instrument_table.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/input.hpp"

int main() {
    using namespace millpond;
    constexpr std::size_t kQuotes = 4096;
    const auto datagrams = bench::bbo28_datagrams(bench::wandering_quotes(kQuotes));
    feed::InstrumentTable instruments(bench::kInstruments);
    feed::Bbo28Decoder decoder(instruments, {});
    return bench::count_cases({{"a datagram", kQuotes, [&] {
                                    bench::Sum sum;
                                    for (const auto& datagram : datagrams) (void)decoder.decode(datagram, {}, sum);
                                    return sum.value;
                                }}});
}
