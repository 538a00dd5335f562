#include "fixd/settings/web_settings.hpp"

#include <span>
#include <string_view>

#include "service/config_error.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/schema.hpp"

namespace millpond::fixd {
namespace {

using settings::Key;
using WebKey = settings::KeyOf<WebConfig>;

constexpr Key<WebConfig> kWebKeys[] = {
    WebKey::endpoint<&WebConfig::listen>("listen", "Address and port of the page, /metrics, /health and /api/health."),
    WebKey::file<[](auto& w) -> auto& { return w.token.file; }>(
        "token_file", "File with the bearer token that clients must present; none if unset."),
    WebKey::text<[](auto& w) -> auto& { return w.token.environment; }>("token_env", "NAME",
                                                                       "Environment variable with that token."),
    WebKey::file<[](auto& w) -> auto& { return w.tls.certificate; }>(
        "tls_certificate", "PEM file with the server certificate and its intermediates; enables TLS."),
    WebKey::file<[](auto& w) -> auto& { return w.tls.key; }>(
        "tls_key", "PEM file with its private key; it must not be readable by all users."),
    WebKey::file<[](auto& w) -> auto& { return w.tls.authorities; }>(
        "tls_client_ca", "PEM file with the authorities of client certificates, which are then required."),
};

}  // namespace

std::vector<std::string> files_read(const WebConfig& web) {
    return settings::files_read(std::span<const Key<WebConfig>>{kWebKeys}, web);
}

tls::Context tls_of(const WebConfig& web) {
    return service::named("[[web]] " + web.listen.to_string(), [&] { return service::server_tls(web.tls); });
}

}  // namespace millpond::fixd

namespace millpond::settings {

using namespace fixd;

// clang-format off
template <> std::string_view Schema<WebConfig>::name() { return "web"; }
template <> std::span<const Key<WebConfig>> Schema<WebConfig>::keys() { return kWebKeys; }
// clang-format on

}  // namespace millpond::settings
