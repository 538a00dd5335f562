// Measured:     messages of 8, 64 and 112 bytes a second from one processor to another through queues with one producer
//               and one consumer, while the consumer keeps up; none is lost.
// Not measured: waking a sleeping consumer; queues of other kinds: ring_throughput_bench.
#include "bench/harness/compare.hpp"
#include "bench/queue/spsc_sizes.hpp"
#include "bench/queue/stream.hpp"

int main() {
    using namespace millpond;
    bench::compare_sizes({.question = "How many messages of which size a second go through a queue?",
                          .unit = "M messages/s",
                          .measured = "from one processor to another, the consumer copies each message and keeps up",
                          .not_measured = "waking a sleeping consumer, queues of other kinds"},
                         []<class Link, class Message> { return bench::stream<Link, Message>(); },
                         {.contender = {}, .at_least = 1.0});
}
