// Measured:     batches of 64-byte blocks acquired and released on one thread, by one call where there is one.
// Not measured: writing to the blocks, construction, other threads.
#include "bench/memory/one_thread.hpp"

int main() { millpond::bench::ask_batch(MILLPOND_BENCH_COUNT); }
