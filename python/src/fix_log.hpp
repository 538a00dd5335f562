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

#include <millpond/files/line_reader.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/tag.hpp>

#include "arrow_columns.hpp"
#include "error_list.hpp"

namespace millpond::python {

/// The FIX messages of the engine's raw log, or of any text that contains some, as columns. Independent of Python.
///
/// A message that lies in several pieces of a stream is reassembled. A line without a raw log's time, direction and
/// session is read without them; its delimiter may be other than the byte 0x01. The file may be compressed by gzip or
/// zstd. A damaged message does not affect others; if it states a length that is too long, the messages after it follow
/// later than the lines around them.
///
/// Threads: one at a time.
/// Memory:  that of files::LineReader, and incomplete messages, at most 64 MiB.
class FixLog {
public:
    struct WantedTag {
        fix::Tag tag;
        std::string name;
        bool every;  ///< True: a list of all values, for fields of a repeating group.
    };
    struct Options {
        std::string path{};
        std::vector<WantedTag> tags{};
        std::vector<std::string> types{};                 ///< Message types to read; empty: all.
        std::map<std::string, std::string> type_names{};  ///< Names by MsgType; empty: no column of names.
    };
    struct Counts {
        std::uint64_t lines{0};
        std::uint64_t bytes{0};
        std::uint64_t messages{0};
        std::uint64_t faulty{0};   ///< Byte ranges that begin like a message, or follow one, and are not messages.
        std::uint64_t masked{0};   ///< Messages whose secrets are masked by '*'.
        std::uint64_t remarks{0};  ///< Lines in which the log reports losses.
        std::uint64_t unwanted{0};
    };

    /// Throws std::system_error if the file cannot be read.
    explicit FixLog(const Options& options);

    /// Returns the columns of up to max_rows messages, and their number of rows; 0 at the end. pause: called now and
    /// then; may throw.
    std::pair<std::vector<ArrowColumn>, std::size_t> read(std::size_t max_rows, void (*pause)());
    /// Columns without rows.
    [[nodiscard]] std::vector<ArrowColumn> empty_columns() const;

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    [[nodiscard]] const ErrorList& errors() const noexcept { return errors_; }

private:
    static constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 20U;
    static constexpr std::size_t kMaxWaiting = std::size_t{64} << 20U;
    static constexpr std::size_t kMaxStreams = 10'000;
    struct Heading {
        std::optional<std::int64_t> utc_ns{};
        char direction{' '};
        std::string_view session{};
    };
    /// Origin of bytes of a stream.
    struct Piece {
        std::size_t end;  ///< Offset after the bytes.
        std::optional<std::int64_t> utc_ns;
        std::uint64_t line;
        std::uint64_t line_at;  ///< Offset in the file's contents.
    };
    /// An incomplete message, from `begin` on.
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
    /// Reads the complete messages from `at` on and returns the offset after them. no_more: why no bytes follow; empty:
    /// some do.
    std::size_t consume_bytes(std::string_view bytes, std::size_t at, std::span<const Piece> pieces, Heading heading,
                              std::string_view no_more);
    /// Offset of the first start of a message at or after `from`, at least 1, or of a start that may be cut off at the
    /// end. Ignores starts inside a field's value, which belong to another message.
    [[nodiscard]] static std::size_t next_begin(std::string_view bytes, std::size_t from,
                                                std::span<const Piece> pieces);
    [[nodiscard]] std::optional<fix::FrameError> take_message(const fix::Frame& frame, const Heading& heading,
                                                              std::uint64_t line);
    void add_row(const fix::Message& message, const Heading& heading, std::uint64_t line, bool masked);
    void fault(std::string_view what, std::uint64_t line, std::uint64_t line_at);

    Options options_;
    std::set<std::string, std::less<>> types_;
    files::LineReader lines_;
    fix::Parser parser_;
    std::vector<fix::Field> spill_;
    std::string plain_;
    std::string repaired_;
    std::map<std::string, Waiting, std::less<>> streams_;  ///< Indexed by direction and session.
    std::vector<ArrowColumn> columns_;
    std::size_t waiting_bytes_{0};
    std::size_t rows_{0};
    bool ended_{false};
    Counts counts_;
    std::uint64_t line_at_{0};
    ErrorList errors_;
};

}  // namespace millpond::python
