#include <millpond/files/itch_file_reader.hpp>

#include "fuzz/fuzz_target.hpp"

/// Arbitrary bytes as a file: reading ends, and the messages with their lengths make up the part that was read.
MILLPOND_FUZZ_TARGET {
    millpond::files::ItchFileReader reader{input, "fuzz"};
    std::span<const std::byte> message;
    std::size_t bytes = 0;
    while (reader.next(message)) bytes += 2 + message.size();
    millpond::feed::require_kept(bytes <= input.size() ? "" : "messages are not longer than the file");
    const bool whole = bytes == input.size() || reader.complete();
    millpond::feed::require_kept(whole == reader.error().empty() ? "" : "a file that ends too early has an error");
}
