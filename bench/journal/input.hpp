#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include <millpond/feed/event.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/journal_writer.hpp>

namespace millpond::bench {

/// A temporary folder for a bench's files, removed with this object.
class BenchFolder {
public:
    explicit BenchFolder(const std::string& name)
        : path_(std::filesystem::temp_directory_path() / ("millpond-" + name + "-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~BenchFolder() { std::filesystem::remove_all(path_); }
    BenchFolder(const BenchFolder&) = delete;
    BenchFolder& operator=(const BenchFolder&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

inline constexpr feed::InstrumentId kInstruments = 5'000;

/// The n-th quote of the benches' day; times are a microsecond apart.
inline feed::Quote quote_of(std::uint64_t n) {
    feed::Quote quote;
    quote.instrument = static_cast<feed::InstrumentId>(n % kInstruments);
    quote.bid_price = static_cast<feed::Price>(n);
    quote.ask_price = static_cast<feed::Price>(n + 1);
    quote.bid_size = 100;
    quote.ask_size = 200;
    quote.receive_utc_ns = static_cast<std::int64_t>(n * 1'000);
    quote.feed_sequence = n;
    return quote;
}

/// Appends quotes first..last; `service` runs in between, on the same thread.
inline void append(journal::JournalWriter& writer, std::uint64_t first, std::uint64_t last) {
    for (auto n = first; n <= last; ++n) {
        while (!writer.append(quote_of(n), n)) {
            if (!writer.service(0)) throw std::runtime_error("the journal takes no more quotes");
        }
    }
}

/// A journal of quotes 1..count, for readers.
inline void write_journal(const std::filesystem::path& folder, std::uint64_t count, std::uint64_t segment_bytes) {
    journal::JournalWriter writer{
        {.folder = folder, .ring = "bench", .segment_bytes = segment_bytes, .sync = journal::Sync::none}, 0};
    writer.set_epoch(1);
    for (feed::InstrumentId id = 0; id < kInstruments; ++id)
        writer.name(id, {feed::Venue{"BENCH"}, feed::Symbol{"SYM" + std::to_string(id)}});
    append(writer, 1, count);
}

/// Sums up values that show that each quote was read as written.
struct Sum {
    void on(const feed::Quote& quote) { value += static_cast<std::uint64_t>(quote.bid_price); }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void on(const journal::LostRecord&) { throw std::runtime_error("the journal lost a quote"); }
    std::uint64_t value{0};
};

}  // namespace millpond::bench
