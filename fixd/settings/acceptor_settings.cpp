#include "fixd/settings/acceptor_settings.hpp"

#include <fmt/format.h>

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/allow_list.hpp>

#include "fixd/settings/check_key.hpp"
#include "service/settings/errors.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/schema.hpp"
#include "service/tls.hpp"

namespace millpond::fixd {
namespace {

using settings::Key;
using AcceptorKey = settings::KeyOf<AcceptorConfig>;

constexpr std::size_t kMaxNameBytes = 64;

constexpr Key<AcceptorConfig> kAcceptorKeys[] = {
    AcceptorKey::short_text<&AcceptorConfig::name, kMaxNameBytes>("name", "NAME",
                                                                  "Name by which sessions choose their acceptor."),
    AcceptorKey::endpoint<&AcceptorConfig::listen>("listen", "Address and port to listen on."),
    AcceptorKey::integer<&AcceptorConfig::max_connections, 1, 100'000>(
        "max_connections", "N", "Maximum number of connections; more are closed."),
    AcceptorKey::integer<&AcceptorConfig::max_before_logon_per_address, 1, 100'000>(
        "max_before_logon_per_address", "N",
        "Maximum number of connections of one address before their Logon; beyond it the oldest is closed."),
    AcceptorKey::nonempty_list<&AcceptorConfig::allow>("allow", "ADDRESS/BITS+...",
                                                       "Addresses that may connect; all if unset."),
    AcceptorKey::file<[](auto& a) -> auto& { return a.tls.certificate; }>(
        "tls_certificate", "PEM file with the server certificate and its intermediates; enables TLS."),
    AcceptorKey::file<[](auto& a) -> auto& { return a.tls.key; }>(
        "tls_key", "PEM file with its private key; it must not be readable by all users."),
    AcceptorKey::file<[](auto& a) -> auto& { return a.tls.authorities; }>(
        "tls_authorities", "PEM file with the authorities of client certificates; the system's if unset."),
    AcceptorKey::boolean<[](auto& a) -> auto& { return a.tls.verify_peer; }>("tls_verify",
                                                                             "Require client certificates."),
    AcceptorKey::removed("max_before_logon", "64, or 'max_before_logon_per_address' if that is more"),
    AcceptorKey::removed("first_message_seconds", "10"),
};

}  // namespace

void check_acceptors(const std::vector<AcceptorConfig>& acceptors) {
    settings::Errors errors;
    std::set<std::string> names;
    for (const auto& acceptor : acceptors) {
        if (!names.insert(acceptor.name).second) {
            errors.add(fmt::format("[[acceptor]]: name '{}' is used twice", acceptor.name));
        }
        const auto user = fmt::format("[[acceptor]] '{}'", acceptor.name);
        errors.check([&] { service::named(user, [&] { service::check_key_pair(acceptor.tls); }); });
        engine::AllowList list;
        for (const auto& range : acceptor.allow) {
            errors.check([&] { check_key(user, "allow", [&] { list.add(range); }); });
        }
    }
    errors.throw_if_any();
}

std::vector<std::string> files_read(const AcceptorConfig& acceptor) {
    return settings::files_read(std::span<const Key<AcceptorConfig>>{kAcceptorKeys}, acceptor);
}

}  // namespace millpond::fixd

namespace millpond::settings {

using namespace fixd;

// clang-format off
template <> std::string_view Schema<AcceptorConfig>::name() { return "acceptor"; }
template <> std::span<const Key<AcceptorConfig>> Schema<AcceptorConfig>::keys() { return kAcceptorKeys; }
// clang-format on

}  // namespace millpond::settings
