#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/rivals/crate_queues.hpp"

namespace millpond::bench {

/// Adds queues of Rust crates to the contenders, or names missing ones. hops: nanoseconds per hop, else millions of
/// messages per second.
inline void add_crate_contenders([[maybe_unused]] std::vector<Contender>& contenders, Question& question,
                                 [[maybe_unused]] bool hops, [[maybe_unused]] std::uint64_t count) {
#ifdef MILLPOND_RIVAL_CRATES
    const auto cores = two_cores();
    for (const auto& [name, kind] :
         {std::pair{"crossbeam ArrayQueue (Rust)", 0}, std::pair{"rtrb (Rust)", 1}, std::pair{"iceoryx2 (Rust)", 2}}) {
        const auto ask = [hops, cores, kind = kind](std::uint64_t messages) {
            const auto answer = millpond_rival_link(kind, hops, cores.first, cores.second, messages);
            return Finding{.value = answer.value, .answer = answer.sum};
        };
        constexpr std::uint64_t kFew = 16'384;
        if (ask(kFew).value == 0) {
            question.not_measured += std::string("; ") + name + ", which could not be built here";
        } else {
            contenders.push_back({name, [ask, count] { return ask(count); }});
        }
    }
#else
    question.not_measured += "; crossbeam, rtrb and iceoryx2, which are not installed here";
#endif
}

}  // namespace millpond::bench
