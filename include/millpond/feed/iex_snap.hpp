#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/iex_packet.hpp>

/// Snapshots of IEX DEEP and DEEP+ by TCP: a request, and an error or a response of a start, data and an end.
/// ```
/// all messages begin with    0  u16 bytes after this field   2  type
///   r  59  request           3  token, 40 characters padded with spaces   43  u32 channel   47  u32 session
///                           51  i64 number that the snapshot must have reached; 0: any
///   e   4  error             3  code
///   s  11  start             3  i64 bytes of the response, from the start to the end
///   d      data              3  IEX-TP segment of one message (iex_layout.hpp)
///   x  11  end               3  i64 number of the last message that the snapshot has
/// ```
/// In the examples of data a second length precedes the message within its block. Both forms are read.
///
/// Source: Investors Exchange: DEEP SNAP 1.6, pages 6 to 11, DEEP+ SNAP 1.05, pages 8 to 13.
namespace millpond::feed {

namespace iex_snap {
inline constexpr std::size_t kTypeAt = 2;
inline constexpr std::size_t kBodyAt = 3;
inline constexpr std::size_t kTokenBytes = 40;
inline constexpr std::size_t kChannelAt = 43;
inline constexpr std::size_t kSessionAt = 47;
inline constexpr std::size_t kMinimumAt = 51;
inline constexpr std::size_t kRequestBytes = 59;
inline constexpr std::size_t kErrorBytes = 4;
inline constexpr std::size_t kStartBytes = 11;
inline constexpr std::size_t kEndBytes = 11;
inline constexpr std::uint64_t kMaxRequests = 1'000;  ///< Of a day; DEEP SNAP 1.6, page 5, DEEP+ SNAP 1.05, page 5.
}  // namespace iex_snap

struct IexSnapRequest {
    using Bytes = std::array<std::byte, iex_snap::kRequestBytes>;

    std::string_view token{};  ///< Up to 40 characters.
    IexSession session{};
    std::uint64_t minimum{0};

