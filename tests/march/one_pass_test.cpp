// Compares the one pass of the FIX benches with a loop over the bytes. This file is compiled for every processor.

#include <cstdio>

namespace millpond::bench {
bool one_pass_is_right();
}

int main() {
    if (!__builtin_cpu_supports(MILLPOND_LEVEL)) {
        std::puts("skipped: the processor is older than " MILLPOND_LEVEL);
        return 77;
    }
    return millpond::bench::one_pass_is_right() ? 0 : 1;
}
