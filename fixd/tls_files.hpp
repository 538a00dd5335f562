#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <millpond/engine/tls.hpp>

namespace millpond::fixd {

/// PEM files of a TLS connection, and how the peer is verified.
struct TlsFiles {
    std::string certificate{};
    std::string key{};
    std::string authorities{};
    std::string server_name{};
    bool verify{true};
    friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

/// Throws ConfigError for a certificate without its key, or a key without its certificate. user: the section, for
/// messages.
void check_tls(const TlsFiles& tls, std::string_view user);

[[nodiscard]] engine::TlsOptions tls_options(const TlsFiles& files);

/// A hash of the contents of the files; those that cannot be read count as empty.
[[nodiscard]] std::size_t contents_hash(const TlsFiles& files);

}  // namespace millpond::fixd
