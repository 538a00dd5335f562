#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace millpond::core {

/// CRC-32C of the words' bytes, low byte first, followed by the other bytes. Uses the processor's instruction if it has
/// one (SSE4.2, ARMv8 CRC32).
/// Source: RFC 3720, appendix B.4 (Castagnoli's polynomial, 0x1EDC6F41).
[[nodiscard]] std::uint32_t crc32c(std::span<const std::uint64_t> words,
                                   std::span<const std::byte> behind = {}) noexcept;

namespace detail {

constexpr std::array<std::uint32_t, 256> make_crc32c_table() {
    constexpr std::uint32_t kReflectedPolynomial = 0x82F63B78U;
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? kReflectedPolynomial : 0U);
        table[byte] = rest;
    }
    return table;
}
inline constexpr auto kCrc32cTable = make_crc32c_table();

/// Table-driven CRC-32C for processors without the instruction.
[[nodiscard]] inline std::uint32_t crc32c_portable(std::span<const std::uint64_t> words,
                                                   std::span<const std::byte> behind = {}) noexcept {
    std::uint32_t crc = 0xFFFFFFFFU;
    const auto add = [&](std::uint64_t byte) { crc = (crc >> 8U) ^ kCrc32cTable[(crc ^ byte) & 0xFFU]; };
    for (auto word : words) {
        for (int byte = 0; byte < 8; ++byte, word >>= 8U) add(word);
    }
    for (const auto byte : behind) add(std::to_integer<std::uint64_t>(byte));
    return ~crc;
}

#if defined(__x86_64__) || defined(__aarch64__)

#if defined(__x86_64__)
#define MILLPOND_CRC32C_TARGET [[gnu::target("sse4.2,crc32")]]
MILLPOND_CRC32C_TARGET inline std::uint64_t add_crc32c(std::uint64_t crc, std::uint64_t word) noexcept {
    return __builtin_ia32_crc32di(crc, word);
}
MILLPOND_CRC32C_TARGET inline std::uint64_t add_crc32c(std::uint64_t crc, std::uint32_t word) noexcept {
    return __builtin_ia32_crc32si(static_cast<std::uint32_t>(crc), word);
}
MILLPOND_CRC32C_TARGET inline std::uint64_t add_crc32c(std::uint64_t crc, std::uint8_t byte) noexcept {
    return __builtin_ia32_crc32qi(static_cast<std::uint32_t>(crc), byte);
}
inline bool has_crc32c() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }
#else
#define MILLPOND_CRC32C_TARGET [[gnu::target("+crc")]]
MILLPOND_CRC32C_TARGET inline std::uint64_t add_crc32c(std::uint64_t crc, std::uint64_t word) noexcept {
    return __crc32cd(static_cast<std::uint32_t>(crc), word);
}
MILLPOND_CRC32C_TARGET inline std::uint64_t add_crc32c(std::uint64_t crc, std::uint32_t word) noexcept {
    return __crc32cw(static_cast<std::uint32_t>(crc), word);
}
MILLPOND_CRC32C_TARGET inline std::uint64_t add_crc32c(std::uint64_t crc, std::uint8_t byte) noexcept {
    return __crc32cb(static_cast<std::uint32_t>(crc), byte);
}
inline const bool kHasCrc32c = (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
inline bool has_crc32c() noexcept { return kHasCrc32c; }
#endif

template <class Word>
MILLPOND_CRC32C_TARGET inline std::uint64_t add_crc32c_at(std::uint64_t crc, const std::byte* at) noexcept {
    Word word = 0;
    std::memcpy(&word, at, sizeof word);
    return add_crc32c(crc, word);
}

MILLPOND_CRC32C_TARGET inline std::uint32_t crc32c_by_instruction(std::span<const std::uint64_t> words,
                                                                  std::span<const std::byte> behind) noexcept {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    constexpr std::size_t kWordsAtOnce = 4;
    std::uint64_t crc = 0xFFFFFFFFU;
    for (const auto word : words) crc = add_crc32c(crc, word);
    const auto* at = behind.data();
    auto left = behind.size();
    for (; left >= kWordsAtOnce * kWord; left -= kWordsAtOnce * kWord, at += kWordsAtOnce * kWord) {
        crc = add_crc32c_at<std::uint64_t>(crc, at);
        crc = add_crc32c_at<std::uint64_t>(crc, at + kWord);
        crc = add_crc32c_at<std::uint64_t>(crc, at + 2 * kWord);
        crc = add_crc32c_at<std::uint64_t>(crc, at + 3 * kWord);
    }
    for (; left >= kWord; left -= kWord, at += kWord) crc = add_crc32c_at<std::uint64_t>(crc, at);
    if (left >= sizeof(std::uint32_t)) {
        crc = add_crc32c_at<std::uint32_t>(crc, at);
        left -= sizeof(std::uint32_t);
        at += sizeof(std::uint32_t);
    }
    for (; left != 0; --left, ++at) crc = add_crc32c_at<std::uint8_t>(crc, at);
    return ~static_cast<std::uint32_t>(crc);
}
#undef MILLPOND_CRC32C_TARGET

#else

inline bool has_crc32c() noexcept { return false; }
inline constexpr auto* crc32c_by_instruction = crc32c_portable;

#endif

}  // namespace detail

inline std::uint32_t crc32c(std::span<const std::uint64_t> words, std::span<const std::byte> behind) noexcept {
    return detail::has_crc32c() ? detail::crc32c_by_instruction(words, behind) : detail::crc32c_portable(words, behind);
}

}  // namespace millpond::core
