#include <millpond/feed/miax_tom_decoder.hpp>

#include "fuzz/fuzz_target.hpp"

MILLPOND_FUZZ_TARGET {
    using namespace millpond::feed;
    InstrumentTable instruments{8};
    MiaxTomDecoder decoder{instruments, {}};
    decoder.set_midnight(1);
    fuzz_decoder(instruments, decoder, input);
}
