#include <millpond/feed/bbo28_decoder.hpp>

#include "fuzz/fuzz_target.hpp"

MILLPOND_FUZZ_TARGET {
    using namespace millpond::feed;
    InstrumentTable instruments{8};
    Bbo28Decoder decoder{instruments, {}};
    fuzz_decoder(instruments, decoder, input);
}
