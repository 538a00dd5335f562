// A second file that includes both headers, in the other order: nothing is defined twice.
#include <millpond_memory.hpp>

#include <millpond_queue.hpp>

#include "tests/consumer/amalgamated/other.hpp"

long doubled(long value) {
    millpond::queue::MpscRing<long> ring(8);
    long seen = 0;
    return ring.try_push(2 * value) && ring.try_pop(seen) ? seen : -1;
}
