// Measured:     reading quotes one after the other, their pages in the page cache.
// Not measured: reading them from a disk.
#include <cstdint>
#include <cstring>

#include <millpond/journal/journal_reader.hpp>
#include <millpond/memory/region.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/journal/input.hpp"

namespace {

using namespace millpond;

const std::uint64_t kQuotes = bench::scaled(1'000'000);
constexpr std::uint64_t kSegmentBytes = std::uint64_t{32} << 20U;
const bench::BenchFolder kFolder{"read"};

bench::Finding by_reader() {
    bench::Sum sum;
    const auto nanos = bench::nanos_each(kQuotes, [&] {
        journal::JournalReader reader{kFolder.path() / "journal"};
        while (reader.poll(sum, 4'096) != 0) {
        }
    });
    return {.value = nanos, .answer = sum.value};
}

bench::Finding by_memcpy() {
    bench::Sum sum;
    const auto nanos = bench::nanos_each(kQuotes, [&] {
        const auto region = memory::Region::open_file(kFolder.path() / "plain");
        for (std::uint64_t i = 0; i < kQuotes; ++i) {
            feed::Quote quote;
            std::memcpy(static_cast<void*>(&quote), region.data() + i * sizeof quote, sizeof quote);
            sum.on(quote);
        }
    });
    return {.value = nanos, .answer = sum.value};
}

void write_plain() {
    auto region = memory::Region::file(kFolder.path() / "plain", kQuotes * sizeof(feed::Quote), {});
    for (std::uint64_t n = 1; n <= kQuotes; ++n) {
        const auto quote = bench::quote_of(n);
        std::memcpy(region.data() + (n - 1) * sizeof quote, &quote, sizeof quote);
    }
}

}  // namespace

int main() {
    bench::write_journal(kFolder.path() / "journal", kQuotes, kSegmentBytes);
    write_plain();
    bench::compare(
        {.question = "What does reading a quote from a journal cost?",
         .unit = "ns/quote",
         .expected = kQuotes * (kQuotes + 1) / 2,
         .ratio_to = "memcpy from a mapped file",
         .measured = "opening and reading a journal of 32 MiB segments, each record's CRC checked, in the cache",
         .not_measured = "reading it from a disk"},
        {{"JournalReader", by_reader}, {"memcpy from a mapped file", by_memcpy}});
}
