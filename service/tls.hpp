#pragma once

#include <string>

#include <millpond/tls/context.hpp>

namespace millpond::service {

/// Throws ConfigError for a certificate without its key, or a key without its certificate.
void check_key_pair(const tls::Options& options);

/// Context of a server, which requires client certificates if there are authorities; not on() without files. Throws
/// ConfigError that names the file and the reason.
[[nodiscard]] tls::Context server_tls(tls::Options options);

/// Throws ConfigError that names the first of a client's PEM files that cannot be used. Empty paths are ignored.
void check_client_files(const std::string& authority, const std::string& certificate, const std::string& key);

}  // namespace millpond::service
