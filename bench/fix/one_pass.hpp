#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <immintrin.h>

/// The bare limit of reading FIX: one pass over the bytes that finds every delimiter and every '=' and adds all bytes
/// up, in the widest vectors that this program is compiled for. 64 bytes behind the last one are readable.
namespace millpond::bench {

struct OnePass {
    std::uint64_t delimiters{0};  ///< How many.
    std::uint64_t equals{0};
    std::uint64_t sum{0};
};

#if defined(__AVX512BW__)

inline constexpr const char* kOnePassName = "limit: one AVX-512 pass";

inline OnePass one_pass(const char* bytes, std::size_t size) {
    OnePass all;
    __m512i sums = _mm512_setzero_si512();
    for (std::size_t at = 0; at < size; at += 64) {
        const auto there = size - at >= 64 ? ~__mmask64{0} : (__mmask64{1} << (size - at)) - 1;
        const auto word = _mm512_maskz_loadu_epi8(there, bytes + at);
        all.delimiters += static_cast<unsigned>(std::popcount(_mm512_cmpeq_epi8_mask(word, _mm512_set1_epi8('\x01'))));
        all.equals += static_cast<unsigned>(std::popcount(_mm512_cmpeq_epi8_mask(word, _mm512_set1_epi8('='))));
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(word, _mm512_setzero_si512()));
    }
    all.sum = static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sums));
    return all;
}

#elif defined(__AVX2__)

inline constexpr const char* kOnePassName = "limit: one AVX2 pass";

inline OnePass one_pass(const char* bytes, std::size_t size) {
    OnePass all;
    const auto soh = _mm256_set1_epi8('\x01');
    const auto equals = _mm256_set1_epi8('=');
    auto sums = _mm256_setzero_si256();
    const auto take = [&](__m256i word) {
        all.delimiters += static_cast<unsigned>(
            std::popcount(static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(word, soh)))));
        all.equals += static_cast<unsigned>(
            std::popcount(static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(word, equals)))));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(word, _mm256_setzero_si256()));
    };
    std::size_t at = 0;
    for (; at + 32 <= size; at += 32) take(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + at)));
    if (at < size) {
        // Zeros, then ones: a load at the right place keeps the bytes that are there.
        alignas(32) static constexpr auto kMask = [] {
            struct {
                unsigned char bytes[64]{};
            } mask;
            for (int i = 0; i < 32; ++i) mask.bytes[i] = 0xFF;
            return mask;
        }();
        const auto keep = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask.bytes + 32 - (size - at)));
        take(_mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + at)), keep));
    }
    const auto half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    all.sum = static_cast<std::uint64_t>(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
    return all;
}

#else
#error "The limit of the FIX benches is coded for AVX2 and AVX-512."
#endif

}  // namespace millpond::bench
