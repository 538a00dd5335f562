#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Passes the datagrams of a LineArbiter to a decoder, and its events to a handler. Calls report(bytes, result) for
/// each decoded datagram.
template <class Decoder, class Handler, class Report>
class DecoderTarget {
public:
    DecoderTarget(Decoder& decoder, Handler& handler, Report report)
        : decoder_(decoder), handler_(handler), report_(report) {}

    [[nodiscard]] std::uint64_t next() const noexcept { return decoder_.sequence().next(); }
    [[nodiscard]] auto session() const noexcept { return decoder_.session(); }
    [[nodiscard]] bool is_missing(std::uint64_t first, std::uint64_t last) const noexcept {
        return decoder_.sequence().is_missing(first, last);
    }
    /// False for a session of another channel.
    template <class Session>
    [[nodiscard]] bool accepts(const Session& session) const noexcept {
        if constexpr (requires { decoder_.accepts(session); }) return decoder_.accepts(session);
        return true;
    }
    void decode(std::span<const std::byte> bytes, const Arrival& arrival) {
        report_(bytes, decoder_.decode(bytes, arrival, handler_));
    }
    template <class Session>
    void begin_session(const Session& session, std::uint64_t first, const Arrival& arrival) {
        decoder_.begin_session(session, first, arrival, handler_);
    }
    void restart_at(std::uint64_t first, const Arrival& arrival) { decoder_.restart_at(first, arrival, handler_); }

private:
    Decoder& decoder_;
    Handler& handler_;
    Report report_;
};

}  // namespace millpond::feed
