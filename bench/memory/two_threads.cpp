#include "bench/memory/two_threads.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <millpond/core/cache_line.hpp>
#include <millpond/queue/channel.hpp>
#include <millpond/queue/spsc_ring.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/memory/contenders.hpp"

namespace millpond::bench {
namespace {

constexpr std::size_t kRing = 1024;
constexpr std::size_t kCapacity = 4096;
constexpr const char* kRecycle = "reference: blocks come back by a ring";
constexpr const char* kInPlace = "reference: in place, head every 16";
constexpr const char* kChannel = "Channel";

void fill(std::span<std::uint64_t> words, std::uint64_t value) {
    for (auto& word : words) word = value;
}
std::uint64_t sum(std::span<const std::uint64_t> words) {
    std::uint64_t total = 0;
    for (const auto word : words) total += word;
    return total;
}
std::span<std::uint64_t> words_of(void* block, std::size_t bytes) {
    return {static_cast<std::uint64_t*>(block), bytes / sizeof(std::uint64_t)};
}

/// Calls send(i) on one processor and receive(), which returns a sum, on another, `count` times each.
template <class Send, class Receive>
Finding across(Send send, Receive receive) {
    const auto count = scaled(200'000);
    const auto cores = two_cores();
    Finding found;
    found.value = nanos_each(count, [&] {
        std::jthread reader([&] {
            run_on(cores.second);
            auto receive_one = receive();
            for (std::size_t i = 0; i < count; ++i) found.answer += receive_one();
        });
        run_on(cores.first);
        auto send_one = send();
        for (std::size_t i = 1; i <= count; ++i) send_one(i);
    });
    return found;
}

/// Passes a pool's blocks through a ring of pointers.
struct Travelling {
    std::size_t bytes;

    template <class Source>
    Finding operator()(Source& source) const {
        queue::SpscRing<void*> ring(kRing);
        return across(
            [&] {
                return [&, blocks = Way<Source>(source)](std::uint64_t i) mutable {
                    void* block = nullptr;
                    spin_until([&] { return (block = blocks.get().acquire()) != nullptr; });
                    fill(words_of(block, bytes), i);
                    spin_until([&] { return ring.try_push(block); });
                };
            },
            [&] {
                return [&, blocks = Way<Source>(source)]() mutable {
                    void* block = nullptr;
                    spin_until([&] { return ring.try_pop(block); });
                    const auto total = sum(words_of(block, bytes));
                    blocks.get().release(block);
                    return total;
                };
            });
    }

private:
    /// The result of local(source), which is a reference or an object that cannot move.
    template <class Source>
    class Way {
    public:
        explicit Way(Source& source) : local_(std::make_unique<Holder>(source)) {}
        auto& get() { return local_->blocks; }

    private:
        struct Holder {
            explicit Holder(Source& source) : blocks(local(source)) {}
            decltype(local(std::declval<Source&>())) blocks;
        };
        std::unique_ptr<Holder> local_;
    };
};

/// The reference: blocks go to the other thread by one ring and return by another.
Finding recycle(std::size_t bytes) {
    auto memory = memory::Region::anonymous(bytes * kCapacity, {.prefault = true});
    queue::SpscRing<void*> there(kRing);
    queue::SpscRing<void*> back(kCapacity);
    for (std::size_t i = 0; i < kCapacity; ++i) static_cast<void>(back.try_push(memory.data() + i * bytes));
    return across(
        [&] {
            return [&](std::uint64_t i) {
                void* block = nullptr;
                spin_until([&] { return back.try_pop(block); });
                fill(words_of(block, bytes), i);
                spin_until([&] { return there.try_push(block); });
            };
        },
        [&] {
            return [&] {
                void* block = nullptr;
                spin_until([&] { return there.try_pop(block); });
                const auto total = sum(words_of(block, bytes));
                spin_until([&] { return back.try_push(block); });
                return total;
            };
        });
}

/// The in-place reference: slots in a ring; the reader publishes its position every 16 messages.
template <std::size_t Bytes>
Finding in_place() {
    using Slot = std::array<std::uint64_t, Bytes / sizeof(std::uint64_t)>;
    auto memory = memory::Region::anonymous(sizeof(Slot) * kRing, {.prefault = true});
    auto* const slots = reinterpret_cast<Slot*>(memory.data());
    struct alignas(core::kFalseSharingRange) Position {
        std::atomic<std::uint64_t> told{0};
    };
    Position tail;
    Position head;
    return across(
        [&] {
            return [&, seen = std::uint64_t{0}](std::uint64_t i) mutable {
                spin_until([&] {
                    if (i - seen <= kRing) return true;
                    seen = head.told.load(std::memory_order_acquire);
                    return i - seen <= kRing;
                });
                fill(slots[(i - 1) % kRing], i);
                tail.told.store(i, std::memory_order_release);
            };
        },
        [&] {
            return [&, at = std::uint64_t{0}, seen = std::uint64_t{0}]() mutable {
                spin_until([&] {
                    if (at < seen) return true;
                    seen = tail.told.load(std::memory_order_acquire);
                    return at < seen;
                });
                const auto total = sum(slots[at % kRing]);
                if (++at % 16 == 0) head.told.store(at, std::memory_order_release);
                return total;
            };
        });
}

template <std::size_t Bytes>
Finding channel() {
    using Slot = std::array<std::uint64_t, Bytes / sizeof(std::uint64_t)>;
    queue::Channel<Slot> link(kRing);
    return across(
        [&] {
            return [&](std::uint64_t i) {
                Slot* slot = nullptr;
                spin_until([&] { return (slot = link.claim()) != nullptr; });
                fill(*slot, i);
                link.publish();
            };
        },
        [&] {
            return [&] {
                Slot* slot = nullptr;
                spin_until([&] { return (slot = link.front()) != nullptr; });
                const auto total = sum(*slot);
                link.release();
                return total;
            };
        });
}

template <std::size_t Bytes>
void ask_cross_thread_of() {
    Contenders contenders(Bytes, kCapacity, Travelling{Bytes});
    contenders.add_ours();
    contenders.add_rivals();
    auto all = contenders.all();
    all.insert(all.begin(), {std::string("the reference once more"), [] { return recycle(Bytes); }});
    all.push_back({kInPlace, in_place<Bytes>});
    all.push_back({kChannel, channel<Bytes>});
    auto goals = contenders.ahead_of_rivals(kCache);
    goals.push_back({.contender = kCache, .to = kRecycle, .at_most = 1.0});
    goals.push_back({.contender = kChannel, .to = kInPlace, .at_most = 1.15});
    compare(
        {.question = "What does a message of " + std::to_string(Bytes) + " bytes from one processor to another cost?",
         .unit = "ns/message",
         .goals = std::move(goals),
         .bracket = Bracket{kRecycle, [] { return recycle(Bytes).value; }, 0.15},
         .measured = "one acquires and writes all of a block and sends its pointer by a ring of 1,024; another reads "
                     "all and releases; both as fast as they can",
         .not_measured = "construction, waking a sleeping thread" + contenders.absent()},
        all);
}

/// Nanoseconds per operation of one thread, with two threads that each do `pairs` operations at once.
template <class Work>
Finding both(Work work) {
    const auto pairs = scaled(100'000);
    const auto cores = two_cores();
    std::atomic<std::uint64_t> answer{0};
    Finding found;
    found.value = nanos_each(pairs, [&] {
        std::jthread other([&] {
            run_on(cores.second);
            answer += work(pairs);
        });
        run_on(cores.first);
        answer += work(pairs);
    });
    found.answer = answer.load();
    return found;
}

}  // namespace

void ask_cross_thread(std::size_t block_bytes) {
    if (block_bytes == 64) return ask_cross_thread_of<64>();
    if (block_bytes == 192) return ask_cross_thread_of<192>();
    ask_cross_thread_of<640>();
}

void ask_shared(std::size_t burst) {
    const auto counters = [] {
        alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> counter{0};
        return both([&](std::size_t pairs) {
            for (std::size_t i = 0; i < 2 * pairs; ++i) counter.fetch_add(1, std::memory_order_relaxed);
            return pairs;
        });
    };
    Contenders contenders(64, kCapacity, [burst](auto& source) {
        return both([&](std::size_t pairs) {
            auto&& blocks = local(source);
            std::vector<void*> held(burst);
            for (std::size_t i = 0; i < pairs / burst; ++i) {
                for (auto& block : held) fill(words_of(block = blocks.acquire(), sizeof(std::uint64_t)), i);
                for (void* const block : held) blocks.release(block);
            }
            return pairs;
        });
    });
    contenders.add_ours();
    contenders.add_rivals();
    constexpr const char* kCounters = "reference: two shared fetch_adds";
    compare(
        {.question = "What do two threads pay that share a pool, in bursts of " + std::to_string(burst) + "?",
         .unit = "ns/acquire + release",
         .goals = contenders.ahead_of_rivals(kCache),
         .bracket = Bracket{kCounters, [&] { return counters().value; }, 0.25},
         .measured = "two threads acquire and write to that many 64-byte blocks and release them, at the same time; "
                     "per pair of one thread",
         .not_measured = "construction, starting of the threads" + contenders.absent()},
        contenders.all());
}

}  // namespace millpond::bench
