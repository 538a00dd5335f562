#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// A decoder and what it hands its events to, as a LineArbiter's target. tell(bytes, result) gets each datagram
/// that was decoded.
template <class Decoder, class Handler, class Tell>
class DecoderTarget {
public:
    DecoderTarget(Decoder& decoder, Handler& handler, Tell tell) : decoder_(decoder), handler_(handler), tell_(tell) {}

    [[nodiscard]] std::uint64_t next() const noexcept { return decoder_.sequence().next(); }
    [[nodiscard]] auto session() const noexcept { return decoder_.session(); }
    [[nodiscard]] bool is_missing(std::uint64_t first, std::uint64_t last) const noexcept {
        return decoder_.sequence().is_missing(first, last);
    }
    void decode(std::span<const std::byte> bytes, const Arrival& arrival) {
        tell_(bytes, decoder_.decode(bytes, arrival, handler_));
    }
    template <class Session>
    void begin_session(const Session& session, std::uint64_t first, const Arrival& arrival) {
        decoder_.begin_session(session, first, arrival, handler_);
    }
    void begin_again(std::uint64_t first, const Arrival& arrival) { decoder_.begin_again(first, arrival, handler_); }

private:
    Decoder& decoder_;
    Handler& handler_;
    Tell tell_;
};

}  // namespace millpond::feed
