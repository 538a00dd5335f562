#pragma once

#include <string>
#include <string_view>

namespace millpond::fixd {

/// What is wrong with a reason for a Logout, for people; empty where nothing is.
[[nodiscard]] std::string fault_of_reason(std::string_view reason);

}  // namespace millpond::fixd
