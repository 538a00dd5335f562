#include "fixd/tls_files.hpp"

#include <fmt/format.h>

#include "service/settings/value.hpp"

namespace millpond::fixd {

void check_tls(const TlsFiles& tls, std::string_view user) {
    if (tls.certificate.empty() != tls.key.empty()) {
        throw settings::ConfigError(fmt::format("{}: '{}' is required with '{}'", user,
                                                tls.key.empty() ? "tls_key" : "tls_certificate",
                                                tls.key.empty() ? "tls_certificate" : "tls_key"));
    }
}

engine::TlsOptions tls_options(const TlsFiles& files) {
    return {.certificate = files.certificate,
            .key = files.key,
            .authorities = files.authorities,
            .verify_peer = files.verify,
            .server_name = files.server_name};
}

}  // namespace millpond::fixd
