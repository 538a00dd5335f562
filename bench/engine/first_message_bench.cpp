// Measured:     the first message after a second of silence, from the call that hands it to an AsyncSender until the
//               peer has its bytes, next to the median of messages sent one at a time. The I/O thread and the caller
//               spin during the silence, each on a processor of its own. The caller reads for the peer, and has
//               loopback traffic of its own, so that only the side that sends is cold. With a warm-up it also makes a
//               draft every millisecond and drops it.
// Not measured: a sleeping I/O thread, other programs that take the caches.
#include "bench/engine/first_message.hpp"

int main() {
    using namespace std::chrono_literals;
    millpond::bench::compare_first_messages(1s, 3, {0ns, millpond::bench::kWarmUp});
}
