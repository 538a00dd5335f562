// Measured:     messages a second from one processor to another while the reader keeps up; none is lost.
// Not measured: a reader that is lapped, several readers.
#include <cstdio>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/queue/crate_contenders.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/queue/jvm_contenders.hpp"
#include "bench/queue/stream.hpp"
#include "bench/rivals/spsc_queues.hpp"

int main() {
    using namespace millpond;
    using bench::stream;
    bench::Question question{.question = "How many messages a second go from one processor to another?",
                             .unit = "M messages/s",
                             .goals = {{.contender = "BroadcastRing", .at_least = 30},
                                       {.contender = "BroadcastRing", .to = "cursor ring", .at_least = 1}},
                             .measured = "112 bytes a message, the reader copies each and keeps up; none is lost",
                             .not_measured = "a reader that is lapped, several readers"};
    std::vector<bench::Contender> contenders{{"cursor ring", stream<bench::CursorLink>},
                                             {"BroadcastRing", stream<bench::BroadcastLink>},
                                             {"SpscRing", stream<bench::SpscLink<>>}};
    contenders.push_back(
        {"boost::lockfree::spsc_queue", stream<bench::BoostSpscLink<bench::Message, bench::kLinkCapacity>>});
#ifdef MILLPOND_BENCH_READERWRITERQUEUE
    contenders.push_back(
        {"moodycamel::ReaderWriterQueue", stream<bench::ReaderWriterQueueLink<bench::Message, bench::kLinkCapacity>>});
#else
    std::puts("moodycamel::ReaderWriterQueue is left out: no libreaderwriterqueue-dev");
#endif
    bench::add_crate_contenders(contenders, question, false, bench::streamed());
    bench::add_jvm_contenders(contenders, question, "stream", bench::streamed());
    bench::compare(question, contenders);
}
