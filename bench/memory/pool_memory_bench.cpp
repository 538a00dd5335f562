// Measured:     resident memory a block in use, after a long random run.
// Not measured: time.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "bench/harness/compare.hpp"
#include "bench/memory/contenders.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kLive = 50'000;
constexpr std::size_t kBytes = MILLPOND_BENCH_BYTES;

// Allocated before the measurement begins.
std::vector<void*>& live_blocks() {
    static std::vector<void*> live(kLive);
    return live;
}

double resident_bytes() {
    unsigned long pages = 0;
    unsigned long resident = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%lu %lu", &pages, &resident) != 2) {
        throw std::runtime_error("cannot read /proc/self/statm");
    }
    std::fclose(file);
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

bench::Finding resident_after_random_run(auto& source) {
    auto&& blocks = bench::local(source);
    std::minstd_rand random(7);
    auto& live = live_blocks();
    const auto acquire = [&](void*& place) { std::memset(place = blocks.acquire(), 1, kBytes); };
    for (auto& place : live) acquire(place);
    // Frees and allocates a random half, so that holes remain where pages could have been returned.
    for (int round = 0; round < 10; ++round) {
        std::vector<void**> gone;
        for (auto& place : live) {
            if (random() % 2 == 0) continue;
            blocks.release(place);
            gone.push_back(&place);
        }
        for (auto* const place : gone) acquire(*place);
    }
    const auto resident = resident_bytes();
    for (void* const block : live) blocks.release(block);
    return {.value = resident, .answer = kLive};
}

/// Runs in a separate process, so that memory that one allocator keeps does not count for the next.
bench::Finding in_child(const std::function<bench::Finding()>& run) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    live_blocks();
    const auto child = fork();
    if (child == 0) {
        const auto before = resident_bytes();
        const auto each = (run().value - before) / static_cast<double>(kLive);
        _exit(write(ends[1], &each, sizeof each) == sizeof each ? 0 : 1);
    }
    close(ends[1]);
    bench::Finding found;
    const bool whole = read(ends[0], &found.value, sizeof found.value) == sizeof found.value;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!whole || status != 0) throw std::runtime_error("the measuring process failed");
    found.answer = kLive;
    return found;
}

}  // namespace

int main() {
    bench::Contenders contenders(kBytes, kLive, [](auto& source) { return resident_after_random_run(source); });
    contenders.add_ours();
    contenders.add_rivals();
    auto all = contenders.all();
    for (auto& contender : all) contender.run = [run = contender.run] { return in_child(run); };
    bench::compare(
        {.question = "How much memory does a block of " + std::to_string(kBytes) + " bytes take?",
         .unit = "bytes/block in use",
         .measured =
             "resident memory of the pool or allocator with 50,000 blocks in use, after ten times a random "
             "half of them was released and acquired again; in a process of its own; rte_mempool with its environment",
         .not_measured = "time" + contenders.absent()},
        all);
}
