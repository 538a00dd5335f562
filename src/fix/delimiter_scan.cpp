#include <millpond/fix/detail/delimiter_scan.hpp>

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace millpond::fix::detail {
namespace {

constexpr char kSoh = '\x01';
constexpr std::size_t kWordBytes = 64;

std::uint32_t sum_scalar(const char* bytes, std::size_t size) noexcept {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += static_cast<unsigned char>(bytes[i]);
    return sum;
}

std::uint32_t scan_scalar(const char* bytes, std::size_t size, DelimiterMasks& masks) noexcept {
    std::uint32_t sum = 0;
    for (std::size_t begin = 0; begin < size; begin += kWordBytes) {
        std::uint64_t delimiters = 0;
        std::uint64_t equals = 0;
        for (std::size_t bit = 0; bit < kWordBytes && begin + bit < size; ++bit) {
            const char c = bytes[begin + bit];
            sum += static_cast<unsigned char>(c);
            delimiters |= std::uint64_t{c == kSoh} << bit;
            equals |= std::uint64_t{c == '='} << bit;
        }
        masks.delimiters[begin / kWordBytes] = delimiters;
        masks.equals[begin / kWordBytes] = equals;
    }
    return sum;
}

Listing list_scalar(const char* bytes, std::size_t size, DelimiterPlaces& places) noexcept {
    Listing all;
    for (std::size_t i = 0; i < size; ++i) {
        all.sum += static_cast<unsigned char>(bytes[i]);
        places[all.count] = static_cast<std::uint16_t>(i);
        all.count += bytes[i] == kSoh ? 1U : 0U;
    }
    return all;
}

Listing count_scalar(const char* bytes, std::size_t size) noexcept {
    Listing all;
    for (std::size_t i = 0; i < size; ++i) {
        all.sum += static_cast<unsigned char>(bytes[i]);
        all.count += bytes[i] == kSoh ? 1U : 0U;
    }
    return all;
}

Comparison compare_scalar(const char* bytes, std::size_t size, const char* text, const char* mask) noexcept {
    std::uint32_t sum = 0;
    int differs = 0;
    for (std::size_t i = 0; i < size; ++i) {
        sum += static_cast<unsigned char>(bytes[i]);
        differs |= (bytes[i] ^ text[i]) & mask[i];
        differs |= (bytes[i] == kSoh ? 0xFF : 0) & ~mask[i];
    }
    return {sum, differs == 0};
}

#if defined(__x86_64__)

// 64 zero bytes, then 64 bytes of ones: a load at offset n keeps the last n bytes of a word.
struct TailMask {
    alignas(64) unsigned char bytes[2 * kWordBytes]{};
    constexpr TailMask() noexcept {
        for (std::size_t i = kWordBytes; i < 2 * kWordBytes; ++i) bytes[i] = 0xFF;
    }
};
constexpr TailMask kTailMask;

__attribute__((target("avx2"))) inline __m256i load_avx2(const void* at) noexcept {
    return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

__attribute__((target("avx2"))) inline std::uint64_t matches_avx2(__m256i low, __m256i high, __m256i wanted) noexcept {
    const auto below = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
    const auto above = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
    return below | (std::uint64_t{above} << 32);
}

__attribute__((target("avx2"))) inline __m256i add_bytes_avx2(__m256i sums, __m256i low, __m256i high) noexcept {
    const __m256i zero = _mm256_setzero_si256();
    return _mm256_add_epi64(sums, _mm256_add_epi64(_mm256_sad_epu8(low, zero), _mm256_sad_epu8(high, zero)));
}

__attribute__((target("avx2"))) inline std::uint32_t total_avx2(__m256i sums) noexcept {
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1));
}

__attribute__((target("avx2"))) std::uint32_t sum_avx2(const char* bytes, std::size_t size) noexcept {
    __m256i sums = _mm256_setzero_si256();
    std::size_t at = 0;
    for (; at + kWordBytes <= size; at += kWordBytes) {
        sums = add_bytes_avx2(sums, load_avx2(bytes + at), load_avx2(bytes + at + 32));
    }
    const auto rest = size - at;
    if (rest == 0) return total_avx2(sums);
    if (size < kWordBytes) return sum_scalar(bytes, size);
    const auto* last = bytes + size - kWordBytes;
    const auto* mask = kTailMask.bytes + rest;
    return total_avx2(add_bytes_avx2(sums, _mm256_and_si256(load_avx2(last), load_avx2(mask)),
                                     _mm256_and_si256(load_avx2(last + 32), load_avx2(mask + 32))));
}

__attribute__((target("avx2"))) std::uint32_t scan_avx2(const char* bytes, std::size_t size,
                                                        DelimiterMasks& masks) noexcept {
    if (size < kWordBytes) return scan_scalar(bytes, size, masks);
    const __m256i soh = _mm256_set1_epi8(kSoh);
    const __m256i equals = _mm256_set1_epi8('=');
    __m256i sums = _mm256_setzero_si256();
    std::size_t at = 0;
    for (; at + kWordBytes <= size; at += kWordBytes) {
        const __m256i low = load_avx2(bytes + at);
        const __m256i high = load_avx2(bytes + at + 32);
        masks.delimiters[at / kWordBytes] = matches_avx2(low, high, soh);
        masks.equals[at / kWordBytes] = matches_avx2(low, high, equals);
        sums = add_bytes_avx2(sums, low, high);
    }
    const auto rest = size - at;
    if (rest != 0) {
        // The last 64 bytes overlap with the previous ones; only the last `rest` are new.
        const auto* last = bytes + size - kWordBytes;
        const auto* mask = kTailMask.bytes + rest;
        const __m256i low = _mm256_and_si256(load_avx2(last), load_avx2(mask));
        const __m256i high = _mm256_and_si256(load_avx2(last + 32), load_avx2(mask + 32));
        masks.delimiters[at / kWordBytes] = matches_avx2(low, high, soh) >> (kWordBytes - rest);
        masks.equals[at / kWordBytes] = matches_avx2(low, high, equals) >> (kWordBytes - rest);
        sums = add_bytes_avx2(sums, low, high);
    }
    return total_avx2(sums);
}

/// Stores the positions of a word's delimiters, eight at a time, since most words have no more; returns their count.
__attribute__((target("bmi,popcnt"))) inline std::uint32_t note_places(std::uint64_t bits, std::size_t base,
                                                                       std::uint16_t* places) noexcept {
    const auto count = static_cast<std::uint32_t>(std::popcount(bits));
    for (std::uint32_t noted = 0; noted < count; noted += 8) {
        for (std::uint32_t i = 0; i < 8; ++i) {
            places[noted + i] = static_cast<std::uint16_t>(base + static_cast<std::size_t>(std::countr_zero(bits)));
            bits &= bits - 1;
        }
    }
    return count;
}

__attribute__((target("avx2,bmi,popcnt"))) Listing list_avx2(const char* bytes, std::size_t size,
                                                             DelimiterPlaces& places) noexcept {
    if (size < kWordBytes) return list_scalar(bytes, size, places);
    const __m256i soh = _mm256_set1_epi8(kSoh);
    __m256i sums = _mm256_setzero_si256();
    std::uint32_t count = 0;
    std::size_t at = 0;
    for (; at + kWordBytes <= size; at += kWordBytes) {
        const __m256i low = load_avx2(bytes + at);
        const __m256i high = load_avx2(bytes + at + 32);
        sums = add_bytes_avx2(sums, low, high);
        count += note_places(matches_avx2(low, high, soh), at, places.data() + count);
    }
    const auto rest = size - at;
    if (rest != 0) {
        const auto* last = bytes + size - kWordBytes;
        const auto* mask = kTailMask.bytes + rest;
        const __m256i low = _mm256_and_si256(load_avx2(last), load_avx2(mask));
        const __m256i high = _mm256_and_si256(load_avx2(last + 32), load_avx2(mask + 32));
        sums = add_bytes_avx2(sums, low, high);
        count += note_places(matches_avx2(low, high, soh), size - kWordBytes, places.data() + count);
    }
    return {total_avx2(sums), count};
}

__attribute__((target("avx2,popcnt"))) Listing count_avx2(const char* bytes, std::size_t size) noexcept {
    if (size < kWordBytes) return count_scalar(bytes, size);
    const __m256i soh = _mm256_set1_epi8(kSoh);
    __m256i sums = _mm256_setzero_si256();
    std::uint32_t count = 0;
    std::size_t at = 0;
    for (; at + kWordBytes <= size; at += kWordBytes) {
        const __m256i low = load_avx2(bytes + at);
        const __m256i high = load_avx2(bytes + at + 32);
        sums = add_bytes_avx2(sums, low, high);
        count += static_cast<std::uint32_t>(std::popcount(matches_avx2(low, high, soh)));
    }
    const auto rest = size - at;
    if (rest != 0) {
        const auto* last = bytes + size - kWordBytes;
        const auto* mask = kTailMask.bytes + rest;
        const __m256i low = _mm256_and_si256(load_avx2(last), load_avx2(mask));
        const __m256i high = _mm256_and_si256(load_avx2(last + 32), load_avx2(mask + 32));
        sums = add_bytes_avx2(sums, low, high);
        count += static_cast<std::uint32_t>(std::popcount(matches_avx2(low, high, soh)));
    }
    return {total_avx2(sums), count};
}

/// Bits that CompareFunction reports as different.
__attribute__((target("avx2"))) inline __m256i differing_avx2(__m256i bytes, const char* text, const char* mask,
                                                              __m256i soh) noexcept {
    const __m256i counts = load_avx2(mask);
    const __m256i other = _mm256_and_si256(_mm256_xor_si256(bytes, load_avx2(text)), counts);
    return _mm256_or_si256(other, _mm256_andnot_si256(counts, _mm256_cmpeq_epi8(bytes, soh)));
}

__attribute__((target("avx2"))) Comparison compare_avx2(const char* bytes, std::size_t size, const char* text,
                                                        const char* mask) noexcept {
    constexpr std::size_t kVector = 32;
    if (size < kVector) return compare_scalar(bytes, size, text, mask);
    const __m256i soh = _mm256_set1_epi8(kSoh);
    const __m256i zero = _mm256_setzero_si256();
    __m256i sums = zero;
    __m256i differs = zero;
    std::size_t at = 0;
    for (; at + kVector <= size; at += kVector) {
        const __m256i word = load_avx2(bytes + at);
        differs = _mm256_or_si256(differs, differing_avx2(word, text + at, mask + at, soh));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(word, zero));
    }
    if (at != size) {
        // The last 32 bytes overlap with the previous ones; only the last few are new.
        const auto last = size - kVector;
        const __m256i word = load_avx2(bytes + last);
        const __m256i fresh = load_avx2(kTailMask.bytes + kVector + (size - at));
        differs = _mm256_or_si256(differs, differing_avx2(word, text + last, mask + last, soh));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_and_si256(word, fresh), zero));
    }
    return {total_avx2(sums), _mm256_testz_si256(differs, differs) != 0};
}

