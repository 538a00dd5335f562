#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/market/quote_board.hpp>

#include "collector.hpp"
#include "error_list.hpp"

namespace millpond::python {

/// A file of any kind, read from front to back into rows. Knows nothing of Python.
///
/// Threads: one at a time.
class Source {
public:
    struct Options {
        std::string path{};
        std::string format{};  ///< Of datagrams in a capture: itch, quotes, bbo28 or miax-tom.
        std::string only{};    ///< Of a capture: the datagrams to this ADDRESS:PORT; empty: to any.
        std::optional<std::vector<std::string>> symbols{};
        std::optional<std::int64_t> start{};
        std::optional<std::int64_t> end{};
        std::int64_t midnight_utc_ns{0};  ///< Of the exchange's day.
        std::uint64_t bytes{0};           ///< Of the file as it lies there, compressed or not.
    };
    /// Each count with its name, in the order in which they are to be shown.
    using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

    virtual ~Source() = default;
    Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    /// Reads up to `max` messages, datagrams or records. False at the end of the file, or where it cannot be read on.
    [[nodiscard]] virtual bool read(Collector& rows, std::size_t max) = 0;
    /// Whether the next read unpacks a part of the file and gives no rows, whatever `max` is.
    [[nodiscard]] virtual bool unpacks() const noexcept { return false; }
    /// Instruments below this number have a name.
    [[nodiscard]] virtual std::size_t instruments() const noexcept = 0;
    [[nodiscard]] virtual market::Instrument instrument(feed::InstrumentId id) const noexcept = 0;
    [[nodiscard]] virtual Counts counts() const = 0;
    /// Bytes of the file, as it lies there, behind what was read; of a journal about that.
    [[nodiscard]] virtual std::uint64_t offset() const noexcept = 0;

    [[nodiscard]] const ErrorList& errors() const noexcept { return errors_; }

protected:
    ErrorList errors_;
};

[[nodiscard]] std::unique_ptr<Source> open_journal(const Source::Options& options);
[[nodiscard]] std::unique_ptr<Source> open_itch(const Source::Options& options);
[[nodiscard]] std::unique_ptr<Source> open_capture(const Source::Options& options);

}  // namespace millpond::python
