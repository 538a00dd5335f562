// Measured:     two threads that acquire and release blocks of one pool at the same time.
// Not measured: construction, starting of the threads.
#include "bench/memory/two_threads.hpp"

int main() { millpond::bench::ask_shared(MILLPOND_BENCH_COUNT); }
