#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// FIX messages in text: a raw log of the engine, another log, or a captured stream.
namespace millpond::fixd {

/// A message, or bytes that begin like one.
struct FoundMessage {
    std::string bytes;  ///< Message with the byte 0x01 as delimiter, independent of the delimiter in the text.
    std::optional<std::int64_t> utc_ns{};  ///< Time of a raw log's line.
    std::string session{};                 ///< Session of a raw log's line; else empty.
    char direction{' '};                   ///< In a raw log: '<' received, '>' sent.
    std::uint64_t at{0};                   ///< Position of its first byte in the text, from 0.
};

/// Finds the messages in text that arrives in pieces. The delimiter is the text between BeginString and BodyLength:
/// the byte 0x01, '|', '^', ';', a blank, ^A, <SOH> or anything else of up to 8 characters; where it is not the byte
/// 0x01, it separates only before a tag. A message ends after its CheckSum; without one it ends at the line end or at
/// the next 8=FIX. With the byte 0x01 BodyLength counts, also over line ends, but in a raw log, which escapes them.
///
/// Threads: one. Memory: the longest line, or 16 MiB of one without a line end.
class MessageFinder {
public:
    /// found: called for each message, in order. remark: for losses noted in a raw log.
    MessageFinder(std::function<void(const FoundMessage&)> found, std::function<void(std::string_view)> remark)
        : found_(std::move(found)), remark_(std::move(remark)) {}

    /// Adds the next bytes of the text. Reports a message as soon as it is complete, in a raw log at the line end.
    void append(std::string_view bytes);
    /// Ends the text: bytes without a line end are the last line. The next text starts at byte 0.
    void finish();

private:
    void process_lines(bool is_last);
    void process_line(std::string_view line);
    [[nodiscard]] std::size_t end_beyond(std::string_view line, std::string_view text) const;
    void process_partial_line();
    std::size_t find_in(std::string_view text, bool whole, FoundMessage& message,
                        const std::function<std::uint64_t(std::size_t)>& place) const;

    std::function<void(const FoundMessage&)> found_;
    std::function<void(std::string_view)> remark_;
    std::string line_;             // unfinished line
    std::uint64_t line_at_{0};     // byte of the text at which line_ begins
    bool is_rest_of_line_{false};  // messages at the start of line_ were reported
};

}  // namespace millpond::fixd
