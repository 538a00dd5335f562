#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/fix/parser.hpp>
#include <millpond/fix/tag.hpp>
#include <millpond/net/line_reader.hpp>

#include "arrow_columns.hpp"
#include "error_list.hpp"

namespace millpond::python {

/// The FIX messages of a raw log of the engine, or of any text that holds some, as columns. Knows nothing of Python.
///
/// A message that lies in several pieces of a stream is put together. A line without a raw log's time, direction and
/// session is read without them; its delimiter may be other than the byte 0x01. The file may be compressed by gzip or
/// zstd. A damaged message costs no other one: those that wait behind it, because it states to be longer than it is,
/// come later than the lines around them.
///
/// Threads: one at a time.
/// Memory:  that of net::LineReader, and messages without an end, at most 64 MiB.
class FixLog {
public:
    struct WantedTag {
        fix::Tag tag;
        std::string name;
        bool every;  ///< A list of all values, for fields of a repeating group.
    };
    struct Options {
        std::string path{};
        std::vector<WantedTag> tags{};
        std::vector<std::string> types{};                 ///< Only these; empty: all.
        std::map<std::string, std::string> type_names{};  ///< MsgType and name; empty: no column.
    };
    struct Counts {
        std::uint64_t lines{0};
        std::uint64_t bytes{0};
        std::uint64_t messages{0};
        std::uint64_t faulty{0};   ///< Stretches that begin like a message, or follow one, and are none.
        std::uint64_t masked{0};   ///< Messages whose secrets are written as '*'.
        std::uint64_t remarks{0};  ///< Lines by which the log says what it lost.
        std::uint64_t unwanted{0};
    };

    /// Throws std::system_error.
    explicit FixLog(const Options& options);

    /// The columns of up to max_rows messages, and how many there are; 0 at the end.
    /// `pause` is called now and then and may throw.
    std::pair<std::vector<ArrowColumn>, std::size_t> read(std::size_t max_rows, void (*pause)());
    /// Columns without rows.
    [[nodiscard]] std::vector<ArrowColumn> empty_columns() const;

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    [[nodiscard]] const ErrorList& errors() const noexcept { return errors_; }

private:
    static constexpr std::size_t kLongestMessage = std::size_t{1} << 20U;
    static constexpr std::size_t kMostWaiting = std::size_t{64} << 20U;
    static constexpr std::size_t kMostStreams = 10'000;
    struct Heading {
        std::optional<std::int64_t> utc_ns{};
        char direction{' '};
        std::string_view session{};
    };
    /// Where bytes of a stream come from.
    struct Piece {
        std::size_t end;  ///< Behind them.
        std::optional<std::int64_t> utc_ns;
        std::uint64_t line;
        std::uint64_t line_at;  ///< Byte of the contents.
    };
    /// What waits for the rest of a message, from `begin` on.
    struct Waiting {
        std::string bytes{};
        std::size_t begin{0};
        std::vector<Piece> pieces{};

        [[nodiscard]] std::size_t memory() const noexcept { return bytes.size() + pieces.size() * sizeof(Piece); }
    };

    [[nodiscard]] bool next_line(std::string_view& line, void (*pause)());
    void end_of_file();
    void take_line(std::string_view line);
    void take_piece(std::string_view bytes, Piece piece, const Heading& heading, Waiting& waiting);
    void end_streams(std::string_view why);
    /// Takes what is complete from `at` on and returns where it ends. no_more: why nothing follows; empty: it does.
    std::size_t take_bytes(std::string_view bytes, std::size_t at, std::span<const Piece> pieces, Heading heading,
                           std::string_view no_more);
    /// The first begin of a message at or after `from`, at least 1, or what the end may have cut off of one. Not one
    /// that is a field's value: that message is part of another.
    [[nodiscard]] static std::size_t next_begin(std::string_view bytes, std::size_t from,
                                                std::span<const Piece> pieces);
    [[nodiscard]] std::optional<fix::FrameError> take_message(const fix::Frame& frame, const Heading& heading,
                                                              std::uint64_t line);
    void add_row(const fix::Message& message, const Heading& heading, std::uint64_t line, bool masked);
    void fault(std::string_view what, std::uint64_t line, std::uint64_t line_at);

    Options options_;
    std::set<std::string, std::less<>> types_;
    net::LineReader lines_;
    fix::Parser parser_;
    std::vector<fix::Field> spill_;
    std::string plain_;
    std::string repaired_;
    std::map<std::string, Waiting, std::less<>> streams_;  ///< By direction and session.
    std::vector<ArrowColumn> columns_;
    std::size_t waiting_bytes_{0};
    std::size_t rows_{0};
    bool ended_{false};
    Counts counts_;
    std::uint64_t line_at_{0};
    ErrorList errors_;
};

}  // namespace millpond::python
