// Measured:     half of a round trip of 8, 64 and 112 bytes between two processors through queues with one producer and
//               one consumer, one message at a time.
// Not measured: waking a sleeping consumer; queues of other kinds: ring_hop_bench.
#include "bench/harness/compare.hpp"
#include "bench/queue/ping_pong.hpp"
#include "bench/queue/spsc_sizes.hpp"

int main() {
    using namespace millpond;
    bench::compare_sizes(
        {.question = "What does a hop of a message of which size through a queue cost?",
         .unit = "ns/hop",
         .bracket = bench::Bracket{"bare cache line", [] { return bench::ping_pong<bench::LineLink>().value; }},
         .measured = "half of a round trip between two processors, one message at a time",
         .not_measured = "waking a sleeping consumer, queues of other kinds"},
        []<class Link, class Message> { return bench::ping_pong<Link, Message>(); }, {.contender = {}, .at_most = 1.0});
}
