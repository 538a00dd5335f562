#pragma once

#include <string_view>

namespace millpond::fix {

/// Whether messages of this MsgType(35) belong to the session layer: 0 to 5 and A.
constexpr bool is_session_message(std::string_view msg_type) noexcept {
    return msg_type.size() == 1 && std::string_view{"012345A"}.find(msg_type.front()) != std::string_view::npos;
}

namespace detail {

inline constexpr std::string_view kMsgTypeField =
    "\x01"
    "35=";
inline constexpr std::string_view kMsgSeqNumField =
    "\x01"
    "34=";

/// Text after `field` up to the next delimiter, in a message that may be malformed; empty if `field` does not occur.
constexpr std::string_view value_behind(std::string_view message, std::string_view field) noexcept {
    const auto at = message.find(field);
    if (at == std::string_view::npos) return {};
    const auto value = message.substr(at + field.size());
    return value.substr(0, value.find('\x01'));
}

}  // namespace detail

/// MsgType(35) of an encoded message, its third field; empty if there is none.
constexpr std::string_view msg_type_of(std::string_view message) noexcept {
    return detail::value_behind(message, detail::kMsgTypeField);
}

}  // namespace millpond::fix
