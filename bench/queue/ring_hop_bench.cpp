// Measured:     half of a round trip between two processors, through a link there and a like link back.
// Not measured: construction, waking a sleeping thread, several readers.
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/queue/ping_pong.hpp"
#include "bench/queue/ring_rivals.hpp"

int main() {
    using namespace millpond;
    using bench::ping_pong;
    bench::Question question{
        .question = "What does one hop of a message between two processors cost?",
        .unit = "ns/hop",
        .goals = {{.contender = "BroadcastRing", .to = "bare cache line", .at_most = 1.1},
                  {.contender = "BroadcastRing", .to = "bare entry", .at_most = 1.1}},
        .bracket = bench::Bracket{"bare cache line", [] { return ping_pong<bench::LineLink>().value; }},
        .measured = "half of a round trip of 112 bytes between two processors, one message at a time",
        .not_measured = "construction, waking a sleeping thread, several readers"};
    std::vector<bench::Contender> contenders{{"the limit once more", ping_pong<bench::LineLink>},
                                             {"bare entry", ping_pong<bench::EntryLink>},
                                             {"BroadcastRing", ping_pong<bench::BroadcastLink>},
                                             {"SpscRing", ping_pong<bench::SpscLink<>>}};
    bench::add_ring_rivals(contenders, question, {.hops = true, .count = bench::trips_of_a_run()},
                           []<class Link> { return ping_pong<Link>(); });
    bench::compare(question, contenders);
}
