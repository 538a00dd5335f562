// Measured:     writing quotes of 72 bytes one by one to files that are allocated ahead, their pages in the page cache.
// Not measured: what the kernel writes to the disk afterwards, syncing.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/journal_writer.hpp>
#include <millpond/memory/region.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/journal/input.hpp"

namespace {

using namespace millpond;

const std::uint64_t kQuotes = bench::scaled(400'000);
const bench::BenchFolder kFolder{"append"};

std::uint64_t sum_of(const std::byte* bytes, std::uint64_t quotes) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < quotes; ++i) {
        feed::Quote quote;
        std::memcpy(static_cast<void*>(&quote), bytes + i * sizeof quote, sizeof quote);
        sum += static_cast<std::uint64_t>(quote.bid_price);
    }
    return sum;
}

bench::Finding journaled() {
    const auto folder = kFolder.path() / "journal";
    std::filesystem::remove_all(folder);
    constexpr std::uint64_t kUnit = 65'536;
    double nanos = 0;
    {
        // One segment has capacity for all quotes: in a gateway another thread allocates segments, and every rival's
        // file exists too.
        journal::JournalWriter writer{{.folder = folder,
                                       .ring = "bench",
                                       .segment_bytes = (kQuotes * 100 / kUnit + 16) * kUnit,
                                       .sync = journal::Sync::none},
                                      0};
        nanos = bench::nanos_each(kQuotes, [&] { bench::append(writer, 1, kQuotes); });
    }
    bench::Sum sum;
    journal::JournalReader reader{folder};
    while (reader.poll(sum, 4'096) != 0) {
    }
    return {.value = nanos, .answer = sum.value};
}

bench::Finding mapped() {
    const auto path = kFolder.path() / "mapped";
    std::filesystem::remove(path);
    auto region = memory::Region::file(path, kQuotes * sizeof(feed::Quote), {});
    const auto nanos = bench::nanos_each(kQuotes, [&] {
        for (std::uint64_t n = 1; n <= kQuotes; ++n) {
            const auto quote = bench::quote_of(n);
            std::memcpy(region.data() + (n - 1) * sizeof quote, &quote, sizeof quote);
        }
    });
    return {.value = nanos, .answer = sum_of(region.data(), kQuotes)};
}

/// batch: quotes per write().
bench::Finding written(std::size_t batch) {
    const auto path = kFolder.path() / "written";
    std::filesystem::remove(path);
    const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0 || ::posix_fallocate(file, 0, static_cast<off_t>(kQuotes * sizeof(feed::Quote))) != 0)
        throw std::runtime_error("cannot make the file");
    std::vector<feed::Quote> waiting;
    waiting.reserve(batch);
    const auto flush = [&] {
        const auto bytes = waiting.size() * sizeof(feed::Quote);
        if (::write(file, waiting.data(), bytes) != static_cast<ssize_t>(bytes)) throw std::runtime_error("write");
        waiting.clear();
    };
    const auto nanos = bench::nanos_each(kQuotes, [&] {
        for (std::uint64_t n = 1; n <= kQuotes; ++n) {
            waiting.push_back(bench::quote_of(n));
            if (waiting.size() == batch) flush();
        }
        if (!waiting.empty()) flush();
    });
    std::vector<std::byte> back(kQuotes * sizeof(feed::Quote));
    const auto got = ::pread(file, back.data(), back.size(), 0);
    ::close(file);
    if (got != static_cast<ssize_t>(back.size())) throw std::runtime_error("the file is too short");
    return {.value = nanos, .answer = sum_of(back.data(), kQuotes)};
}

}  // namespace

int main() {
    bench::compare(
        {.question = "What does writing down a quote cost?",
         .unit = "ns/quote",
         .expected = kQuotes * (kQuotes + 1) / 2,
         .ratio_to = "memcpy to a mapped file",
         .measured = "making a quote and writing it to a file that is allocated; all are read back and checked",
         .not_measured = "allocating, syncing, what the kernel writes to the disk afterwards"},
        {{"journal: number, CRC-32C and commit word too", journaled},
         {"memcpy to a mapped file", mapped},
         {"write() a quote", [] { return written(1); }},
         {"write() 64 quotes at a time", [] { return written(64); }}});
}
