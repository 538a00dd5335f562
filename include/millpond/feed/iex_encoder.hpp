#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/iex_packet.hpp>

namespace millpond::feed {

/// Writes IEX-TP segments (iex_layout.hpp) of one session into buffers of the caller of at least 40 bytes.
///
/// Call begin(buffer), add(...) until it refuses or nothing is left, finish(), then send the result. Without messages
/// the segment is a heartbeat.
///
/// Threads: one.
class IexEncoder {
public:
    struct Options {
        std::uint16_t protocol{iex_layout::kTops};
        IexSession session{.number = 1, .channel = 1};
        std::uint64_t first_sequence{1};
        std::uint64_t first_offset{0};  ///< Bytes of the session's payloads before.
    };

    explicit IexEncoder(const Options& options) noexcept
        : options_(options), sequence_(options.first_sequence), offset_(options.first_offset) {}

    void begin(std::span<std::byte> buffer) noexcept {
        buffer_ = buffer;
        used_ = iex_layout::kHeaderBytes;
        count_ = 0;
    }
    /// Returns false if the message no longer fits; the segment is then unchanged.
    [[nodiscard]] bool add(std::span<const std::byte> message) noexcept;
    /// send_utc_ns: the time of sending.
    [[nodiscard]] std::span<const std::byte> finish(std::int64_t send_utc_ns) noexcept;

    [[nodiscard]] std::uint64_t next_sequence() const noexcept { return sequence_ + count_; }

private:
    Options options_;
    std::uint64_t sequence_;
    std::uint64_t offset_;  // bytes of the session's earlier payloads
    std::span<std::byte> buffer_{};
    std::size_t used_{0};
    std::uint16_t count_{0};
};

inline bool IexEncoder::add(std::span<const std::byte> message) noexcept {
    namespace at = iex_layout;
    constexpr std::size_t kMax = std::numeric_limits<std::uint16_t>::max();
    const auto bytes = at::kLengthBytes + message.size();
    const auto free = std::min(buffer_.size() - used_, at::kHeaderBytes + kMax - used_);
    if (free < bytes || count_ == kMax) return false;
    core::store_le(buffer_.data() + used_, static_cast<std::uint16_t>(message.size()));
    std::ranges::copy(message, buffer_.data() + used_ + at::kLengthBytes);
    used_ += bytes;
    ++count_;
    return true;
}

inline std::span<const std::byte> IexEncoder::finish(std::int64_t send_utc_ns) noexcept {
    namespace at = iex_layout;
    const auto payload = used_ - at::kHeaderBytes;
    auto* const out = buffer_.data();
    out[at::kVersionAt] = std::byte{at::kVersion};
    out[at::kVersionAt + 1] = std::byte{};
    core::store_le(out + at::kProtocolAt, options_.protocol);
    core::store_le(out + at::kChannelAt, options_.session.channel);
    core::store_le(out + at::kSessionAt, options_.session.number);
    core::store_le(out + at::kPayloadAt, static_cast<std::uint16_t>(payload));
    core::store_le(out + at::kCountAt, count_);
    core::store_le(out + at::kOffsetAt, offset_);
    core::store_le(out + at::kSequenceAt, sequence_);
    core::store_le(out + at::kSendTimeAt, send_utc_ns);
    sequence_ += count_;
    offset_ += payload;
    count_ = 0;
    return buffer_.first(used_);
}

/// Writes messages of IEX's feeds (iex_layout.hpp) without framing, for generated feeds and tests. Each function
/// returns the bytes of the message, which are valid until the next call. Prices are in 1/10000.
///
/// Threads: one.
class IexMessageWriter {
public:
    using Bytes = std::span<const std::byte>;

    /// Sets the time of the following messages.
    void set_time(std::int64_t utc_ns) noexcept { utc_ns_ = utc_ns; }

