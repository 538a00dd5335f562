#include <millpond/net/itch_file_reader.hpp>

#include "fuzz/fuzz_target.hpp"

/// A file of any bytes is read to an end; the messages with their lengths are the part of the file that was read.
MILLPOND_FUZZ_TARGET {
    millpond::net::ItchFileReader reader{input, "fuzz"};
    std::span<const std::byte> message;
    std::size_t bytes = 0;
    while (reader.next(message)) bytes += 2 + message.size();
    millpond::feed::require_kept(bytes <= input.size() ? "" : "messages are not longer than the file");
    const bool whole = bytes == input.size() || reader.complete();
    millpond::feed::require_kept(whole == reader.error().empty() ? "" : "a file that ends too early has an error");
}
