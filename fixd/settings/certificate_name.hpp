#pragma once

#include <string>
#include <string_view>

namespace millpond::fixd {

/// Converts the name of a client certificate to the form of engine::LogonAttempt::certificate_names: DNS names in lower
/// case, IP addresses in their short form. Throws std::invalid_argument for other text.
[[nodiscard]] std::string certificate_name(std::string_view text);

}  // namespace millpond::fixd
