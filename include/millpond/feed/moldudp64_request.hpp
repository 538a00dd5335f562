#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/moldudp64_layout.hpp>

namespace millpond::feed {

/// Requests messages first .. first + count - 1 of a session from a MoldUDP64 re-request server. The server answers to
/// the sender's address with ordinary datagrams, with as many of the messages as fit.
/// ```
///  0  10 characters of session
/// 10  u64 sequence number of the first message wanted
/// 18  u16 count of messages wanted
/// ```
/// Source: NASDAQ, MoldUDP64 Protocol Specification 1.00, "Request Packet".
struct MoldUdp64Request {
    using Bytes = std::array<std::byte, moldudp64_layout::kHeaderBytes>;

    moldudp64_layout::Session session{};
    std::uint64_t first{0};
    std::uint16_t count{0};

    [[nodiscard]] Bytes bytes() const noexcept {
        namespace at = moldudp64_layout;
        Bytes bytes;
        std::memcpy(bytes.data() + at::kSessionAt, session.data(), session.size());
        core::store_be(bytes.data() + at::kSequenceAt, first);
        core::store_be(bytes.data() + at::kCountAt, count);
        return bytes;
    }

    /// Returns nullopt if the bytes are not a request.
    [[nodiscard]] static std::optional<MoldUdp64Request> read(std::span<const std::byte> bytes) noexcept {
        namespace at = moldudp64_layout;
        if (bytes.size() != at::kHeaderBytes) return std::nullopt;
        MoldUdp64Request request;
        std::memcpy(request.session.data(), bytes.data() + at::kSessionAt, request.session.size());
        request.first = core::load_be<std::uint64_t>(bytes.data() + at::kSequenceAt);
        request.count = core::load_be<std::uint16_t>(bytes.data() + at::kCountAt);
        if (request.first == 0 || request.count == 0) return std::nullopt;
        return request;
    }

    friend bool operator==(const MoldUdp64Request&, const MoldUdp64Request&) = default;
};

}  // namespace millpond::feed
