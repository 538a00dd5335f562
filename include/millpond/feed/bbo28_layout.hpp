#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <millpond/core/endian.hpp>

namespace millpond::feed {

/// The bbo28 datagram: its last 28 bytes are one best bid and offer, big-endian, prices in 1/10000.
/// ```
///  0  u32 spread   4  u32 ask size   8  u32 ask price   12  u32 bid size   16  u32 bid price
/// 20  8 characters of symbol, padded with spaces on the right
/// ```
/// Bytes before them are ignored. The format has no sequence number and no exchange time.
inline constexpr std::size_t kBbo28Bytes = 28;
inline constexpr std::int64_t kBbo28Scale = 10'000;  ///< Scale of prices.

/// Reads the fields of a message in place. Any kBbo28Bytes bytes are a valid message.
class Bbo28View {
public:
    explicit Bbo28View(const std::byte* bytes) noexcept : bytes_(bytes) {}

    [[nodiscard]] std::uint32_t spread() const noexcept { return core::load_be<std::uint32_t>(bytes_); }
    [[nodiscard]] std::uint32_t ask_size() const noexcept { return core::load_be<std::uint32_t>(bytes_ + 4); }
    [[nodiscard]] std::uint32_t ask_price() const noexcept { return core::load_be<std::uint32_t>(bytes_ + 8); }
    [[nodiscard]] std::uint32_t bid_size() const noexcept { return core::load_be<std::uint32_t>(bytes_ + 12); }
    [[nodiscard]] std::uint32_t bid_price() const noexcept { return core::load_be<std::uint32_t>(bytes_ + 16); }
    /// The eight characters as an integer.
    [[nodiscard]] std::uint64_t symbol() const noexcept { return core::load_be<std::uint64_t>(bytes_ + 20); }
    [[nodiscard]] std::span<const std::byte> symbol_bytes() const noexcept { return {bytes_ + 20, 8}; }

private:
    const std::byte* bytes_;
};

struct Bbo28Message {
    std::uint32_t spread;
    std::uint32_t ask_size;
    std::uint32_t ask_price;
    std::uint32_t bid_size;
    std::uint32_t bid_price;
    std::string_view symbol;  ///< Only its first eight characters are sent.
};

/// Writes kBbo28Bytes.
inline void write_bbo28(std::byte* bytes, const Bbo28Message& message) noexcept {
    core::store_be(bytes, message.spread);
    core::store_be(bytes + 4, message.ask_size);
    core::store_be(bytes + 8, message.ask_price);
    core::store_be(bytes + 12, message.bid_size);
    core::store_be(bytes + 16, message.bid_price);
    for (std::size_t i = 0; i < 8; ++i) bytes[20 + i] = std::byte(i < message.symbol.size() ? message.symbol[i] : ' ');
}

}  // namespace millpond::feed
