// Measured:     opening a FileStore of 64 MiB, full of messages of 256 bytes, its pages in the page cache.
// Not measured: writing it, reading it from a disk.
#include <cstdint>
#include <filesystem>
#include <string>

#include <unistd.h>

#include <millpond/fix/file_store.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

const auto kFolder = std::filesystem::temp_directory_path() / ("millpond-recovery-bench-" + std::to_string(getpid()));

void fill(const std::string& name, std::size_t segments) {
    fix::FileStore store{kFolder / name, 0, {.segments = segments}};
    const std::string message(256, 'm');
    for (std::size_t i = 0; i < 400'000; ++i) {
        const auto number = store.next_sender();
        if (!store.store(message)) break;
        store.mark_written(number);
        if (i % 1024 == 0) static_cast<void>(store.maintain(0));
    }
}

bench::Finding open(const std::string& name, std::size_t segments, bool prefault) {
    std::uint64_t next = 0;
    const auto nanos = bench::nanos_each(1, [&] {
        const fix::FileStore store{kFolder / name, 0, {.segments = segments, .prefault = prefault}};
        next = store.next_sender();
    });
    return {.value = nanos / 1e6, .answer = next};
}

}  // namespace

int main() {
    std::filesystem::create_directories(kFolder);
    fill("four", 4);
    fill("one", 1);
    bench::compare({.question = "How long does taking over a full store of 64 MiB take?",
                    .unit = "ms",
                    .measured = "opening its files and looking at each slot of their indexes, the pages in the cache",
                    .not_measured = "reading them from a disk"},
                   {{"FileStore, four segments, pages mapped ahead", [] { return open("four", 4, true); }},
                    {"FileStore, four segments", [] { return open("four", 4, false); }},
                    {"FileStore, one segment", [] { return open("one", 1, false); }}});
    std::filesystem::remove_all(kFolder);
}
