// Measured:     256-byte datagrams over a pair of virtual interfaces, on one processor: the sender's calls, the
//               kernel's work on the way, and taking them out. The sender's part is the same for all.
// Not measured: waiting, interrupts, an interface's own work.
#include <stdexcept>
#include <string>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/net/carry.hpp"
#include "tests/net/network_pair.hpp"

int main() {
    using namespace millpond;
    bench::run_on(bench::two_cores().first);
    std::string why;
    const auto pair = net::test::NetworkPair::make(why);
    if (pair == nullptr) throw std::runtime_error(why);
    bench::compare(
        {.question = "What does a datagram cost a processor by each receive path?",
         .unit = "ns/datagram",
         .measured = "256-byte datagrams over virtual interfaces, on one processor: sending, the kernel's work "
                     "on the way, taking them out",
         .not_measured = "waiting, interrupts, an interface's own work"},
        bench::carriers<bench::Part::all>(*pair));
}
