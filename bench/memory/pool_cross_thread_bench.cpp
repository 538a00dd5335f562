// Measured:     messages in blocks of a pool, from one processor through a ring to another that releases them.
// Not measured: construction, waking a sleeping thread.
#include "bench/memory/two_threads.hpp"

int main() { millpond::bench::ask_cross_thread(MILLPOND_BENCH_BYTES); }
