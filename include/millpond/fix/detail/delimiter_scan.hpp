#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// Scans a message's bytes once: marks every delimiter and every '=' and sums the bytes. There is code for each
/// instruction set, with identical results.
namespace millpond::fix::detail {

/// Maximum bytes of one scan; longer messages are scanned in pieces.
inline constexpr std::size_t kScanBytes = 4096;

/// Bit i of word w belongs to byte 64 * w + i. Words after that of the last byte are not written.
struct DelimiterMasks {
    std::array<std::uint64_t, kScanBytes / 64> delimiters;
    std::array<std::uint64_t, kScanBytes / 64> equals;
};

/// size: at most kScanBytes. Returns the sum of the bytes.
using ScanFunction = std::uint32_t (*)(const char* bytes, std::size_t size, DelimiterMasks& masks) noexcept;

/// Positions of the delimiters, ascending; entries after the last one are undefined.
using DelimiterPlaces = std::array<std::uint16_t, kScanBytes + 64>;

struct Listing {
    std::uint32_t sum{0};    ///< Sum of the bytes.
    std::uint32_t count{0};  ///< Number of delimiters.
};

/// size: at most kScanBytes.
using ListFunction = Listing (*)(const char* bytes, std::size_t size, DelimiterPlaces& places) noexcept;

/// Counts delimiters. size: any.
using CountFunction = Listing (*)(const char* bytes, std::size_t size) noexcept;

/// Returns the sum of the bytes modulo 2^32. size: any.
using SumFunction = std::uint32_t (*)(const char* bytes, std::size_t size) noexcept;

struct Comparison {
    std::uint32_t sum{0};  ///< Sum of the bytes.
    bool same{false};
};

/// Whether all bytes whose mask is 255 are equal to those of `text`, and no byte whose mask is 0 is a delimiter. size:
/// any.
using CompareFunction = Comparison (*)(const char* bytes, std::size_t size, const char* text,
                                       const char* mask) noexcept;

/// avx512 has F and BW; avx512_vbmi2 also VBMI2.
enum class InstructionSet : std::uint8_t { scalar, avx2, avx512, avx512_vbmi2 };

[[nodiscard]] bool supported(InstructionSet set) noexcept;
[[nodiscard]] InstructionSet best_supported() noexcept;

/// The caller must have checked `supported`.
[[nodiscard]] ScanFunction scan_function(InstructionSet set) noexcept;
[[nodiscard]] ListFunction list_function(InstructionSet set) noexcept;
[[nodiscard]] CountFunction count_function(InstructionSet set) noexcept;
[[nodiscard]] SumFunction sum_function(InstructionSet set) noexcept;
[[nodiscard]] CompareFunction compare_function(InstructionSet set) noexcept;

}  // namespace millpond::fix::detail
