#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#if defined(MILLPOND_RIVAL_JVM)
#include "bench/rivals/jvm_rival.hpp"
#endif

namespace millpond::bench {

/// Adds Java libraries to the contenders, or names missing ones. work: as for JvmRival::ask.
inline void add_jvm_contenders([[maybe_unused]] std::vector<Contender>& contenders, Question& question,
                               [[maybe_unused]] const std::string& work, [[maybe_unused]] std::uint64_t count) {
#if defined(MILLPOND_RIVAL_JVM)
    const auto cores = two_cores();
    for (const auto& [name, kind] :
         {std::pair{"LMAX Disruptor (Java)", "disruptor"}, std::pair{"Aeron IPC (Java)", "aeron"},
          std::pair{"Chronicle Queue (Java), which keeps a file", "chronicle"}}) {
        run_on({cores.first, cores.second});  // a process can only run on processors of the thread that starts it
        const auto rival = std::make_shared<JvmRival>(kind, cores.first, cores.second);
        for (int warm = 0; warm < 3; ++warm) (void)rival->ask(work, count);
        contenders.push_back({name, [work, count, rival] {
                                  const auto [value, sum] = rival->ask(work, count);
                                  return Finding{.value = value, .answer = sum};
                              }});
    }
    question.measured +=
        "; libraries for Java in a warm process of their own, in which Aeron's media driver is a third "
        "thread";
#else
    question.not_measured += "; Aeron, Disruptor and Chronicle Queue, which are not installed here";
#endif
}

}  // namespace millpond::bench
