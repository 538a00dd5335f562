#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// FIX messages in text: a raw log of the engine, another log, or a captured stream.
namespace millpond::app {

/// One message, or bytes that begin like one but are not one.
struct FoundMessage {
    std::string bytes;                     ///< With the byte 0x01 as delimiter, whatever the text had.
    std::optional<std::int64_t> utc_ns{};  ///< Of a raw log's line.
    std::string session{};                 ///< Likewise; else empty.
    char direction{' '};                   ///< Likewise: '<' received, '>' sent.
    std::uint64_t at{0};                   ///< Byte of the text at which it begins, from 0.
};

/// Finds the messages in text that comes piece by piece. The delimiter is what is between BeginString and BodyLength:
/// the byte 0x01, '|', '^', ';', a blank, ^A, <SOH> or anything else of up to 8 characters; where it is not the byte
/// 0x01, it separates only in front of a tag. A message ends behind its CheckSum; one without ends at its line's end or
/// at the next 8=FIX.
///
/// Threads: one. Memory: the longest line, or 16 MiB of one without a line end.
class MessageFinder {
public:
    /// found: called for each message, in order. remark: for losses noted in a raw log.
    MessageFinder(std::function<void(const FoundMessage&)> found, std::function<void(std::string_view)> remark)
        : found_(std::move(found)), remark_(std::move(remark)) {}

    /// The next bytes of the text. A message is reported as soon as it is there; one of a raw log with its line's end.
    void take(std::string_view bytes);
    /// Nothing follows: what has no line end yet is the last line. The next text begins at byte 0 again.
    void finish();

private:
    void take_line(std::string_view line);
    void take_part();
    std::size_t find_in(std::string_view text, bool whole, FoundMessage& message,
                        const std::function<std::uint64_t(std::size_t)>& place) const;

    std::function<void(const FoundMessage&)> found_;
    std::function<void(std::string_view)> remark_;
    std::string line_;             // without its end, so far
    std::uint64_t line_at_{0};     // byte of the text at which line_ begins
    bool is_rest_of_line_{false};  // line_ had messages in front that are reported
};

}  // namespace millpond::app
