#include <millpond/feed/itch_decoder.hpp>

#include "fuzz/fuzz_target.hpp"

// Few orders and level chunks, so that the input reaches their limits.
MILLPOND_FUZZ_TARGET {
    using namespace millpond::feed;
    InstrumentTable instruments{8};
    ItchDecoder decoder{instruments,
                        {.order_books = {.books = 6, .orders = 16, .level_chunks = 6}, .depth = 2, .orders = true}};
    decoder.set_midnight(1);
    fuzz_decoder(instruments, decoder, input);
}
