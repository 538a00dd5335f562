// The part of one_pass_test.cpp that is compiled for one level of x86-64.

#include "bench/fix/one_pass.hpp"

#include <cstddef>
#include <cstdio>
#include <vector>

namespace millpond::bench {
namespace {

constexpr std::size_t kMaxSize = 400;
constexpr std::size_t kReadableBehind = 64;

OnePass byte_by_byte(const char* bytes, std::size_t size) {
    OnePass all;
    for (std::size_t i = 0; i < size; ++i) {
        all.delimiters += bytes[i] == '\x01' ? 1U : 0U;
        all.equals += bytes[i] == '=' ? 1U : 0U;
        all.sum += static_cast<unsigned char>(bytes[i]);
    }
    return all;
}

}  // namespace

bool one_pass_is_right() {
    constexpr char kAlphabet[] = {'8', '=', '\x01', '\xFF', 'A', '='};
    std::vector<char> bytes(kMaxSize + kReadableBehind);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = kAlphabet[i * i % sizeof kAlphabet];
    for (std::size_t size = 0; size <= kMaxSize; ++size) {
        const auto got = one_pass(bytes.data(), size);
        const auto want = byte_by_byte(bytes.data(), size);
        if (got.delimiters == want.delimiters && got.equals == want.equals && got.sum == want.sum) continue;
        std::printf("%s: wrong for %zu bytes\n", kOnePassName, size);
        return false;
    }
    std::printf("%s: right\n", kOnePassName);
    return true;
}

}  // namespace millpond::bench
