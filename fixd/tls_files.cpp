#include "fixd/tls_files.hpp"

#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <iterator>

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

std::size_t contents_hash(const TlsFiles& files) {
    std::string contents;
    for (const auto* path : {&files.certificate, &files.key, &files.authorities}) {
        std::ifstream file{*path, std::ios::binary};
        contents.append(std::istreambuf_iterator<char>{file}, {});
        contents += '\0';
    }
    return std::hash<std::string>{}(contents);
}

}  // namespace millpond::fixd
