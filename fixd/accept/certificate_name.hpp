#pragma once

#include <string>
#include <string_view>

namespace millpond::fixd {

/// A name of a client certificate as engine::LogonAttempt::certificate_names has it: DNS names in lower case, IP
/// addresses in their short form. Throws std::invalid_argument for other text.
[[nodiscard]] std::string certificate_name(std::string_view text);

}  // namespace millpond::fixd