__attribute__((target("avx512f,avx512bw"))) inline __m512i load_avx512(const char* bytes, std::size_t size) noexcept {
    const __mmask64 there = size >= kWordBytes ? ~__mmask64{0} : (__mmask64{1} << size) - 1;
    return _mm512_maskz_loadu_epi8(there, bytes);
}

__attribute__((target("avx512f,avx512bw"))) inline std::uint32_t total_avx512(__m512i sums) noexcept {
    alignas(64) std::uint64_t lanes[8];
    _mm512_store_si512(lanes, sums);
    std::uint64_t total = 0;
    for (const auto lane : lanes) total += lane;
    return static_cast<std::uint32_t>(total);
}

__attribute__((target("avx512f,avx512bw"))) std::uint32_t sum_avx512(const char* bytes, std::size_t size) noexcept {
    __m512i sums = _mm512_setzero_si512();
    for (std::size_t at = 0; at < size; at += kWordBytes) {
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(load_avx512(bytes + at, size - at), _mm512_setzero_si512()));
    }
    return total_avx512(sums);
}

__attribute__((target("avx512f,avx512bw"))) std::uint32_t scan_avx512(const char* bytes, std::size_t size,
                                                                      DelimiterMasks& masks) noexcept {
    const __m512i soh = _mm512_set1_epi8(kSoh);
    const __m512i equals = _mm512_set1_epi8('=');
    __m512i sums = _mm512_setzero_si512();
    for (std::size_t at = 0; at < size; at += kWordBytes) {
        const __m512i word = load_avx512(bytes + at, size - at);
        masks.delimiters[at / kWordBytes] = _mm512_cmpeq_epi8_mask(word, soh);
        masks.equals[at / kWordBytes] = _mm512_cmpeq_epi8_mask(word, equals);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(word, _mm512_setzero_si512()));
    }
    return total_avx512(sums);
}

