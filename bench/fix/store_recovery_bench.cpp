// Measured:     opening a FileStore that was not closed, its headers and current segment in the page cache.
// Not measured: writing it, reading it from a disk.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/fix/file_store.hpp>
#include <millpond/memory/region.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

const auto kFolder = std::filesystem::temp_directory_path() / ("millpond-recovery-bench-" + std::to_string(getpid()));
constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kMessageBytes = 256;
constexpr std::uint64_t kMessages = 400'000;  // more than 64 MiB

/// Bytes of a full segment.
std::uint64_t messages_in(std::size_t segment_bytes) {
    return segment_bytes / fix::StoreSegment::record_bytes(kMessageBytes) - 1;
}

void store(fix::FileStore& store, std::uint64_t messages) {
    const std::string message(kMessageBytes, 'm');
    for (std::uint64_t i = 0; i < messages; ++i) {
        const auto number = store.next_sender();
        if (!store.store(message)) std::abort();
        store.mark_written(number);
        if (i % 1024 == 0) static_cast<void>(store.maintain({}));
    }
}

void fill(const std::string& name, const fix::FileStore::Options& options) {
    fix::FileStore made{kFolder / name, 0, options};
    store(made, kMessages);
}

/// A store as days of trading leave it, without their bytes: former segments are sparse except for their headers, and
/// only the current one has messages.
void make_sparse(const std::string& name, std::size_t segments, std::size_t segment_bytes) {
    const auto path = kFolder / name;
    const auto messages = messages_in(segment_bytes);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto bytes = (fix::StoreSegment::memory_bytes(segment_bytes) + page - 1) / page * page;
    for (std::size_t i = 0; i < segments; ++i) {
        const auto file = fix::FileStore::segment_path(path, i);
        const int made = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
        if (made < 0 || ::ftruncate(made, static_cast<off_t>(bytes)) != 0) std::abort();
        ::close(made);
        auto region = memory::Region::open_file(file, memory::Access::writable);
        const auto segment = fix::StoreSegment::create(region.bytes(), segment_bytes, 1);
        const auto first = i * messages + 1;
        segment.header->generation.store(i + 1);
        segment.header->next_sender.store(first);
        if (i + 1 == segments) continue;  // its length follows from its records
        segment.header->sealed_utc_ns.store(1);
        segment.seal({.first = first,
                      .next = first + messages,
                      .messages = messages,
                      .begin = segment_bytes,
                      .end = 2 * segment_bytes});
    }
    fix::FileStore made{path, 1, {.data_bytes = segments * segment_bytes, .segments = 0, .prefault = false}};
    store(made, messages);
}

/// messages: number of messages that it has stored.
bench::Finding open(const std::string& name, const fix::FileStore::Options& options, std::uint64_t messages) {
    std::uint64_t next = 0;
    const auto nanos = bench::nanos_each(1, [&] {
        const fix::FileStore opened{kFolder / name, 1, options};
        next = opened.next_sender();
    });
    return {.value = nanos / 1e6, .answer = next == messages + 1 ? 1U : 0U};
}

fix::FileStore::Options equal(std::size_t segments, bool prefault) {
    return {.segments = segments, .prefault = prefault};
}

/// The options that `millpond fix` uses.
fix::FileStore::Options growing(std::size_t data_bytes) {
    return {.data_bytes = data_bytes, .segments = 0, .resident_bytes = 32 * kMiB};
}

}  // namespace

int main() {
    std::filesystem::create_directories(kFolder);
    fill("four", equal(4, true));
    fill("one", equal(1, true));
    std::vector<bench::Contender> all{
        {"FileStore, 64 MiB in four segments", [] { return open("four", equal(4, false), kMessages); }},
        {"FileStore, 64 MiB in four segments, pages mapped ahead",
         [] { return open("four", equal(4, true), kMessages); }},
        {"FileStore, 64 MiB in one segment", [] { return open("one", equal(1, false), kMessages); }}};
    for (const std::size_t gib : {1U, 4U, 16U, 64U}) {
        const auto name = std::to_string(gib) + " GiB";
        const auto options = growing(gib * 1024 * kMiB);
        const auto segment_bytes = fix::FileStore::segment_bytes(options);
        const auto segments = options.data_bytes / segment_bytes;
        make_sparse(name, segments, segment_bytes);
        all.push_back({"FileStore that grows, full with " + name,
                       [=] { return open(name, options, segments * messages_in(segment_bytes)); }});
    }
    bench::compare({.question = "How long does taking over a full store take, whatever it keeps?",
                    .unit = "ms",
                    .measured = "opening its files, reading their headers and scanning the current segment, the pages "
                                "in the cache; of a store that grows, the newest 32 MiB are mapped too",
                    .not_measured = "reading them from a disk"},
                   all);
    std::filesystem::remove_all(kFolder);
}
