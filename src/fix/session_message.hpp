#pragma once

#include <string_view>

namespace millpond::fix {

/// Whether the session layer handles messages of this MsgType itself.
constexpr bool is_session_message(std::string_view msg_type) noexcept {
    return msg_type.size() == 1 && std::string_view{"012345A"}.find(msg_type.front()) != std::string_view::npos;
}

}  // namespace millpond::fix
