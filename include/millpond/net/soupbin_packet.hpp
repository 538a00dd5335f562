#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include <millpond/core/endian.hpp>
#include <millpond/core/fixed_string.hpp>

/// Logical packets of SoupBinTCP 3.00. Lengths are big-endian; texts are ASCII, padded with spaces.
///
///     0  2  length: number of the bytes that follow, at least 1
///     2  1  type
///     3  .  payload
///
/// Source: Nasdaq, SoupBinTCP, version 3.00 of 22 February 2017: section 1.1 (packets), 2.1 (debug), 2.2 (server), 2.3
/// (client).
namespace millpond::net::soupbin {

inline constexpr std::size_t kLengthBytes = 2;
inline constexpr std::size_t kHeaderBytes = 3;  ///< Length and type.
inline constexpr std::size_t kMaxPayloadBytes = 65'534;
inline constexpr std::size_t kMaxPacketBytes = kHeaderBytes + kMaxPayloadBytes;

/// Types of packets; sequenced data and the answers to a login come from the server.
inline constexpr char kDebug = '+';
inline constexpr char kLoginAccepted = 'A';
inline constexpr char kLoginRejected = 'J';
inline constexpr char kSequenced = 'S';
inline constexpr char kServerHeartbeat = 'H';
inline constexpr char kEndOfSession = 'Z';
inline constexpr char kLoginRequest = 'L';
inline constexpr char kUnsequenced = 'U';
inline constexpr char kClientHeartbeat = 'R';
inline constexpr char kLogout = 'O';

/// Codes of a rejected login, section 2.2.2.
inline constexpr char kNotAuthorized = 'A';
inline constexpr char kSessionNotAvailable = 'S';

inline constexpr std::size_t kUserBytes = 6;
inline constexpr std::size_t kPasswordBytes = 10;
inline constexpr std::size_t kSessionBytes = 10;
inline constexpr std::size_t kNumberBytes = 20;
inline constexpr std::size_t kLoginRequestBytes =
    kHeaderBytes + kUserBytes + kPasswordBytes + kSessionBytes + kNumberBytes;
inline constexpr std::size_t kLoginAcceptedBytes = kHeaderBytes + kSessionBytes + kNumberBytes;

using User = core::FixedString<kUserBytes>;
using Password = core::FixedString<kPasswordBytes>;
/// A session's name without its padding; blank: the active session.
using Session = core::FixedString<kSessionBytes>;

/// A packet within received bytes.
struct Packet {
    char type{0};
    std::span<const std::byte> payload{};
    std::size_t bytes{0};  ///< Length of the packet with its header.
};

enum class PacketError : std::uint8_t {
    incomplete,  ///< Need more bytes: keep them all and call again.
    empty,       ///< The packet has the length 0 and thus no type: the bytes are not SoupBinTCP, close the connection.
};

/// Reads the first packet of the bytes.
[[nodiscard]] inline std::expected<Packet, PacketError> next_packet(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() < kLengthBytes) return std::unexpected{PacketError::incomplete};
    const std::size_t length = core::load_be<std::uint16_t>(bytes.data());
    if (length == 0) return std::unexpected{PacketError::empty};
    if (bytes.size() < kLengthBytes + length) return std::unexpected{PacketError::incomplete};
    return Packet{.type = static_cast<char>(bytes[kLengthBytes]),
                  .payload = bytes.subspan(kHeaderBytes, length - 1),
                  .bytes = kLengthBytes + length};
}

/// Writes the header of a packet at `out`. payload: its length, up to kMaxPayloadBytes.
inline void write_header(std::byte* out, char type, std::size_t payload) noexcept {
    core::store_be(out, static_cast<std::uint16_t>(payload + 1));
    out[kLengthBytes] = std::byte(type);
}

/// A packet without a payload.
[[nodiscard]] inline std::array<std::byte, kHeaderBytes> bare_packet(char type) noexcept {
    std::array<std::byte, kHeaderBytes> packet{};
    write_header(packet.data(), type, 0);
    return packet;
}

