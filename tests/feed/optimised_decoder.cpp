// The decoder as optimised, for check_prefetches.
#include <cstddef>
#include <span>

#include <millpond/feed/itch_decoder.hpp>

namespace millpond::feed::test {

struct Ignore {
    template <class Event>
    void on(const Event&) noexcept {}
};

DecodeResult decode(ItchDecoder& decoder, std::span<const std::byte> datagram) {
    Ignore ignore;
    return decoder.decode(datagram, {}, ignore);
}

void decode(ItchDecoder& decoder, std::span<const std::span<const std::byte>> messages) {
    Ignore ignore;
    decoder.books().apply_all(messages, 1, {}, ignore);
}

}  // namespace millpond::feed::test
