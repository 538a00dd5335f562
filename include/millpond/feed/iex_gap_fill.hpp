#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/iex_packet.hpp>

/// Requests for messages of an IEX-TP session. A gap fill server answers with segments (iex_layout.hpp), by UDP to the
/// sender's address, by TCP on the connection, which it then closes.
/// ```
///  0  u8 version, 1   1  u8 type: 1 messages, 2 bytes   2  u16 message protocol   4  u32 channel   8  u32 session
/// 12  u32 count of ranges   16  ranges, each i64 number of the first message wanted, i64 number of the last one
/// ```
/// Ranges increase and do not overlap. Without ranges, by UDP, the request is a test, which the server answers with a
/// segment without messages.
///
/// Source: Investors Exchange: IEX Transport Protocol 1.26, pages 3 and 4 (UDP, test, TCP), 7 to 9 (layout), 11
///         (examples); TOPS 1.66, page 5, DEEP 1.08, page 5, DEEP+ 1.04, pages 7 and 9: requests of type 1 only, and by
///         UDP at most 1,000 messages for each.
namespace millpond::feed {

namespace iex_gap_fill {
inline constexpr std::size_t kTypeAt = 1;
inline constexpr std::size_t kProtocolAt = 2;
inline constexpr std::size_t kChannelAt = 4;
inline constexpr std::size_t kSessionAt = 8;
inline constexpr std::size_t kCountAt = 12;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kRangeBytes = 16;
inline constexpr std::uint8_t kMessages = 1;  ///< Type of a request for messages.
inline constexpr std::uint64_t kMaxUdpMessages = 1'000;
}  // namespace iex_gap_fill

/// Messages first .. last of a session.
struct IexRange {
    std::uint64_t first{0};
    std::uint64_t last{0};
    friend bool operator==(const IexRange&, const IexRange&) = default;
};

/// The bytes of a request for `Ranges` ranges; none: the test.
template <std::size_t Ranges>
[[nodiscard]] inline auto iex_gap_fill_request(std::uint16_t protocol, const IexSession& session,
                                               const std::array<IexRange, Ranges>& ranges) noexcept {
    namespace at = iex_gap_fill;
    std::array<std::byte, at::kHeaderBytes + Ranges * at::kRangeBytes> bytes{};
    bytes[iex_layout::kVersionAt] = std::byte{iex_layout::kVersion};
    bytes[at::kTypeAt] = std::byte{at::kMessages};
    core::store_le(bytes.data() + at::kProtocolAt, protocol);
    core::store_le(bytes.data() + at::kChannelAt, session.channel);
    core::store_le(bytes.data() + at::kSessionAt, session.number);
    core::store_le(bytes.data() + at::kCountAt, static_cast<std::uint32_t>(Ranges));
    auto* place = bytes.data() + at::kHeaderBytes;
    for (const auto& [first, last] : ranges) {
        core::store_le(place, first);
        core::store_le(place + sizeof first, last);
        place += at::kRangeBytes;
    }
    return bytes;
}

/// A request as a server reads it.
class IexGapFillRequest {
public:
    /// Length of the request that begins with these bytes; nullopt if they are not even a header, or if it would be
    /// longer than std::size_t can say.
    [[nodiscard]] static std::optional<std::size_t> length(std::span<const std::byte> bytes) noexcept {
        namespace at = iex_gap_fill;
        if (bytes.size() < at::kHeaderBytes) return std::nullopt;
        const std::size_t count = core::load_le<std::uint32_t>(bytes.data() + at::kCountAt);
        if (count > (std::numeric_limits<std::size_t>::max() - at::kHeaderBytes) / at::kRangeBytes) return std::nullopt;
        return at::kHeaderBytes + count * at::kRangeBytes;
    }
    /// Returns nullopt if the bytes are not exactly a request for messages with ranges that increase. `bytes` must
    /// outlive the result.
    [[nodiscard]] static std::optional<IexGapFillRequest> read(std::span<const std::byte> bytes) noexcept {
        namespace at = iex_gap_fill;
        if (length(bytes) != bytes.size()) return std::nullopt;
        if (bytes[iex_layout::kVersionAt] != std::byte{iex_layout::kVersion}) return std::nullopt;
        if (bytes[at::kTypeAt] != std::byte{at::kMessages}) return std::nullopt;
        const IexGapFillRequest request{bytes};
        std::uint64_t before = 0;
        for (std::size_t i = 0; i < request.size(); ++i) {
            const auto [first, last] = request.range(i);
            constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
            if (first <= before || last < first || last > kMax) return std::nullopt;
            before = last;
        }
        return request;
    }

    [[nodiscard]] std::uint16_t protocol() const noexcept {
        return core::load_le<std::uint16_t>(bytes_.data() + iex_gap_fill::kProtocolAt);
    }
    [[nodiscard]] IexSession session() const noexcept {
        return {.number = core::load_le<std::uint32_t>(bytes_.data() + iex_gap_fill::kSessionAt),
                .channel = core::load_le<std::uint32_t>(bytes_.data() + iex_gap_fill::kChannelAt)};
    }
    /// Number of ranges.
    [[nodiscard]] std::size_t size() const noexcept {
        return (bytes_.size() - iex_gap_fill::kHeaderBytes) / iex_gap_fill::kRangeBytes;
    }
    [[nodiscard]] IexRange range(std::size_t index) const noexcept {
        const auto* const place = bytes_.data() + iex_gap_fill::kHeaderBytes + index * iex_gap_fill::kRangeBytes;
        return {.first = core::load_le<std::uint64_t>(place), .last = core::load_le<std::uint64_t>(place + 8)};
    }

private:
    explicit IexGapFillRequest(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

    std::span<const std::byte> bytes_;
};

}  // namespace millpond::feed