    [[nodiscard]] Bytes system_event(char code) noexcept {
        head('S', code);
        return Bytes{bytes_}.first(iex_layout::kSystemEventBytes);
    }
    [[nodiscard]] Bytes directory(std::string_view symbol, std::uint8_t flags, std::uint32_t lot) noexcept {
        namespace at = iex_layout::directory;
        head('D', static_cast<char>(flags), symbol);
        put(at::kLotAt, lot);
        put(at::kCloseAt, std::int64_t{0});
        bytes_[at::kTierAt] = std::byte{1};
        return Bytes{bytes_}.first(at::kBytes);
    }
    [[nodiscard]] Bytes trading_status(std::string_view symbol, char status, std::string_view reason = {}) noexcept {
        namespace at = iex_layout::trading_status;
        head('H', status, symbol);
        text(at::kReasonAt, 4, reason);
        return Bytes{bytes_}.first(at::kBytes);
    }
    /// type: I, O, E or C, messages with a code and nothing else.
    [[nodiscard]] Bytes coded(char type, char code, std::string_view symbol) noexcept {
        head(type, code, symbol);
        return Bytes{bytes_}.first(iex_layout::kWithSymbolBytes);
    }
    [[nodiscard]] Bytes short_sale(std::string_view symbol, std::uint8_t status, char detail) noexcept {
        namespace at = iex_layout::short_sale;
        head('P', static_cast<char>(status), symbol);
        bytes_[at::kDetailAt] = static_cast<std::byte>(detail);
        return Bytes{bytes_}.first(at::kBytes);
    }
    [[nodiscard]] Bytes official_price(std::string_view symbol, char kind, std::int64_t price) noexcept {
        namespace at = iex_layout::official_price;
        head('X', kind, symbol);
        put(at::kPriceAt, price);
        return Bytes{bytes_}.first(at::kBytes);
    }
    /// type: T, or B for a broken trade.
    [[nodiscard]] Bytes trade(std::string_view symbol, std::uint32_t size, std::int64_t price, std::uint64_t id,
                              std::uint8_t conditions = 0, char type = 'T') noexcept {
        namespace at = iex_layout::trade;
        head(type, static_cast<char>(conditions), symbol);
        put(at::kSizeAt, size);
        put(at::kPriceAt, price);
        put(at::kTradeIdAt, id);
        return Bytes{bytes_}.first(at::kBytes);
    }
    [[nodiscard]] Bytes quote(std::string_view symbol, std::uint32_t bid_size, std::int64_t bid, std::int64_t ask,
                              std::uint32_t ask_size, std::uint8_t flags = 0) noexcept {
        namespace at = iex_layout::quote;
        head('Q', static_cast<char>(flags), symbol);
        put(at::kBidSizeAt, bid_size);
        put(at::kBidPriceAt, bid);
        put(at::kAskPriceAt, ask);
        put(at::kAskSizeAt, ask_size);
        return Bytes{bytes_}.first(at::kBytes);
    }

    /// side: 8 or 5.
    [[nodiscard]] Bytes level(char side, std::string_view symbol, std::uint32_t size, std::int64_t price,
                              bool is_complete) noexcept {
        namespace at = iex_layout::level;
        head(side, static_cast<char>(is_complete ? at::kComplete : 0), symbol);
        put(at::kSizeAt, size);
        put(at::kPriceAt, price);
        return Bytes{bytes_}.first(at::kBytes);
    }
    [[nodiscard]] Bytes order_added(std::string_view symbol, std::uint64_t order, char side, std::uint32_t size,
                                    std::int64_t price) noexcept {
        return sized('a', side, symbol, order, size, price);
    }
    [[nodiscard]] Bytes order_modified(std::string_view symbol, std::uint64_t order, std::uint32_t size,
                                       std::int64_t price, bool keeps_priority) noexcept {
        return sized('M', static_cast<char>(keeps_priority ? iex_layout::order::kKeepsPriority : 0), symbol, order,
                     size, price);
    }
    [[nodiscard]] Bytes order_removed(std::string_view symbol, std::uint64_t order) noexcept {
        head('R', '\0', symbol);
        put(iex_layout::order::kOrderAt, order);
        return Bytes{bytes_}.first(iex_layout::order::kRemovedBytes);
    }
    [[nodiscard]] Bytes order_executed(std::string_view symbol, std::uint64_t order, std::uint32_t size,
                                       std::int64_t price, std::uint64_t trade, std::uint8_t conditions = 0) noexcept {
        static_cast<void>(sized('L', static_cast<char>(conditions), symbol, order, size, price));
        put(iex_layout::order::kTradeIdAt, trade);
        return Bytes{bytes_}.first(iex_layout::order::kExecutedBytes);
    }

private:
    Bytes sized(char type, char code, std::string_view symbol, std::uint64_t order, std::uint32_t size,
                std::int64_t price) noexcept {
        namespace at = iex_layout::order;
        head(type, code, symbol);
        put(at::kOrderAt, order);
        put(at::kSizeAt, size);
        put(at::kPriceAt, price);
        return Bytes{bytes_}.first(at::kBytes);
    }
    void head(char type, char code) noexcept {
        bytes_[0] = static_cast<std::byte>(type);
        bytes_[iex_layout::kCodeAt] = static_cast<std::byte>(code);
        put(iex_layout::kTimeAt, utc_ns_);
    }
    void head(char type, char code, std::string_view symbol) noexcept {
        head(type, code);
        text(iex_layout::kSymbolAt, iex_layout::kSymbolBytes, symbol);
    }
    template <class Integer>
    void put(std::size_t at, Integer value) noexcept {
        core::store_le(bytes_.data() + at, value);
    }
    /// Only the first `size` characters are used, padded with spaces on the right.
    void text(std::size_t at, std::size_t size, std::string_view value) noexcept {
        for (std::size_t i = 0; i < size; ++i)
            bytes_[at + i] = static_cast<std::byte>(i < value.size() ? value[i] : ' ');
    }

    std::int64_t utc_ns_{0};
    std::array<std::byte, iex_layout::auction::kBytes> bytes_{};
};

}  // namespace millpond::feed
