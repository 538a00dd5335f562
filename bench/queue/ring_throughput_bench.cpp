// Measured:     messages a second from one processor to another while the reader keeps up; none is lost.
// Not measured: a reader that is lapped, several readers.
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/queue/ping_pong.hpp"
#include "bench/queue/ring_rivals.hpp"
#include "bench/queue/stream.hpp"

int main() {
    using namespace millpond;
    using bench::stream;
    bench::Question question{.question = "How many messages a second go from one processor to another?",
                             .unit = "M messages/s",
                             .runs = 27,  // rates vary more between rounds than between contenders
                             .ratio_to = "cursor ring",
                             .goals = {{.contender = "BroadcastRing", .at_least = 30}},
                             .measured =
                                 "112 bytes a message, the reader copies each and keeps up; none is lost. The "
                                 "bare cache line goes there and back, one at a time",
                             .not_measured = "a reader that is lapped, several readers"};
    std::vector<bench::Contender> contenders{{"BroadcastRing", stream<bench::BroadcastLink>},
                                             {"SpscRing", stream<bench::SpscLink<>>},
                                             {bench::kBareLine, bench::lines_a_second}};
    bench::add_ring_rivals(contenders, question, {.hops = false, .count = bench::streamed()},
                           []<class Link> { return stream<Link>(); });
    bench::compare(question, contenders);
}
