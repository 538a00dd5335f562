#include <millpond/journal/crc32c.hpp>

#include <array>
#include <cstddef>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace millpond::journal {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
    constexpr std::uint32_t kReflectedPolynomial = 0x82F63B78U;
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? kReflectedPolynomial : 0U);
        table[byte] = rest;
    }
    return table;
}

constexpr auto kTable = make_table();

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::span<const std::uint64_t> words) noexcept {
    std::uint64_t crc = 0xFFFFFFFFU;
    for (const auto word : words) crc = _mm_crc32_u64(crc, word);
    return ~static_cast<std::uint32_t>(crc);
}

const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
#elif defined(__ARM_FEATURE_CRC32)
std::uint32_t by_instruction(std::span<const std::uint64_t> words) noexcept {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const auto word : words) crc = __crc32cd(crc, word);
    return ~crc;
}

constexpr bool kHasInstruction = true;
#else
constexpr auto by_instruction = detail::crc32c_portable;
constexpr bool kHasInstruction = false;
#endif

}  // namespace

namespace detail {

std::uint32_t crc32c_portable(std::span<const std::uint64_t> words) noexcept {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (auto word : words) {
        for (int byte = 0; byte < 8; ++byte, word >>= 8U) crc = (crc >> 8U) ^ kTable[(crc ^ word) & 0xFFU];
    }
    return ~crc;
}

}  // namespace detail

std::uint32_t crc32c(std::span<const std::uint64_t> words) noexcept {
    return kHasInstruction ? by_instruction(words) : detail::crc32c_portable(words);
}

}  // namespace millpond::journal
