// Measured:     random ones of 1,000 blocks in use exchanged for others on one thread.
// Not measured: construction, first touch, other threads.
#include "bench/memory/one_thread.hpp"

int main() { millpond::bench::ask_random(MILLPOND_BENCH_BYTES); }