    [[nodiscard]] Bytes bytes() const noexcept {
        namespace at = iex_snap;
        Bytes bytes;
        core::store_le(bytes.data(), static_cast<std::uint16_t>(at::kRequestBytes - at::kTypeAt));
        bytes[at::kTypeAt] = std::byte{'r'};
        for (std::size_t i = 0; i < at::kTokenBytes; ++i)
            bytes[at::kBodyAt + i] = static_cast<std::byte>(i < token.size() ? token[i] : ' ');
        core::store_le(bytes.data() + at::kChannelAt, session.channel);
        core::store_le(bytes.data() + at::kSessionAt, session.number);
        core::store_le(bytes.data() + at::kMinimumAt, minimum);
        return bytes;
    }
    /// Returns nullopt if the bytes are not a request. `bytes` must outlive the result's token, which has its padding.
    [[nodiscard]] static std::optional<IexSnapRequest> read(std::span<const std::byte> bytes) noexcept {
        namespace at = iex_snap;
        if (bytes.size() != at::kRequestBytes || bytes[at::kTypeAt] != std::byte{'r'}) return std::nullopt;
        if (core::load_le<std::uint16_t>(bytes.data()) != at::kRequestBytes - at::kTypeAt) return std::nullopt;
        return IexSnapRequest{.token = {reinterpret_cast<const char*>(bytes.data() + at::kBodyAt), at::kTokenBytes},
                              .session = {.number = core::load_le<std::uint32_t>(bytes.data() + at::kSessionAt),
                                          .channel = core::load_le<std::uint32_t>(bytes.data() + at::kChannelAt)},
                              .minimum = core::load_le<std::uint64_t>(bytes.data() + at::kMinimumAt)};
    }
};

/// Why a snapshot was not received.
enum class IexSnapFailure : std::uint8_t {
    none,
    bad_token,          ///< Error A.
    bad_channel,        ///< Error C.
    already_active,     ///< Error E.
    quota_exceeded,     ///< Error Q.
    not_yet_available,  ///< Error R: ask again later.
    bad_session,        ///< Error S.
    unknown_message,    ///< Error U.
    other_error,        ///< An error with another code.
    bad_message,        ///< A message whose length does not fit its type, or of an unknown type.
    no_start,           ///< The response does not begin with a start.
    bad_length,         ///< The response is not as long as its start says.
    bad_data,           ///< Data that is not a segment of one message.
    other_stream,       ///< Data of another message protocol, channel or session.
    after_end,          ///< An end of the session that is not its last message.
    bad_number,         ///< Data with a higher number than the end, or an end below the requested number.
};

[[nodiscard]] constexpr std::string_view to_string(IexSnapFailure failure) noexcept {
    switch (failure) {
        case IexSnapFailure::none: return "no failure";
        case IexSnapFailure::bad_token: return "it rejected the token (A)";
        case IexSnapFailure::bad_channel: return "it does not serve the feed's channel (C)";
        case IexSnapFailure::already_active: return "another request of this client is active (E)";
        case IexSnapFailure::quota_exceeded: return "the day's requests are used up (Q)";
        case IexSnapFailure::not_yet_available: return "it has no snapshot yet that is new enough (R)";
        case IexSnapFailure::bad_session: return "it is in another session than the feed (S)";
        case IexSnapFailure::unknown_message: return "it does not know the request (U)";
        case IexSnapFailure::other_error: return "it rejected the request with an unknown code";
        case IexSnapFailure::bad_message: return "it sent a message that snapshots do not have";
        case IexSnapFailure::no_start: return "its snapshot has no start";
        case IexSnapFailure::bad_length: return "its snapshot is not as long as it says";
        case IexSnapFailure::bad_data: return "its snapshot has data that is not one message";
        case IexSnapFailure::other_stream: return "its snapshot has data of another feed or session";
        case IexSnapFailure::after_end: return "its snapshot has the end of a session that went on after it";
        case IexSnapFailure::bad_number: return "its snapshot has numbers that contradict its end";
    }
    return "unknown";
}

/// Reads the response to a request, of the bytes of a connection. It uses no socket.
///
/// Threads: one.
class IexSnapshot {
public:
    /// protocol: message protocol of the feed. request: the one that is answered.
    IexSnapshot(std::uint16_t protocol, const IexSnapRequest& request) noexcept
        : protocol_(protocol), session_(request.session), minimum_(request.minimum) {}

    /// Reads the whole messages at the beginning of `bytes`. visit(message, number): called for each message of the
    /// feed. Returns the number of bytes read; those after the end and after a failure are not.
    template <class Visitor>
    std::size_t receive(std::span<const std::byte> bytes, Visitor&& visit);

    /// The response has been read to its end.
    [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }
    [[nodiscard]] IexSnapFailure failure() const noexcept { return failure_; }
    /// Number of the last message that the snapshot has; valid once it is complete.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

private:
    void fail(IexSnapFailure failure) noexcept { failure_ = failure; }
    void read_error(char code) noexcept;
    void read_start(std::span<const std::byte> message) noexcept;
    template <class Visitor>
    void read_data(std::span<const std::byte> segment, Visitor&& visit);
    void read_end(std::span<const std::byte> message) noexcept;

