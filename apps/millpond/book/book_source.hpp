#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/millpond/book/book_follower.hpp"
#include "apps/millpond/book/sampler.hpp"
#include "apps/millpond/command_line/progress.hpp"

namespace millpond::app {

/// A file or journal with the events of a book. Its clock is the time of the day of the exchange for messages without
/// receive times, else UTC; both in nanoseconds.
class BookSource {
public:
    struct Options {
        std::string path{};
        std::string symbol{};
        std::string only{};  ///< ADDRESS:PORT of the datagrams of a capture; empty: all.
    };
    /// Time zone of the exchange whose time of the day a user gives.
    static constexpr const char* kZone = "America/New_York";

    BookSource() = default;
    BookSource(const BookSource&) = delete;
    BookSource& operator=(const BookSource&) = delete;
    virtual ~BookSource() = default;

    /// Parses HH:MM, HH:MM:SS or HH:MM:SS.fraction in kZone, or a time in UTC with a date. Throws UsageError.
    [[nodiscard]] virtual std::int64_t parse_time(const std::string& text) const = 0;
    [[nodiscard]] virtual std::string time_text(std::int64_t time) const = 0;
    /// "bytes" or "records", and their number; 0 if unknown.
    [[nodiscard]] virtual std::string unit() const { return "bytes"; }
    [[nodiscard]] virtual std::uint64_t total() const = 0;

    /// Applies events until the sampler needs no more, or a signal stops the program.
    virtual void read(Sampler& sampler, Progress& progress) = 0;
    /// The book that was made of the events so far.
    [[nodiscard]] virtual const BookFollower& followed() const = 0;
    /// Time of the last event that was read.
    [[nodiscard]] virtual std::int64_t last_time() const = 0;
    /// Whether there are no events after the last one.
    [[nodiscard]] virtual bool has_ended() const { return followed().has_ended(); }
    /// Damage of the recording so far, and messages that were not applied; empty if there is none.
    [[nodiscard]] virtual std::string damage() { return {}; }
    /// The first message of the book that was not applied; empty if there is none.
    [[nodiscard]] virtual std::string fault() const { return {}; }
};

/// Opens a capture, a file of ITCH messages or a journal. Throws UsageError if it has no books.
[[nodiscard]] std::unique_ptr<BookSource> open_book_source(const BookSource::Options& options);

}  // namespace millpond::app
