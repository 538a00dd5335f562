// Measured:     single calls that make, release and refuse messages, with so many made before any is released.
// Not measured: construction of the pool, other threads.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/memory/message_pool.hpp>

#include "bench/harness/compare.hpp"

namespace {

using namespace millpond;

const core::TickRate kRate;
constexpr std::size_t kCount = MILLPOND_BENCH_COUNT;

struct Order {
    std::uint64_t id;
    std::array<std::uint64_t, 23> rest;
};

enum class Call { make, release, refuse };

void time(std::vector<float>& nanos, auto&& work) {
    const auto start = core::ticks();
    work();
    nanos.push_back(static_cast<float>(static_cast<double>(core::ticks() - start) * kRate.nanos_per_tick()));
}

/// make(i) gives an owner, empty when refused.
template <class Make>
bench::Finding calls(Call call, Make make) {
    bench::Finding found;
    std::vector<float> unused;
    auto& makes = call == Call::make ? found.latencies : unused;
    auto& releases = call == Call::release ? found.latencies : unused;
    using Owner = decltype(make(std::uint64_t{0}));
    std::vector<Owner> live(kCount);
    for (int round = 0; round < 3; ++round) {
        std::uint64_t next = 0;
        for (auto& one : live) {
            ++next;
            time(makes, [&] { one = make(next); });
        }
        for (int i = 0; i < 1000 && call == Call::refuse; ++i) {
            time(found.latencies, [&] {
                auto refused = make(0);
                bench::keep(refused);
            });
        }
        for (auto& one : live) {
            found.answer += one->id;
            time(releases, [&] { one.reset(); });
        }
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
         .measured = "each call separately, 192 bytes filled, all made before the first is released; reading the "
                     "counter of ticks is included",
         .not_measured = "construction of the pool, other threads"},
        {{"make_unique", heap<Call::make>},
         {"MessagePool, make", pool<Call::make>},
         {"unique_ptr, release", heap<Call::release>},
         {"MessagePool, release", pool<Call::release>},
         {"MessagePool, strict, refusal", pool<Call::refuse>}});
}
