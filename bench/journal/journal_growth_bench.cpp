// Measured:     opening a journal, finding a place in it, and the looks of its writer, while the journal grows to 100
// GB. Not measured: reading from a disk; the segments are of full size and hold few records, the rest is holes.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/journal_writer.hpp>
#include <millpond/journal/segment_writer.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"
#include "bench/journal/input.hpp"

/// Replaces the C library's function, so that a file gets its length without disk space: 170 GB of segments fit on any
/// disk.
extern "C" int posix_fallocate(int file, off_t offset, off_t bytes) {
    return ftruncate(file, offset + bytes) == 0 ? 0 : errno;
}

namespace {

using namespace millpond;

constexpr std::uint64_t kSegmentBytes = std::uint64_t{256} << 20U;  // the default
constexpr std::uint64_t kQuotesEach = 2'000;
constexpr feed::InstrumentId kNamed = 100;
constexpr std::uint64_t kSegmentsEachGigabyte = 4;

/// A journal of this size, made once: every segment names the instruments and has kQuotesEach quotes.
class GrownJournal {
public:
    explicit GrownJournal(std::size_t gigabytes)
        : segments_(gigabytes * kSegmentsEachGigabyte), folder_("growth-" + std::to_string(gigabytes)) {
        std::uint64_t record = 1;
        for (std::uint64_t i = 1; i <= segments_; ++i) {
            journal::SegmentWriter segment({i, journal::segment_path(folder_.path(), i)}, kSegmentBytes);
            segment.begin({.ring = journal::RingName{"bench"},
                           .epoch = 1,
                           .session = 1,
                           .first_record = record,
                           .begun_utc_ns = quote(i, 0).receive_utc_ns});
            for (feed::InstrumentId id = 0; id < kNamed; ++id) {
                (void)segment.append_name({.instrument = id,
                                           .venue = feed::Venue{"BENCH"},
                                           .symbol = feed::Symbol{"S" + std::to_string(id)}});
            }
            for (std::uint64_t n = 0; n < kQuotesEach; ++n) {
                const auto one = quote(i, n);
                if (!segment.append(journal::kRecordKind<feed::Quote>, one.feed_sequence, one, one.receive_utc_ns)) {
                    throw std::runtime_error("a segment is too small for its quotes");
                }
            }
            record = segment.next_record();
            segment.end();
        }
    }

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
    [[nodiscard]] std::uint64_t segments() const { return segments_; }
    /// The quote in the middle of the journal, and the number of its record.
    [[nodiscard]] feed::Quote wanted() const { return quote(segments_ / 2 + 1, kQuotesEach / 2); }
    [[nodiscard]] std::uint64_t wanted_record() const {
        return segments_ / 2 * (kNamed + kQuotesEach) + kNamed + kQuotesEach / 2 + 1;
    }

private:
    static feed::Quote quote(std::uint64_t segment, std::uint64_t n) {
        auto made = bench::quote_of((segment - 1) * kQuotesEach + n + 1);
        made.instrument = static_cast<feed::InstrumentId>(n % kNamed);
        return made;
    }

    std::uint64_t segments_;
    bench::BenchFolder folder_;
};

const GrownJournal& journal_of(std::size_t gigabytes) {
    static std::map<std::size_t, GrownJournal> all;
    return all.try_emplace(gigabytes, gigabytes).first->second;
}

/// Keeps the first quote.
struct First {
    void on(const feed::Quote& quote) {
        if (number == 0) number = quote.feed_sequence;
    }
    template <class Other>
    void on(const Other&) {}
    std::uint64_t number{0};
};

template <class Seek>
bench::Finding read_first(const GrownJournal& grown, std::uint64_t wanted, Seek seek) {
    First first;
    const auto nanos = bench::own_nanos_each(1, [&] {
        journal::JournalReader reader{grown.path()};
        seek(reader);
        while (first.number == 0 && reader.poll(first, 1) != 0) {
        }
    });
    return {.value = nanos / 1e3, .answer = first.number == wanted ? grown.segments() : 0};
}

bench::Finding oldest(std::size_t gigabytes) {
    return read_first(journal_of(gigabytes), 1, [](journal::JournalReader&) {});
}

bench::Finding middle_record(std::size_t gigabytes) {
    const auto& grown = journal_of(gigabytes);
    return read_first(grown, grown.wanted().feed_sequence,
                      [&](journal::JournalReader& reader) { reader.seek(grown.wanted_record()); });
}

bench::Finding middle_time(std::size_t gigabytes) {
    const auto& grown = journal_of(gigabytes);
    return read_first(grown, grown.wanted().feed_sequence, [&](journal::JournalReader& reader) {
        reader.select(grown.wanted().receive_utc_ns, std::nullopt);
    });
}

/// Measures a writer's start, and its search for segments to remove, of which there are none.
bench::Finding writer(std::size_t gigabytes, bool starts) {
    constexpr std::int64_t kLater = 3'600'000'000'000;  // the next run of retention
    const auto& grown = journal_of(gigabytes);
    std::unique_ptr<journal::JournalWriter> made;
    const auto now = grown.wanted().receive_utc_ns;
    const auto start = bench::own_nanos_each(1, [&] {
        made = std::make_unique<journal::JournalWriter>(
            journal::WriterOptions{.folder = grown.path(), .ring = "bench", .keep_bytes = std::uint64_t{1} << 50U},
            now);
    });
    if (starts) return {.value = start / 1e3, .answer = grown.segments()};
    (void)made->service(now);
    const auto look = bench::own_nanos_each(1, [&] { (void)made->service(now + kLater); });
    return {.value = look / 1e3, .answer = made->counters().removed_segments.read() == 0 ? grown.segments() : 0};
}

}  // namespace

int main() {
    const std::vector<std::size_t> gigabytes{1, 4, 16, 50, 100};
    std::vector<bench::Contender> contenders;
    bench::add_line(contenders, "reader: open, the oldest quote", gigabytes, oldest);
    bench::add_line(contenders, "reader: open, a record in the middle", gigabytes, middle_record);
    bench::add_line(contenders, "reader: open, a time in the middle", gigabytes, middle_time);
    bench::add_line(contenders, "writer: start", gigabytes, [](std::size_t size) { return writer(size, true); });
    bench::add_line(contenders, "writer: a look for segments to remove", gigabytes,
                    [](std::size_t size) { return writer(size, false); });
    bench::compare(
        {.question = "How long do opening, seeking and retention take while a journal grows?",
         .unit = "us",
         .curve = bench::Curve{.axis = "gigabytes",
                               .knees = {{.at = 4,
                                          .why = "a writer opens and maps each of the 256 MiB segments to read its "
                                                 "header when it starts and when it looks for segments to remove, so "
                                                 "that from here on its lines rise with the number of segments; larger "
                                                 "segments make them flatter. A reader lists the folder's names and "
                                                 "opens one segment more for each doubling, so that its lines rise "
                                                 "slowly"}}},
         .measured = "processor time; segments of 256 MiB whose pages are in the page cache; from opening the folder "
                     "until the first "
                     "quote is delivered, or until the writer is done",
         .not_measured = "reading from a disk; the segments are sparse files with 2,000 quotes each"},
        contenders);
}
