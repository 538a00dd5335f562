#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <valgrind/callgrind.h>

namespace millpond::bench {

/// Work whose instructions are counted. run: does it `operations` times, identically in each call, and returns a
/// checksum. prepare: called before each run, not counted.
struct Case {
    std::string name;
    std::size_t operations;
    std::function<std::uint64_t()> run;
    std::function<void()> prepare{[] {}};
};

/// Runs every case twice; callgrind counts the second run. Prints a line per case, which bench/callgrind/check reads.
/// Returns 1 if the runs of a case differ or do nothing.
inline int count_cases(const std::vector<Case>& cases) {
    for (const auto& one : cases) {
        one.prepare();
        const auto expected = one.run();
        one.prepare();
        CALLGRIND_ZERO_STATS;
        CALLGRIND_TOGGLE_COLLECT;
        const auto answer = one.run();
        CALLGRIND_TOGGLE_COLLECT;
        CALLGRIND_DUMP_STATS_AT(one.name.c_str());
        if (answer != expected || answer == 0) {
            std::fprintf(stderr, "%s: answered %llu, expected %llu\n", one.name.c_str(),
                         static_cast<unsigned long long>(answer), static_cast<unsigned long long>(expected));
            return 1;
        }
        std::printf("%s\t%zu\n", one.name.c_str(), one.operations);
    }
    return 0;
}

}  // namespace millpond::bench
