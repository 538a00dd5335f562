#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <millpond/core/endian.hpp>
#include <millpond/feed/bbo28_decoder.hpp>

namespace millpond::bench {

inline constexpr std::size_t kDatagramBytes = 256;

/// A bbo28 message at the end of a datagram of 256 bytes, identified by its bid price.
inline std::array<std::byte, kDatagramBytes> datagram_of(std::uint32_t bid_price) {
    std::array<std::byte, kDatagramBytes> bytes{};
    auto* const message = bytes.data() + kDatagramBytes - feed::kBbo28Bytes;
    const std::array<std::uint32_t, 5> fields{100, 300, bid_price + 100, 200, bid_price};
    for (std::size_t i = 0; i < fields.size(); ++i) core::store_be(message + 4 * i, fields[i]);
    std::memcpy(message + 20, "MILLPOND", 8);
    return bytes;
}

}  // namespace millpond::bench
