#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include <immintrin.h>

/// The bare limit of reading FIX: one pass over the bytes that finds every delimiter and every '=' and sums up all
/// bytes, in the widest vectors that the program is compiled for. 64 bytes after the last one must be readable.
namespace millpond::bench {

inline constexpr const char* kOnePassName = "limit: one vector pass";  // the widest vectors of the build

struct OnePass {
    std::uint64_t delimiters{0};  ///< Number of delimiters.
    std::uint64_t equals{0};
    std::uint64_t sum{0};
};

#if defined(__AVX512BW__)

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
    alignas(64) std::array<std::uint64_t, 8> lanes;
    _mm512_store_si512(lanes.data(), sums);
    all.sum = std::accumulate(lanes.begin(), lanes.end(), std::uint64_t{0});
    return all;
}

#else

#if defined(__AVX2__)

struct Word {
    using Vector = __m256i;
    static constexpr std::size_t kSize = sizeof(Vector);
    static Vector load(const void* from) { return _mm256_loadu_si256(static_cast<const Vector*>(from)); }
    static Vector both(Vector a, Vector b) { return _mm256_and_si256(a, b); }
    static Vector sum(Vector a, Vector b) { return _mm256_add_epi64(a, b); }
    static Vector byte_sums(Vector bytes) { return _mm256_sad_epu8(bytes, _mm256_setzero_si256()); }
    static unsigned count(Vector bytes, char wanted) {
        const auto equal = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(wanted));
        return static_cast<unsigned>(std::popcount(static_cast<unsigned>(_mm256_movemask_epi8(equal))));
    }
};

#else

struct Word {
    using Vector = __m128i;
    static constexpr std::size_t kSize = sizeof(Vector);
    static Vector load(const void* from) { return _mm_loadu_si128(static_cast<const Vector*>(from)); }
    static Vector both(Vector a, Vector b) { return _mm_and_si128(a, b); }
    static Vector sum(Vector a, Vector b) { return _mm_add_epi64(a, b); }
    static Vector byte_sums(Vector bytes) { return _mm_sad_epu8(bytes, _mm_setzero_si128()); }
    static unsigned count(Vector bytes, char wanted) {
        const auto equal = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted));
        return static_cast<unsigned>(std::popcount(static_cast<unsigned>(_mm_movemask_epi8(equal))));
    }
};

#endif

inline OnePass one_pass(const char* bytes, std::size_t size) {
    constexpr auto kSize = Word::kSize;
    OnePass all;
    Word::Vector sums{};
    const auto add = [&](Word::Vector word) {
        all.delimiters += Word::count(word, '\x01');
        all.equals += Word::count(word, '=');
        sums = Word::sum(sums, Word::byte_sums(word));
    };
    std::size_t at = 0;
    for (; at + kSize <= size; at += kSize) add(Word::load(bytes + at));
    if (at < size) {
        // Ones, then zeros: a mask loaded at an offset keeps the remaining bytes.
        alignas(kSize) static constexpr auto kMask = [] {
            std::array<unsigned char, 2 * kSize> mask{};
            std::fill_n(mask.begin(), kSize, static_cast<unsigned char>(0xFF));
            return mask;
        }();
        add(Word::both(Word::load(bytes + at), Word::load(kMask.data() + kSize - (size - at))));
    }
    alignas(kSize) std::array<std::uint64_t, kSize / sizeof(std::uint64_t)> lanes;
    std::memcpy(lanes.data(), &sums, kSize);
    all.sum = std::accumulate(lanes.begin(), lanes.end(), std::uint64_t{0});
    return all;
}

#endif

}  // namespace millpond::bench