/// Payload of a login request, section 2.3.1. The server ignores the case of user and password.
struct LoginRequest {
    User user{};
    Password password{};
    Session session{};          ///< Blank: the active session.
    std::uint64_t sequence{1};  ///< Number of the first message to send; 0: begin with the newest one.
};

/// Payload of an accepted login, section 2.2.1.
struct LoginAccepted {
    Session session{};
    std::uint64_t sequence{1};  ///< Number of the next sequenced message.
};

namespace detail {

inline void put_text(std::byte*& out, std::string_view text, std::size_t width, bool pads_left) noexcept {
    std::memset(out, ' ', width);
    std::memcpy(out + (pads_left ? width - text.size() : 0), text.data(), text.size());
    out += width;
}
inline void put_number(std::byte*& out, std::uint64_t number) noexcept {
    std::array<char, kNumberBytes> digits;  // enough for every 64-bit number
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    put_text(out, {digits.data(), end}, kNumberBytes, true);
}

}  // namespace detail

/// The characters without spaces at both ends.
[[nodiscard]] inline std::string_view unpadded(std::span<const std::byte> field) noexcept {
    const std::string_view text{reinterpret_cast<const char*>(field.data()), field.size()};
    const auto first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// Reads a number in ASCII that is padded with spaces; nullopt for other characters, no digit, or 2^64 and above.
[[nodiscard]] inline std::optional<std::uint64_t> number_in(std::span<const std::byte> field) noexcept {
    const auto text = unpadded(field);
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
    return number;
}

inline void write(const LoginRequest& login, std::span<std::byte, kLoginRequestBytes> out) noexcept {
    write_header(out.data(), kLoginRequest, kLoginRequestBytes - kHeaderBytes);
    auto* at = out.data() + kHeaderBytes;
    detail::put_text(at, login.user.view(), kUserBytes, false);
    detail::put_text(at, login.password.view(), kPasswordBytes, false);
    detail::put_text(at, login.session.view(), kSessionBytes, true);
    detail::put_number(at, login.sequence);
}

inline void write(const LoginAccepted& login, std::span<std::byte, kLoginAcceptedBytes> out) noexcept {
    write_header(out.data(), kLoginAccepted, kLoginAcceptedBytes - kHeaderBytes);
    auto* at = out.data() + kHeaderBytes;
    detail::put_text(at, login.session.view(), kSessionBytes, true);
    detail::put_number(at, login.sequence);
}

/// Reads the payload of a login request; nullopt for another length or a sequence number that is not a number.
[[nodiscard]] inline std::optional<LoginRequest> read_login_request(std::span<const std::byte> payload) noexcept {
    if (payload.size() != kLoginRequestBytes - kHeaderBytes) return std::nullopt;
    const auto number = number_in(payload.last(kNumberBytes));
    if (!number) return std::nullopt;
    return LoginRequest{.user = User{unpadded(payload.first(kUserBytes))},
                        .password = Password{unpadded(payload.subspan(kUserBytes, kPasswordBytes))},
                        .session = Session{unpadded(payload.subspan(kUserBytes + kPasswordBytes, kSessionBytes))},
                        .sequence = *number};
}

/// Reads the payload of an accepted login; nullopt for another length, a session that is blank or not printable ASCII,
/// or a sequence number that is 0 or not a number.
[[nodiscard]] inline std::optional<LoginAccepted> read_login_accepted(std::span<const std::byte> payload) noexcept {
    if (payload.size() != kLoginAcceptedBytes - kHeaderBytes) return std::nullopt;
    const auto name = unpadded(payload.first(kSessionBytes));
    const auto number = number_in(payload.last(kNumberBytes));
    const bool is_named = !name.empty() && std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
    if (!is_named || !number || *number == 0) return std::nullopt;
    return LoginAccepted{.session = Session{name}, .sequence = *number};
}

}  // namespace millpond::net::soupbin
