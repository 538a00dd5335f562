// Measured:     writing a checkpoint of 520,000 live orders of 2,000 books, in slices of 1 ms, on the thread that
// writes the
//               journal.
// Not measured: what the kernel writes to the disk afterwards.
#include <algorithm>
#include <stdexcept>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/journal/orders.hpp"

namespace {

using namespace millpond;

const bench::BenchFolder kFolder{"checkpoint"};

/// All slices, without events between them.
bench::Finding all_slices() {
    bench::FilledJournal filled{kFolder.path() / "all"};
    const auto nanos = bench::nanos_each(1, [&] {
        while (!filled.has_checkpoint()) filled.writer().step(bench::kDue);
    });
    if (filled.writer().counters().checkpoint_bytes.read() > 40 * bench::kOrders)
        throw std::runtime_error("an order takes more than 40 bytes");
    return {.value = nanos / 1e6, .answer = filled.orders()};
}

bench::Finding longest_slice() {
    bench::FilledJournal filled{kFolder.path() / "longest"};
    double longest = 0;
    while (!filled.has_checkpoint())
        longest = std::max(longest, bench::nanos_each(1, [&] { filled.writer().step(bench::kDue); }));
    return {.value = longest / 1e6, .answer = filled.orders()};
}

}  // namespace

int main() {
    bench::compare({.question = "How long does a checkpoint of 520,000 orders take?",
                    .unit = "ms",
                    .expected = bench::kOrders,
                    .goals = {{.contender = "all slices", .at_most = 300}},
                    .measured = "writing a checkpoint of 520,000 orders of 2,000 books to a segment",
                    .not_measured = "what the kernel writes to the disk afterwards"},
                   {{"all slices", all_slices}, {"the longest slice", longest_slice}});
}
