#include <millpond/feed/iex_tops.hpp>

#include "fuzz/fuzz_target.hpp"

MILLPOND_FUZZ_TARGET {
    using namespace millpond::feed;
    InstrumentTable instruments{8};
    IexTopsDecoder decoder{instruments, {}};
    fuzz_decoder(instruments, decoder, input);
}
