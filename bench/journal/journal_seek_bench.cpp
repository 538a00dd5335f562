// Measured:     opening a big journal and finding a place in it, the pages in the page cache.
// Not measured: writing it, reading it from a disk.
#include <cstdint>
#include <optional>

#include <millpond/journal/journal_reader.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/journal/input.hpp"

namespace {

using namespace millpond;

const std::uint64_t kQuotes = bench::scaled(6'000'000);
constexpr std::uint64_t kSegmentBytes = std::uint64_t{8} << 20U;  // about 65 segments
const std::uint64_t kWanted = kQuotes / 3 * 2;
const bench::BenchFolder kFolder{"seek"};

/// Keeps the first quote.
struct First {
    void on(const feed::Quote& quote) {
        if (number == 0) number = quote.feed_sequence;
    }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void on(const journal::LostRecord&) {}
    std::uint64_t number{0};
};

template <class Seek>
bench::Finding found(Seek&& seek, std::uint64_t wanted) {
    First first;
    const auto nanos = bench::nanos_each(1, [&] {
        journal::JournalReader reader{kFolder.path()};
        seek(reader);
        while (first.number == 0 && reader.poll(first, 1) != 0) {
        }
    });
    return {.value = nanos / 1e3, .answer = first.number == wanted ? 1U : 0U};
}

/// The number of a quote's record; names precede it.
std::uint64_t record_of(std::uint64_t wanted) {
    journal::JournalReader reader{kFolder.path()};
    reader.select(bench::quote_of(wanted).receive_utc_ns, std::nullopt);
    First first;
    while (first.number == 0 && reader.poll(first, 1) != 0) {
    }
    return reader.current().record;
}

}  // namespace

int main() {
    bench::write_journal(kFolder.path(), kQuotes, kSegmentBytes);
    const auto record = record_of(kWanted);
    const auto time = bench::quote_of(kWanted).receive_utc_ns;
    bench::compare(
        {.question = "How long does it take to find a place in a big journal?",
         .unit = "us",
         .expected = 1,
         .measured = "opening a journal of 6,000,000 quotes in 8 MiB segments and delivering the first quote there",
         .not_measured = "reading it from a disk"},
        {{"open, the oldest quote", [] { return found([](journal::JournalReader&) {}, 1); }},
         {"open, a record in the middle", [=] { return found([=](auto& reader) { reader.seek(record); }, kWanted); }},
         {"open, a time in the middle",
          [=] { return found([=](auto& reader) { reader.select(time, std::nullopt); }, kWanted); }}});
}
