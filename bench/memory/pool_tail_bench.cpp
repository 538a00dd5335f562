// Measured:     single acquisitions with the writing of the block, while random blocks are exchanged on one thread.
// Not measured: release, construction, other threads.
#include "bench/memory/one_thread.hpp"

int main() { millpond::bench::ask_tail(); }
