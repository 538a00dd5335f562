#include <millpond/feed/iex_deep_plus.hpp>

#include "fuzz/fuzz_target.hpp"

MILLPOND_FUZZ_TARGET {
    using namespace millpond::feed;
    InstrumentTable instruments{8};
    IexDeepPlusDecoder::Options options;
    options.order_books = {.books = 6, .orders = 16, .level_chunks = 6};
    options.depth = 3;
    options.orders = true;
    IexDeepPlusDecoder decoder{instruments, options};
    fuzz_decoder(instruments, decoder, input);
}
