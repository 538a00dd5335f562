// Measured:     so many blocks at a time, acquired and written to, read and released on one thread.
// Not measured: construction, first touch, other threads.
#include "bench/memory/one_thread.hpp"

int main() { millpond::bench::ask_bulk(MILLPOND_BENCH_BYTES, MILLPOND_BENCH_COUNT); }
