// Measured:     opening a journal of order events and making the books of 2,000 instruments at its end.
// Not measured: reading it from a disk.
#include <cstdint>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/catch_up_reader.hpp>
#include <millpond/market/books.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/journal/orders.hpp"

namespace {

using namespace millpond;

const std::uint64_t kChanges = bench::scaled(3'000'000);
constexpr std::uint64_t kAfter = 10'000;  // changes after the checkpoint
const bench::BenchFolder kFolder{"checkpoint-read"};

struct Reader {
    template <class Event>
    void on(const Event& event) {
        books.on(event);
    }
    void on(const journal::NewEpoch&) {}
    market::Books books;
};

bench::Finding read(bool begins_at_checkpoint) {
    std::uint64_t orders = 0;
    const auto nanos = bench::nanos_each(1, [&] {
        const auto end = journal::describe_segments(kFolder.path()).back().next_record;
        const auto from = begins_at_checkpoint ? journal::AtRecord{end - kAfter} : journal::AtRecord{1};
        journal::CatchUpReader reader{{.folder = kFolder.path(), .ring = "none", .books = begins_at_checkpoint}, from};
        Reader all{.books = market::Books{{.max_instruments = bench::kBooks, .orders = 1U << 20U},
                                          [&](std::uint16_t channel) { return reader.depth(channel); }}};
        while (reader.poll(all, 4'096) != 0) {
        }
        for (feed::InstrumentId id = 0; id < bench::kBooks; ++id) {
            const auto* const book = all.books.find(id);
            if (book != nullptr && book->complete()) orders += book->live_orders();
        }
    });
    return {.value = nanos / 1e6, .answer = orders};
}

}  // namespace

int main() {
    {
        bench::FilledJournal filled{kFolder.path()};
        for (std::uint64_t n = 1; n <= kChanges / 2; ++n) {
            filled.append(bench::order_of(n, true));
            filled.append(bench::order_of(bench::kOrders + n));
            if (n == (kChanges - kAfter) / 2) filled.writer().end_books();
        }
    }
    bench::compare({.question = "How long does it take to have the books at the end of a journal?",
                    .unit = "ms",
                    .expected = bench::kOrders,
                    .measured = "opening a journal of 3,520,000 order events and making the books of 520,000 orders",
                    .not_measured = "reading it from a disk"},
                   {{"all events", [] { return read(false); }}, {"from the checkpoint", [] { return read(true); }}});
}
