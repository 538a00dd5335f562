#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millpond::feed {

/// Error that ended the decoding of a datagram. It is counted; the next datagram is not affected.
enum class DecodeErrorKind : std::uint8_t {
    truncated,     ///< found: available bytes; bound: required bytes.
    oversized,     ///< found: available bytes; bound: maximum.
    bad_magic,     ///< found: the first bytes; bound: the expected ones. The datagram is of another format.
    bad_version,   ///< found: the version; bound: the newest supported one.
    bad_length,    ///< found: a length field; bound: its required or maximum value.
    bad_count,     ///< found: a count field; bound: its maximum.
    bad_depth,     ///< found: levels of a side that the sender sends; bound: those that the receiver expects.
    bad_symbol,    ///< A name is empty or not printable ASCII. found: its first byte; bound: 0x7E.
    bad_session,   ///< A session's name is not printable ASCII. found: its first invalid byte; bound: 0x7E.
    bad_sequence,  ///< found: a sequence number that no channel can reach.
};

[[nodiscard]] constexpr std::string_view to_string(DecodeErrorKind kind) noexcept {
    switch (kind) {
        case DecodeErrorKind::truncated: return "truncated";
        case DecodeErrorKind::oversized: return "oversized";
        case DecodeErrorKind::bad_magic: return "bad magic";
        case DecodeErrorKind::bad_version: return "bad version";
        case DecodeErrorKind::bad_length: return "bad length";
        case DecodeErrorKind::bad_count: return "bad count";
        case DecodeErrorKind::bad_depth: return "bad depth";
        case DecodeErrorKind::bad_symbol: return "bad symbol";
        case DecodeErrorKind::bad_session: return "bad session";
        case DecodeErrorKind::bad_sequence: return "bad sequence";
    }
    return "unknown";
}

/// The error, its offset, the value found and the bound.
struct DecodeError {
    DecodeErrorKind kind;
    std::size_t offset;  ///< Byte of the datagram where the offending field begins.
    std::uint64_t found;
    std::uint64_t bound;
};

/// The result for one datagram. Messages before an error have been decoded and passed on.
struct DecodeResult {
    std::uint32_t messages{0};  ///< Messages of the venue found, applied or not.
    std::optional<DecodeError> error{};

    [[nodiscard]] bool ok() const noexcept { return !error.has_value(); }
};

}  // namespace millpond::feed
