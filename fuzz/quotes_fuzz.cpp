#include <millpond/feed/quotes_decoder.hpp>

#include "fuzz/fuzz_target.hpp"

MILLPOND_FUZZ_TARGET {
    using namespace millpond::feed;
    InstrumentTable instruments{8};
    QuotesDecoder decoder{instruments, {}};
    fuzz_decoder(instruments, decoder, input);
}
