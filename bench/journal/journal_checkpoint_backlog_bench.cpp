// Measured:     the largest backlog of a journal's writer in the ring at 200,000 messages/s, from before a checkpoint
// of
//               520,000 orders until its end. A lost entry is a wrong answer.
// Not measured: waking a sleeping thread.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "bench/harness/compare.hpp"
#include "bench/journal/orders.hpp"

namespace {

using namespace millpond;

constexpr std::int64_t kNanosEach = 5'000;
constexpr std::uint64_t kCapacity = 65'536;
const bench::BenchFolder kFolder{"backlog"};

struct Journal {
    template <class Event>
    void on(const Event& event) {
        filled.append(event);
    }
    void on(const queue::MissedRange& missed) { lost += missed.count(); }

    bench::FilledJournal& filled;
    std::uint64_t lost{0};
};

bench::Finding backlog() {
    const auto name = "bench-backlog-" + std::to_string(getpid());
    market::RingWriter ring{{.name = name, .capacity = kCapacity, .max_instruments = bench::kBooks}};
    static_cast<void>(ring.set_depth(0, {.orders = true}));
    for (feed::InstrumentId id = 0; id < bench::kBooks; ++id)
        static_cast<void>(ring.name(id, feed::Venue{"BENCH"}, feed::Symbol{"S" + std::to_string(id)}));
    market::RingReader reader{{.name = name}};
    reader.seek(1);
    bench::FilledJournal filled{kFolder.path() / "journal"};
    Journal journal{filled};
    std::atomic<bool> is_over{false};
    std::thread publisher{[&] {
        const auto start = core::monotonic_nanos();
        for (std::uint64_t n = 1; !is_over.load(std::memory_order_relaxed); ++n) {
            const auto due = start + static_cast<std::int64_t>(2 * n) * kNanosEach;
            while (core::monotonic_nanos() < due) {
            }
            static_cast<void>(ring.publish(bench::order_of(n, true)));
            static_cast<void>(ring.publish(bench::order_of(bench::kOrders + n)));
        }
    }};
    std::uint64_t most = 1;
    while (!filled.has_checkpoint()) {
        most = std::max<std::uint64_t>(most, reader.account().queued);
        reader.poll(journal, 4'096);
        filled.writer().step(bench::kDue);
    }
    is_over = true;
    publisher.join();
    return {.value = static_cast<double>(most), .answer = journal.lost + 1};
}

}  // namespace

int main() {
    bench::compare(
        {.question = "How far does a journal fall behind 200,000 messages/s during a checkpoint?",
         .unit = "entries",
         .expected = 1,
         .goals = {{.contender = "most entries waiting in the ring", .at_most = kCapacity}},
         .measured = "the largest backlog in the ring until a checkpoint of 520,000 orders ends; none is lost",
         .not_measured = "waking a sleeping thread"},
        {{"most entries waiting in the ring", backlog}});
}
