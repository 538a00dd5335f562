#pragma once

#include <string>
#include <string_view>

namespace millpond::engine {

/// Source: RFC 4648, section 4; padded. Needs no OpenSSL, as the engine may be built without it.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace millpond::engine
