#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace millpond::core {

/// Reverses the bytes of an integer.
template <std::integral Int>
[[nodiscard]] constexpr Int swap_bytes(Int value) noexcept {
    if constexpr (sizeof(Int) == 1) {
        return value;
    } else if constexpr (sizeof(Int) == 2) {
        return static_cast<Int>(__builtin_bswap16(static_cast<unsigned short>(value)));
    } else if constexpr (sizeof(Int) == 4) {
        return static_cast<Int>(__builtin_bswap32(static_cast<unsigned int>(value)));
    } else {
        static_assert(sizeof(Int) == 8);
        return static_cast<Int>(__builtin_bswap64(static_cast<unsigned long long>(value)));
    }
}

/// Reads an integer of the given byte order from unaligned bytes; the caller has checked that sizeof(Int) are there.
template <std::integral Int, std::endian order>
[[nodiscard]] inline Int load(const std::byte* bytes) noexcept {
    Int value;
    std::memcpy(&value, bytes, sizeof value);
    return order == std::endian::native ? value : swap_bytes(value);
}

/// Writes an integer in the given byte order to unaligned bytes.
template <std::endian order, std::integral Int>
inline void store(std::byte* bytes, Int value) noexcept {
    if constexpr (order != std::endian::native) value = swap_bytes(value);
    std::memcpy(bytes, &value, sizeof value);
}

template <std::integral Int>
[[nodiscard]] inline Int load_be(const std::byte* bytes) noexcept {
    return load<Int, std::endian::big>(bytes);
}

template <std::integral Int>
[[nodiscard]] inline Int load_le(const std::byte* bytes) noexcept {
    return load<Int, std::endian::little>(bytes);
}

template <std::integral Int>
inline void store_be(std::byte* bytes, Int value) noexcept {
    store<std::endian::big>(bytes, value);
}

template <std::integral Int>
inline void store_le(std::byte* bytes, Int value) noexcept {
    store<std::endian::little>(bytes, value);
}

}  // namespace millpond::core
