#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/miax_tom_layout.hpp>

namespace millpond::feed {

/// Writes datagrams of MIAX Top of Market (miax_tom_layout.hpp), for generated feeds and tests.
///
/// Call begin(buffer), then add messages until one is refused, then finish(). Without messages the datagram is empty.
///
/// Threads: one.
class MiaxTomEncoder {
public:
    struct Options {
        std::uint8_t session{1};
        std::uint64_t first_sequence{1};
    };

    explicit MiaxTomEncoder(const Options& options) noexcept : options_(options), sequence_(options.first_sequence) {}

    void begin(std::span<std::byte> buffer) noexcept {
        buffer_ = buffer;
        used_ = 0;
    }
    [[nodiscard]] std::span<const std::byte> finish() noexcept { return buffer_.first(used_); }

    /// Each function returns false if the message does not fit; the datagram is then unchanged.
    [[nodiscard]] bool system_time(std::uint32_t utc_seconds) noexcept;
    [[nodiscard]] bool bid(std::uint32_t product, std::uint32_t nanos, Price price, std::uint32_t size) noexcept {
        return side('B', 'W', product, nanos, price, size);
    }
    [[nodiscard]] bool offer(std::uint32_t product, std::uint32_t nanos, Price price, std::uint32_t size) noexcept {
        return side('O', 'A', product, nanos, price, size);
    }
    /// Writes both sides in one message.
    [[nodiscard]] bool quote(std::uint32_t product, std::uint32_t nanos, const Quote& quote) noexcept;
    [[nodiscard]] bool trade(std::uint32_t product, std::uint32_t nanos, const Trade& trade) noexcept;
    [[nodiscard]] bool heartbeat() noexcept;

    [[nodiscard]] std::uint64_t next_sequence() const noexcept { return sequence_; }

private:
    /// Reserves a message of the given type and length and writes its packet header; null if it does not fit.
    [[nodiscard]] std::byte* packet(char type, std::size_t bytes) noexcept;
    [[nodiscard]] bool side(char narrow, char wide, std::uint32_t product, std::uint32_t nanos, Price price,
                            std::uint32_t size) noexcept;
    void header(std::byte* out, std::uint64_t sequence, std::size_t bytes, miax_tom_layout::PacketType type) noexcept;
    static void put_side(std::byte* out, bool wide, Price price, std::uint64_t size) noexcept;
    [[nodiscard]] static bool is_narrow(Price price, std::uint64_t size) noexcept {
        constexpr auto kNarrowStep = kPriceScale / miax_tom_layout::kNarrowScale;
        return price % kNarrowStep == 0 && price <= 0xFFFF * kNarrowStep && size <= 0xFFFF;
    }

