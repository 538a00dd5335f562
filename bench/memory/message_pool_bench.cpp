// Measured:     calls that make, release and refuse messages, with so many made before any is released.
// Not measured: construction of the pool, other threads.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <millpond/memory/message_pool.hpp>

#include "bench/harness/clock_step.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kCount = MILLPOND_BENCH_COUNT;

struct Order {
    std::uint64_t id;
    std::array<std::uint64_t, 23> rest;
};

enum class Call { make, release, refuse };

/// make(i): returns an owner, empty if refused.
template <class Make>
bench::Finding calls(Call call, Make make) {
    constexpr std::size_t kRefusals = 1000;
    constexpr std::size_t kCoarse = 64;
    bench::Finding found;
    using Owner = decltype(make(std::uint64_t{0}));
    std::vector<Owner> live(kCount);
    const auto make_one = [&](std::size_t i) { live[i] = make(i + 1); };
    const auto release_one = [&](std::size_t i) { live[i].reset(); };
    const auto refuse_one = [&](std::size_t) {
        auto refused = make(0);
        bench::keep(refused);
    };
    // The first round touches the memory, the second one finds the size of the blocks.
    for (int round = 0; round < 5; ++round) {
        std::array<std::vector<float>, 3> nanos;
        const auto run = [&](Call which, std::size_t count, auto&& work) {
            auto& of_call = nanos[static_cast<std::size_t>(which)];
            bench::time_blocks(of_call, round < 2 ? kCoarse : found.block, count, work);
            if (which != call) return;
            if (round < 2) {
                const auto typical = bench::summarise(of_call).p50;
                found.block = bench::block_of(typical / 2);  // some calls take less
            } else {
                found.latencies.insert(found.latencies.end(), of_call.begin(), of_call.end());
            }
        };
        run(Call::make, kCount, make_one);
        if (call == Call::refuse) run(Call::refuse, kRefusals, refuse_one);
        for (auto& one : live) found.answer += one->id;
        run(Call::release, kCount, release_one);
    }
    return found;
}

template <Call kCall>
bench::Finding heap() {
    return calls(kCall, [](std::uint64_t id) { return std::make_unique<Order>(Order{id, {}}); });
}

template <Call kCall>
bench::Finding pool() {
    memory::MessagePoolOptions options;
    options.pool.capacity_policy = kCall == Call::refuse ? memory::Capacity::strict : memory::Capacity::elastic;
    memory::MessagePool<Order> messages(kCount, options);
    messages.prewarm();
    return calls(kCall, [&](std::uint64_t id) { return messages.try_make(Order{id, {}}); });
}

}  // namespace

int main() {
    bench::compare(
        {.question = "What does a message cost, from a pool and from the heap?",
         .unit = "ns/call",
         .goals = {{.contender = "MessagePool, make", .to = "make_unique", .at_most = 1.0},
                   {.contender = "MessagePool, release", .to = "unique_ptr, release", .at_most = 1.0}},
         .measured = "calls, 192 bytes filled, all made before the first is released; as many together as the clock "
                     "resolves",
         .not_measured = "construction of the pool, other threads"},
        {{"make_unique", heap<Call::make>},
         {"MessagePool, make", pool<Call::make>},
         {"unique_ptr, release", heap<Call::release>},
         {"MessagePool, release", pool<Call::release>},
         {"MessagePool, strict, refusal", pool<Call::refuse>}});
}
