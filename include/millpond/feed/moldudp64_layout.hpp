#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <millpond/core/endian.hpp>

/// MoldUDP64, the framing of sequenced messages in datagrams. Integers are big-endian and unaligned.
/// ```
///  0  10 characters of session, printable ASCII padded with spaces
/// 10  u64 sequence number of the first message; of the next one to be sent if there is none here
/// 18  u16 count of messages; 0 is a heartbeat, 0xFFFF the end of the session
/// 20  count blocks, each u16 length and so many bytes of message
/// ```
/// Source: NASDAQ, MoldUDP64 Protocol Specification 1.00.
namespace millpond::feed::moldudp64_layout {

using Session = std::array<char, 10>;

inline constexpr std::size_t kSessionAt = 0;
inline constexpr std::size_t kSequenceAt = 10;
inline constexpr std::size_t kCountAt = 18;
inline constexpr std::size_t kHeaderBytes = 20;
inline constexpr std::size_t kLengthBytes = 2;
inline constexpr std::uint16_t kEndOfSession = 0xFFFF;

/// True if the ten bytes are characters 0x20 to 0x7E.
[[nodiscard]] inline bool is_printable(const std::byte* session) noexcept {
    constexpr std::uint64_t kEach = 0x0101'0101'0101'0101;
    constexpr std::uint64_t kHigh = kEach * 0x80;
    // No sum below carries from one byte into the next if no byte is 0x80 or more.
    const auto printable = [](std::uint64_t word) {
        return (word & kHigh) == 0 && ((word + kEach * 0x60) & kHigh) == kHigh && ((word + kEach) & kHigh) == 0;
    };
    return printable(core::load_le<std::uint64_t>(session)) && printable(core::load_le<std::uint64_t>(session + 2));
}

}  // namespace millpond::feed::moldudp64_layout
