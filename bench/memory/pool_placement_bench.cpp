// Measured:     acquiring and writing random blocks of a large pool, on pages and threads of different kinds.
// Not measured: construction, release.
#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/pinning.hpp>
#include <millpond/memory/numa_pool.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

const core::TickRate kRate;
constexpr std::size_t kBytes = 192;
constexpr std::size_t kBlocks = 300'000;

template <class Pool>
bench::Finding random_writes(Pool& pool) {
    std::minstd_rand random(7);
    std::vector<void*> live(kBlocks, nullptr);
    bench::Finding found;
    for (std::size_t i = 0; i < bench::scaled(100'000); ++i) {
        auto& place = live[random() % kBlocks];
        if (place != nullptr) pool.release(place);
        const auto start = core::ticks();
        std::memset(place = pool.try_acquire(), 1, kBytes);
        found.latencies.push_back(
            static_cast<float>(static_cast<double>(core::ticks() - start) * kRate.nanos_per_tick()));
        ++found.answer;
    }
    for (void* const block : live) {
        if (block != nullptr) pool.release(block);
    }
    return found;
}

bench::Finding on_pages(memory::RegionOptions region) {
    memory::BlockPool pool(kBytes, kBlocks, {.region = region});
    return random_writes(pool);
}

bench::Finding by_node() {
    memory::NumaPool pool(kBytes, kBlocks, {.pool = {.region = {.prefault = true}}});
    return random_writes(pool);
}

bench::Finding on_one_core() {
    const auto cores = bench::two_cores();
    bench::run_on(cores.first);
    auto found = on_pages({.prefault = true});
    bench::run_on({cores.first, cores.second});
    return found;
}

/// Gives the calling thread SCHED_FIFO during its lifetime: one run, which is bounded.
class Realtime {
public:
    Realtime() { core::set_realtime(1); }
    Realtime(const Realtime&) = delete;
    Realtime& operator=(const Realtime&) = delete;
    ~Realtime() {
        const sched_param ordinary{};
        pthread_setschedparam(pthread_self(), SCHED_OTHER, &ordinary);
    }
};

bench::Finding in_realtime() {
    const Realtime realtime;
    return on_one_core();
}

bench::Finding on_locked_pages() {
    return on_pages({.huge_pages = memory::HugePages::none, .prefault = true, .lock = true});
}

/// Adds a contender, or appends to `skipped` why the machine cannot run it.
template <class Allowed>
void add_if(Allowed allowed, bench::Contender contender, std::vector<bench::Contender>& all, std::string& skipped) {
    try {
        allowed();
        all.push_back(std::move(contender));
    } catch (const std::system_error& error) {
        skipped += "; skipped: " + contender.name + " (" + error.what() + ")";
    }
}

}  // namespace

int main() {
    using memory::HugePages;
    std::vector<bench::Contender> all{
        {"base pages, prefault", [] { return on_pages({.huge_pages = HugePages::none, .prefault = true}); }},
        {"base pages, no prefault", [] { return on_pages({.huge_pages = HugePages::none}); }},
        {"huge pages where there are, prefault",
         [] { return on_pages({.huge_pages = HugePages::prefer, .prefault = true}); }},
        {"prefault, pinned to a processor", on_one_core},
        {"NumaPool on this machine's nodes", by_node}};
    std::string skipped;
    add_if([] { const Realtime realtime; }, {"prefault, pinned, SCHED_FIFO", in_realtime}, all, skipped);
    add_if([] { static_cast<void>(memory::Region::anonymous(2 * kBytes * kBlocks, {.lock = true})); },
           {"base pages, prefault, mlock", on_locked_pages}, all, skipped);
    bench::compare({.question = "What do pages, prefault, mlock, pinning and SCHED_FIFO do to a large pool?",
                    .unit = "ns/acquire + write",
                    .measured = "acquiring and writing 192 bytes, random ones of 300,000 being exchanged; reading the "
                                "counter of ticks is included; rows without mlock or SCHED_FIFO in their name run "
                                "without it",
                    .not_measured = "construction, release" + skipped},
                   all);
}
