#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/files/timestamps.hpp>
#include <millpond/market/quote_board.hpp>

#include "collector.hpp"
#include "error_list.hpp"

namespace millpond::python {

/// The instruments that a reader has found, by number.
class Instruments {
public:
    virtual ~Instruments() = default;
    Instruments() = default;
    Instruments(const Instruments&) = delete;
    Instruments& operator=(const Instruments&) = delete;

    /// Upper bound of the instrument numbers that have a name.
    [[nodiscard]] virtual std::size_t instruments() const noexcept = 0;
    [[nodiscard]] virtual market::Instrument instrument(feed::InstrumentId id) const noexcept = 0;
};

/// A file of any kind, read from start to end into rows. Independent of Python.
///
/// Threads: one at a time.
class Source : public Instruments {
public:
    struct Options {
        std::string path{};
        std::string format{};  ///< Format of the datagrams in a capture: itch, quotes, bbo28 or miax-tom.
        std::string only{};    ///< Reads only the capture's datagrams to this ADDRESS:PORT; empty: all.
        files::Timestamps timestamps{files::Timestamps::automatic};  ///< Of a capture.
        std::optional<std::vector<std::string>> symbols{};
        std::optional<std::int64_t> start{};
        std::optional<std::int64_t> end{};
        std::int64_t midnight_utc_ns{0};  ///< Midnight of the exchange's day.
        std::uint64_t bytes{0};           ///< Size of the file on the disk, compressed or not.
        std::uint32_t depth{0};           ///< ITCH: levels of a side that have rows; feed::kFullDepth: all.
        bool orders{false};               ///< ITCH: changes of orders have rows.
    };
    /// Counts with their names, in the order of display.
    using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

    /// Reads up to `max` messages, datagrams or records. Returns false at the end of the file, or at damage.
    [[nodiscard]] virtual bool read(Collector& rows, std::size_t max) = 0;
    /// Whether the next read only unpacks a part of the file and returns no rows, whatever `max` is.
    [[nodiscard]] virtual bool unpacks() const noexcept { return false; }
    /// Number of events that the source excluded by time; the collector excludes others.
    [[nodiscard]] virtual std::uint64_t outside() const noexcept { return 0; }
    [[nodiscard]] virtual Counts counts() const = 0;
    /// Bytes of the file, as on the disk, that were read; for a journal approximately.
    [[nodiscard]] virtual std::uint64_t offset() const noexcept = 0;

    [[nodiscard]] const ErrorList& errors() const noexcept { return errors_; }

protected:
    ErrorList errors_;
};

[[nodiscard]] std::unique_ptr<Source> open_journal(const Source::Options& options);
[[nodiscard]] std::unique_ptr<Source> open_itch(const Source::Options& options);
[[nodiscard]] std::unique_ptr<Source> open_capture(const Source::Options& options);

}  // namespace millpond::python