    Options options_;
    std::uint64_t sequence_;
    std::span<std::byte> buffer_{};
    std::size_t used_{0};
};

inline void MiaxTomEncoder::header(std::byte* out, std::uint64_t sequence, std::size_t bytes,
                                   miax_tom_layout::PacketType type) noexcept {
    namespace at = miax_tom_layout;
    core::store_le(out + at::kSequenceAt, sequence);
    core::store_le(out + at::kLengthAt, static_cast<std::uint16_t>(bytes));
    out[at::kPacketTypeAt] = static_cast<std::byte>(type);
    out[at::kSessionAt] = static_cast<std::byte>(options_.session);
    used_ += bytes;
}

inline std::byte* MiaxTomEncoder::packet(char type, std::size_t bytes) noexcept {
    namespace at = miax_tom_layout;
    if (buffer_.size() - used_ < at::kHeaderBytes + bytes) return nullptr;
    auto* const out = buffer_.data() + used_;
    header(out, sequence_++, at::kHeaderBytes + bytes, at::kApplicationData);
    out[at::kHeaderBytes] = static_cast<std::byte>(type);
    return out + at::kHeaderBytes;
}

inline bool MiaxTomEncoder::heartbeat() noexcept {
    namespace at = miax_tom_layout;
    if (buffer_.size() - used_ < at::kHeaderBytes) return false;
    header(buffer_.data() + used_, sequence_ - 1, at::kHeaderBytes, at::kHeartbeat);
    return true;
}

inline bool MiaxTomEncoder::system_time(std::uint32_t utc_seconds) noexcept {
    auto* const out = packet('1', miax_tom_layout::kSystemTimeBytes);
    if (out == nullptr) return false;
    core::store_le(out + miax_tom_layout::kSecondsAt, utc_seconds);
    return true;
}

inline void MiaxTomEncoder::put_side(std::byte* out, bool wide, Price price, std::uint64_t size) noexcept {
    namespace at = miax_tom_layout;
    const auto& layout = wide ? at::kWide : at::kNarrow;
    const auto wide_price = in_venue_scale<at::kVenueScale>(price);
    assert(wide_price >= 0 && wide_price <= 0xFFFF'FFFF && size <= 0xFFFF'FFFF);
    if (wide) {
        core::store_le(out, static_cast<std::uint32_t>(wide_price));
        core::store_le(out + layout.size_at, static_cast<std::uint32_t>(size));
        core::store_le(out + layout.customer_size_at, std::uint32_t{0});
    } else {
        core::store_le(out, static_cast<std::uint16_t>(in_venue_scale<at::kNarrowScale>(price)));
        core::store_le(out + layout.size_at, static_cast<std::uint16_t>(size));
        core::store_le(out + layout.customer_size_at, std::uint16_t{0});
    }
    out[layout.condition_at] = std::byte{'A'};
}

inline bool MiaxTomEncoder::side(char narrow, char wide, std::uint32_t product, std::uint32_t nanos, Price price,
                                 std::uint32_t size) noexcept {
    namespace at = miax_tom_layout;
    const bool is_wide = !is_narrow(price, size);
    auto* const out = packet(is_wide ? wide : narrow, at::kSideAt + (is_wide ? at::kWide : at::kNarrow).bytes);
    if (out == nullptr) return false;
    core::store_le(out + at::kNanosAt, nanos);
    core::store_le(out + at::kProductAt, product);
    put_side(out + at::kSideAt, is_wide, price, size);
    return true;
}

inline bool MiaxTomEncoder::quote(std::uint32_t product, std::uint32_t nanos, const Quote& quote) noexcept {
    namespace at = miax_tom_layout;
    const bool is_wide = !is_narrow(quote.bid_price, quote.bid_size) || !is_narrow(quote.ask_price, quote.ask_size);
    const auto side_bytes = (is_wide ? at::kWide : at::kNarrow).bytes;
    auto* const out = packet(is_wide ? 'D' : 'd', at::kSideAt + 2 * side_bytes);
    if (out == nullptr) return false;
    core::store_le(out + at::kNanosAt, nanos);
    core::store_le(out + at::kProductAt, product);
    put_side(out + at::kSideAt, is_wide, quote.bid_price, quote.bid_size);
    put_side(out + at::kSideAt + side_bytes, is_wide, quote.ask_price, quote.ask_size);
    return true;
}

inline bool MiaxTomEncoder::trade(std::uint32_t product, std::uint32_t nanos, const Trade& trade) noexcept {
    namespace at = miax_tom_layout;
    auto* const out = packet('T', at::kTradeBytes);
    if (out == nullptr) return false;
    core::store_le(out + at::kNanosAt, nanos);
    core::store_le(out + at::kProductAt, product);
    core::store_le(out + at::kTradeIdAt, static_cast<std::uint32_t>(trade.trade_id));
    for (auto i = at::kCorrectionAt; i < at::kTradePriceAt; ++i) out[i] = std::byte{0};
    core::store_le(out + at::kTradePriceAt, static_cast<std::uint32_t>(in_venue_scale<at::kVenueScale>(trade.price)));
    core::store_le(out + at::kTradeSizeAt, static_cast<std::uint32_t>(trade.size));
    out[at::kTradeConditionAt] = std::byte{' '};
    return true;
}

}  // namespace millpond::feed
