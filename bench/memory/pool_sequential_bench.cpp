// Measured:     one block at a time, acquired, written to, read and released on one thread.
// Not measured: construction, first touch, other threads.
#include "bench/memory/one_thread.hpp"

int main() { millpond::bench::ask_sequential(MILLPOND_BENCH_BYTES); }
