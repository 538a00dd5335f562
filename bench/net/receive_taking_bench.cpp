// Measured:     taking 64 datagrams of 256 bytes that have come over a pair of virtual interfaces: what is left for the
//               receiver's processor when another one does the kernel's work.
// Not measured: sending, the kernel's work on the way, waiting, interrupts, an interface's own work.
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
    bench::compare({.question = "What does taking a datagram cost the receiver's processor by each receive path?",
                    .unit = "ns/datagram",
                    .measured = "taking 64 datagrams of 256 bytes that have come over virtual interfaces",
                    .not_measured = "sending, the kernel's work on the way, waiting, interrupts, an interface's own "
                                    "work"},
                   bench::carriers<bench::Part::receiving>(*pair));
}
