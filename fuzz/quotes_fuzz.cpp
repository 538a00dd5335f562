#include <cstdint>

#include <millpond/feed/quotes_decoder.hpp>

#include "fuzz/fuzz_target.hpp"

MILLPOND_FUZZ_TARGET {
    using namespace millpond::feed;
    InstrumentTable instruments{8};
    for (const std::uint32_t depth : {0U, 3U}) {
        QuotesDecoder decoder{instruments, {.depth = depth}};
        fuzz_decoder(instruments, decoder, input);
    }
}
