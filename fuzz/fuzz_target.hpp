#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "fuzz/decoder_check.hpp"

namespace millpond::feed {

/// Ends the process with the broken promise, so that the fuzzer keeps the input.
inline void require_kept(const std::string& broken) {
    if (broken.empty()) return;
    std::fprintf(stderr, "broken promise: %s\n", broken.c_str());
    std::abort();
}

template <class Decoder>
void fuzz_decoder(const InstrumentTable& instruments, Decoder& decoder, std::span<const std::byte> input) {
    require_kept(DecoderCheck<Decoder>{instruments, decoder}.play_all(input));
}

}  // namespace millpond::feed

/// Defines the entry point of libFuzzer; the body sees `input`.
#define MILLPOND_FUZZ_TARGET                                                            \
    static void fuzz_one(std::span<const std::byte> input);                             \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
        fuzz_one(std::as_bytes(std::span{data, size}));                                 \
        return 0;                                                                       \
    }                                                                                   \
    static void fuzz_one(std::span<const std::byte> input)
