// Measured:     reading 10,000 messages that are in use, after many random ones of them were exchanged.
// Not measured: acquiring and releasing them.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/memory/contenders.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kLive = 10'000;
constexpr std::size_t kBytes = 192;

bench::Finding traverse(auto& source) {
    auto&& blocks = bench::local(source);
    std::minstd_rand random(7);
    std::vector<void*> live(kLive);
    std::uint64_t next = 0;
    for (auto& block : live) *static_cast<std::uint64_t*>(block = blocks.acquire()) = ++next;
    for (std::size_t i = 0; i < 10 * kLive; ++i) {
        auto& one = live[random() % kLive];
        const auto value = *static_cast<std::uint64_t*>(one);
        blocks.release(one);
        *static_cast<std::uint64_t*>(one = blocks.acquire()) = value;
    }
    std::ranges::sort(live);
    bench::Finding found;
    const auto rounds = bench::scaled(20);
    found.value = bench::typical_nanos_each(9, rounds * kLive, [&] {
        for (std::size_t round = 0; round < rounds; ++round) {
            for (const void* const block : live) found.answer += *static_cast<const std::uint64_t*>(block);
        }
    });
    for (void* const block : live) blocks.release(block);
    return found;
}

}  // namespace

int main() {
    bench::Contenders contenders(kBytes, 2 * kLive, [](auto& source) { return traverse(source); });
    contenders.add<bench::ArrayBlocks>(bench::kArray);
    contenders.add_ours();
    contenders.add_rivals();
    bench::compare(
        {.question = "How close do the messages of a pool lie?",
         .unit = "ns/message",
         .measured = "a word read of each of 10,000 messages of 192 bytes in the order of their addresses, after "
                     "100,000 random ones were exchanged",
         .not_measured = "acquiring and releasing them" + contenders.absent()},
        contenders.all());
}
