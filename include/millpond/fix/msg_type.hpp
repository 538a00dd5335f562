#pragma once

#include <string_view>

namespace millpond::fix {

/// Whether messages of this MsgType(35) belong to the session layer: 0 to 5 and A.
constexpr bool is_session_message(std::string_view msg_type) noexcept {
    return msg_type.size() == 1 && std::string_view{"012345A"}.find(msg_type.front()) != std::string_view::npos;
}

namespace detail {

/// The text from `field` up to the next delimiter, in a message that may not be readable as a whole; empty if it is not
/// there.
constexpr std::string_view value_behind(std::string_view message, std::string_view field) noexcept {
    const auto at = message.find(field);
    if (at == std::string_view::npos) return {};
    const auto value = message.substr(at + field.size());
    return value.substr(0, value.find('\x01'));
}

}  // namespace detail

/// MsgType(35) of an encoded message, whose third field it is; empty if there is none.
constexpr std::string_view msg_type_of(std::string_view message) noexcept {
    constexpr std::string_view kField =
        "\x01"
        "35=";
    return detail::value_behind(message, kField);
}

}  // namespace millpond::fix
