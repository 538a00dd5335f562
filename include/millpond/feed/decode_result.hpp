#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millpond::feed {

/// Why a datagram, or the rest of one, could not be decoded. It is counted; the next datagram is not affected.
enum class DecodeErrorKind : std::uint8_t {
    truncated,     ///< found: bytes that are there; bound: bytes that are needed.
    oversized,     ///< found: bytes that are there; bound: the most that are allowed.
    bad_magic,     ///< found: the first bytes; bound: what they must be. Another format's datagram.
    bad_version,   ///< found: the version; bound: the newest that is understood.
    bad_length,    ///< found: a length field; bound: what it must be or may be at most.
    bad_count,     ///< found: a count field; bound: what it may be at most.
    bad_symbol,    ///< A name is empty or not printable ASCII. found: its first byte; bound: 0x7E.
    bad_session,   ///< A session's name is not printable ASCII. found: its first byte that is not; bound: 0x7E.
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
        case DecodeErrorKind::bad_symbol: return "bad symbol";
        case DecodeErrorKind::bad_session: return "bad session";
        case DecodeErrorKind::bad_sequence: return "bad sequence";
    }
    return "unknown";
}

/// What is wrong, where, the value found there and the bound.
struct DecodeError {
    DecodeErrorKind kind;
    std::size_t offset;  ///< Byte of the datagram where the offending field begins.
    std::uint64_t found;
    std::uint64_t bound;
};

/// What became of one datagram. What stood before an error has been decoded and handed over.
struct DecodeResult {
    std::uint32_t messages{0};  ///< Messages of the venue found, whatever became of them.
    std::optional<DecodeError> error{};

    [[nodiscard]] bool ok() const noexcept { return !error.has_value(); }
};

}  // namespace millpond::feed
