#pragma once

#include <string>
#include <string_view>

namespace millpond::fixd {

/// Why a text cannot be the reason of a Logout; empty if it can.
[[nodiscard]] std::string fault_of_reason(std::string_view reason);

}  // namespace millpond::fixd