__attribute__((target("avx512f,avx512bw,bmi,popcnt"))) Listing list_avx512(const char* bytes, std::size_t size,
                                                                           DelimiterPlaces& places) noexcept {
    const __m512i soh = _mm512_set1_epi8(kSoh);
    __m512i sums = _mm512_setzero_si512();
    std::uint32_t count = 0;
    for (std::size_t at = 0; at < size; at += kWordBytes) {
        const __m512i word = load_avx512(bytes + at, size - at);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(word, _mm512_setzero_si512()));
        count += note_places(_mm512_cmpeq_epi8_mask(word, soh), at, places.data() + count);
    }
    return {total_avx512(sums), count};
}

/// Like list_avx512, but compresses the positions of a word's delimiters instead of finding them one by one.
__attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,popcnt"))) Listing
list_avx512_vbmi2(const char* bytes, std::size_t size, DelimiterPlaces& places) noexcept {
    alignas(64) static constexpr auto kCounted = [] {
        std::array<char, kWordBytes> all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i);
        return all;
    }();
    constexpr std::uint32_t kAtOnce = 32;
    const __m512i counted = _mm512_load_si512(kCounted.data());
    const __m512i soh = _mm512_set1_epi8(kSoh);
    __m512i sums = _mm512_setzero_si512();
    std::uint32_t count = 0;
    for (std::size_t at = 0; at < size; at += kWordBytes) {
        const __m512i word = load_avx512(bytes + at, size - at);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(word, _mm512_setzero_si512()));
        const auto found = _mm512_cmpeq_epi8_mask(word, soh);
        const __m512i base = _mm512_set1_epi16(static_cast<short>(at));
        const __m512i squeezed = _mm512_maskz_compress_epi8(found, counted);
        const __m512i low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(squeezed));
        _mm512_storeu_si512(places.data() + count, _mm512_add_epi16(low, base));
        const auto here = static_cast<std::uint32_t>(std::popcount(std::uint64_t{found}));
        if (here > kAtOnce) {
            const __m512i high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(squeezed, 1));
            _mm512_storeu_si512(places.data() + count + kAtOnce, _mm512_add_epi16(high, base));
        }
        count += here;
    }
    return {total_avx512(sums), count};
}