    std::uint16_t protocol_;
    IexSession session_;
    std::uint64_t minimum_;
    std::uint64_t left_{0};  // bytes of the response after the messages that were read; 0: no start yet
    std::uint64_t number_{0};
    std::uint64_t newest_{0};  // highest number of data
    std::uint64_t ended_{0};   // number of the end of the session; 0: none
    bool is_complete_{false};
    IexSnapFailure failure_{IexSnapFailure::none};
};

template <class Visitor>
std::size_t IexSnapshot::receive(std::span<const std::byte> bytes, Visitor&& visit) {
    namespace at = iex_snap;
    std::size_t read = 0;
    while (!is_complete_ && failure_ == IexSnapFailure::none) {
        const auto rest = bytes.subspan(read);
        if (rest.size() < at::kTypeAt) break;
        const auto size = at::kTypeAt + core::load_le<std::uint16_t>(rest.data());
        if (size < at::kBodyAt) {
            fail(IexSnapFailure::bad_message);
            break;
        }
        if (size > rest.size()) break;
        const auto message = rest.first(size);
        const char type = static_cast<char>(message[at::kTypeAt]);
        if (type == 'e' && left_ == 0 && size == at::kErrorBytes) {
            read_error(static_cast<char>(message[at::kBodyAt]));
            break;
        }
        if (left_ == 0) {
            read_start(message);
        } else if (size > left_ || (size == left_) != (type == 'x')) {
            fail(IexSnapFailure::bad_length);
        } else if (type == 'd') {
            read_data(message.subspan(at::kBodyAt), visit);
        } else {
            read_end(message);
        }
        if (failure_ != IexSnapFailure::none) break;
        left_ -= size;
        read += size;
    }
    return read;
}

inline void IexSnapshot::read_error(char code) noexcept {
    using enum IexSnapFailure;
    switch (code) {
        case 'A': return fail(bad_token);
        case 'C': return fail(bad_channel);
        case 'E': return fail(already_active);
        case 'Q': return fail(quota_exceeded);
        case 'R': return fail(not_yet_available);
        case 'S': return fail(bad_session);
        case 'U': return fail(unknown_message);
        default: return fail(other_error);
    }
}

inline void IexSnapshot::read_start(std::span<const std::byte> message) noexcept {
    namespace at = iex_snap;
    if (message[at::kTypeAt] != std::byte{'s'}) return fail(IexSnapFailure::no_start);
    if (message.size() != at::kStartBytes) return fail(IexSnapFailure::bad_message);
    left_ = core::load_le<std::uint64_t>(message.data() + at::kBodyAt);
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (left_ < at::kStartBytes + at::kEndBytes || left_ > kMax) fail(IexSnapFailure::bad_length);
}

template <class Visitor>
void IexSnapshot::read_data(std::span<const std::byte> segment, Visitor&& visit) {
    IexPacket packet;
    const auto error = IexPacket::read_header(segment, protocol_, packet);
    if (error && error->kind == DecodeErrorKind::bad_magic) return fail(IexSnapFailure::other_stream);
    if (error || packet.messages != 1) return fail(IexSnapFailure::bad_data);
    if (!(packet.session == session_)) return fail(IexSnapFailure::other_stream);
    const auto whole = IexPacket::read(segment, protocol_, [](auto) {});
    if (whole.error) return fail(IexSnapFailure::bad_data);
    auto place = iex_layout::kHeaderBytes;
    auto message = next_iex_block(segment, place);
    constexpr auto kLength = iex_layout::kLengthBytes;
    // No message is as long as its type and code, as a number, would say.
    if (message.size() >= kLength && core::load_le<std::uint16_t>(message.data()) == message.size() - kLength)
        message = message.subspan(kLength);
    newest_ = newest_ < packet.sequence ? packet.sequence : newest_;
    const bool is_end = message.size() >= iex_layout::kSystemEventBytes && message[0] == std::byte{'S'} &&
                        message[iex_layout::kCodeAt] == std::byte{'C'};
    if (is_end) ended_ = packet.sequence;
    visit(message, packet.sequence);
}

inline void IexSnapshot::read_end(std::span<const std::byte> message) noexcept {
    namespace at = iex_snap;
    if (message[at::kTypeAt] != std::byte{'x'} || message.size() != at::kEndBytes)
        return fail(IexSnapFailure::bad_message);
    number_ = core::load_le<std::uint64_t>(message.data() + at::kBodyAt);
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (number_ < newest_ || number_ < minimum_ || number_ >= kMax) return fail(IexSnapFailure::bad_number);
    if (ended_ != 0 && ended_ != number_) return fail(IexSnapFailure::after_end);
    is_complete_ = true;
}

}  // namespace millpond::feed
