// Measured:     messages of 8, 64 and 112 bytes a second from one processor to another through queues with one producer
//               and one consumer, while the consumer keeps up; none is lost.
// Not measured: waking a sleeping consumer; queues of other kinds: ring_throughput_bench.
#include <cstdint>

#include "bench/harness/compare.hpp"
#include "bench/queue/spsc_sizes.hpp"
#include "bench/queue/stream.hpp"

int main() {
    using namespace millpond;
    bench::compare_sizes(
        {.question = "How many messages of which size a second go through a queue?",
         .unit = "M messages/s",
         .runs = 27,  // rates vary more between rounds than between contenders
         .measured = "from one processor to another, the consumer copies each message and keeps up; the bare "
                     "cache line goes there and back, one at a time",
         .not_measured = "waking a sleeping consumer, queues of other kinds"},
        []<class Link, class Message> { return bench::stream<Link, Message>(); }, {.contender = {}, .at_least = 1.0},
        {{.at = 64,
          .why = "messages of 8 bytes share cache lines; from here on a message and the flag of its "
                 "slot take two lines of their own, which move from one processor to the other for "
                 "each message"}},
        {{.name = bench::kBareLine,
          .run = bench::lines_a_second,
          .point = bench::Point{.line = bench::kBareLine, .at = sizeof(std::uint64_t)}}});
}