__attribute__((target("avx512f,avx512bw"))) Comparison compare_avx512(const char* bytes, std::size_t size,
                                                                      const char* text, const char* mask) noexcept {
    const __m512i soh = _mm512_set1_epi8(kSoh);
    __m512i sums = _mm512_setzero_si512();
    __mmask64 differs = 0;
    for (std::size_t at = 0; at < size; at += kWordBytes) {
        const __m512i word = load_avx512(bytes + at, size - at);
        const __m512i counts = load_avx512(mask + at, size - at);
        const __m512i other = _mm512_xor_si512(word, load_avx512(text + at, size - at));
        differs |=
            _mm512_test_epi8_mask(other, counts) | (_mm512_cmpeq_epi8_mask(word, soh) & ~_mm512_movepi8_mask(counts));
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(word, _mm512_setzero_si512()));
    }
    return {total_avx512(sums), differs == 0};
}

#endif

}  // namespace

bool supported(InstructionSet set) noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
    switch (set) {
        case InstructionSet::scalar: return true;
        case InstructionSet::avx2:
            return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
                   __builtin_cpu_supports("popcnt") != 0;
        case InstructionSet::avx512:
            return supported(InstructionSet::avx2) && __builtin_cpu_supports("avx512f") != 0 &&
                   __builtin_cpu_supports("avx512bw") != 0;
        case InstructionSet::avx512_vbmi2:
            return supported(InstructionSet::avx512) && __builtin_cpu_supports("avx512vbmi2") != 0;
    }
#endif
    return set == InstructionSet::scalar;
}

InstructionSet best_supported() noexcept {
    if (supported(InstructionSet::avx512_vbmi2)) return InstructionSet::avx512_vbmi2;
    if (supported(InstructionSet::avx512)) return InstructionSet::avx512;
    if (supported(InstructionSet::avx2)) return InstructionSet::avx2;
    return InstructionSet::scalar;
}

ScanFunction scan_function(InstructionSet set) noexcept {
#if defined(__x86_64__)
    if (set >= InstructionSet::avx512) return scan_avx512;
    if (set == InstructionSet::avx2) return scan_avx2;
#endif
    static_cast<void>(set);
    return scan_scalar;
}

ListFunction list_function(InstructionSet set) noexcept {
#if defined(__x86_64__)
    if (set == InstructionSet::avx512_vbmi2) return list_avx512_vbmi2;
    if (set == InstructionSet::avx512) return list_avx512;
    if (set == InstructionSet::avx2) return list_avx2;
#endif
    static_cast<void>(set);
    return list_scalar;
}

CountFunction count_function(InstructionSet set) noexcept {
#if defined(__x86_64__)
    if (set != InstructionSet::scalar) return count_avx2;
#endif
    static_cast<void>(set);
    return count_scalar;
}

SumFunction sum_function(InstructionSet set) noexcept {
#if defined(__x86_64__)
    if (set >= InstructionSet::avx512) return sum_avx512;
    if (set == InstructionSet::avx2) return sum_avx2;
#endif
    static_cast<void>(set);
    return sum_scalar;
}

CompareFunction compare_function(InstructionSet set) noexcept {
#if defined(__x86_64__)
    if (set >= InstructionSet::avx512) return compare_avx512;
    if (set == InstructionSet::avx2) return compare_avx2;
#endif
    static_cast<void>(set);
    return compare_scalar;
}

}  // namespace millpond::fix::detail
