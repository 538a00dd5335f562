#pragma once

#include <string_view>

struct ssl_st;  // OpenSSL's SSL

namespace millpond::tls {

/// Begins the text of every refusal in a handshake; failure_reason follows it.
inline constexpr std::string_view kHandshakeFailed = "TLS handshake failed";
inline constexpr std::string_view kTimedOut = "timed out";

/// Why an operation failed: the fault of the peer's certificate, else the reason of `error` in OpenSSL's queue, 0 if
/// that is empty. Static storage.
[[nodiscard]] std::string_view failure_reason(const ssl_st& connection, unsigned long error) noexcept;

}  // namespace millpond::tls
