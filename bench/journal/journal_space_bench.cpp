// Measured:     what the segments of a journal take on disk, headers, indexes and names included.
// Not measured: times.
#include <cstdint>
#include <filesystem>
#include <stdexcept>

#include <millpond/journal/catalog.hpp>

#include "bench/harness/compare.hpp"
#include "bench/journal/input.hpp"

namespace {

using namespace millpond;

const std::uint64_t kQuotes = bench::scaled(1'000'000);

bench::Finding bytes_a_quote(std::uint64_t segment_bytes) {
    const bench::BenchFolder folder{"space"};
    bench::write_journal(folder.path(), kQuotes, segment_bytes);
    bench::Sum sum;
    journal::JournalReader reader{folder.path()};
    while (reader.poll(sum, 4'096) != 0) {
    }
    std::uint64_t bytes = 0;
    for (const auto& segment : journal::describe_segments(folder.path())) bytes += segment.disk_bytes;
    return {.value = static_cast<double>(bytes) / static_cast<double>(kQuotes), .answer = sum.value};
}

}  // namespace

int main() {
    bench::compare({.question = "How many bytes of disk does a quote take in a journal?",
                    .unit = "bytes/quote",
                    .expected = kQuotes * (kQuotes + 1) / 2,
                    .measured = "the file system's blocks of a journal of 1,000,000 quotes of 5,000 instruments",
                    .not_measured = "times"},
                   {{"segments of 256 MiB", [] { return bytes_a_quote(std::uint64_t{256} << 20U); }},
                    {"segments of 16 MiB", [] { return bytes_a_quote(std::uint64_t{16} << 20U); }}});
}
