#pragma once

#include <concepts>
#include <string_view>

#include <millpond/fix/session.hpp>
#include <millpond/fix/writer.hpp>

namespace millpond::engine {

/// Encodes an application's type as FIX messages: `msg_type` returns the MsgType, `encode` adds the body and returns
/// false if it cannot. An optional `routing` returns the header fields for a firm behind the counterparty.
template <class Encoder, class T>
concept EncoderOf = requires(Encoder& encoder, const T& message, fix::Writer& writer) {
    { encoder.msg_type(message) } -> std::convertible_to<std::string_view>;
    { encoder.encode(message, writer) } -> std::same_as<bool>;
};

namespace detail {

/// Encodes a message and sends it, or stores it with Session::keep if `keeps`.
template <bool keeps, class T, EncoderOf<T> Encoder>
[[nodiscard]] bool hand_encoded(Encoder& encoder, const T& message, fix::Session& session, core::Moment now) {
    fix::Routing routing;
    if constexpr (requires { routing = encoder.routing(message); }) routing = encoder.routing(message);
    const auto fill = [&](fix::Writer& writer) { return encoder.encode(message, writer); };
    if constexpr (keeps) return session.keep(encoder.msg_type(message), now, fill, routing);
    return session.send(encoder.msg_type(message), now, fill, routing);
}

}  // namespace detail
}  // namespace millpond::engine
