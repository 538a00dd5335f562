#include "service/tls.hpp"

#include <openssl/ssl.h>

#include <stdexcept>
#include <string>

#include "service/config_error.hpp"

namespace millpond::service {
namespace {

tls::Context made(tls::Role role, const tls::Options& options) try {
    return {role, options};
} catch (const std::runtime_error& error) {
    throw ConfigError(error.what());
}

}  // namespace

void check_key_pair(const tls::Options& options) {
    if (options.certificate.empty() == options.key.empty()) return;
    const std::string certificate{"'tls_certificate'"};
    const std::string key{"'tls_key'"};
    const bool lacks_key = options.key.empty();
    throw ConfigError((lacks_key ? key : certificate) + " is required with " + (lacks_key ? certificate : key));
}

tls::Context server_tls(tls::Options options) {
    if (options.empty()) return {};
    check_key_pair(options);
    if (options.certificate.empty()) throw ConfigError("'tls_certificate' is required with 'tls_client_ca'");
    options.verify_peer = !options.authorities.empty();
    auto context = made(tls::Role::server, options);
    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);  // saves memory of idle connections
    return context;
}

void check_client_files(const std::string& authority, const std::string& certificate, const std::string& key) {
    static_cast<void>(made(tls::Role::client, {.certificate = certificate, .key = key, .authorities = authority}));
}

}  // namespace millpond::service
