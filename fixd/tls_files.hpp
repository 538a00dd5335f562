#pragma once

#include <string>
#include <string_view>

#include <millpond/engine/tls.hpp>

namespace millpond::fixd {

/// Files of a TLS connection; none when both are empty.
struct TlsFiles {
    std::string certificate{};
    std::string key{};
    std::string authorities{};
    std::string server_name{};
    bool verify{true};
    friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

/// Throws ConfigError: a certificate without its key, or the reverse. user: whose they are, for messages.
void check_tls(const TlsFiles& tls, std::string_view user);

[[nodiscard]] engine::TlsOptions tls_options(const TlsFiles& files);

}  // namespace millpond::fixd
