#include "fixd/accept/acceptor_settings.hpp"

#include <fmt/format.h>

#include <set>
#include <span>
#include <string>
#include <string_view>

#include <millpond/engine/allow_list.hpp>

#include "fixd/check_key.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/schema.hpp"

namespace millpond::fixd {
namespace {

using settings::Key;
using AcceptorKey = settings::KeyOf<AcceptorConfig>;

constexpr std::size_t kLongestAcceptorName = 64;

constexpr Key<AcceptorConfig> kAcceptorKeys[] = {
    AcceptorKey::short_text<&AcceptorConfig::name, kLongestAcceptorName>(
        "name", "NAME", "Name by which sessions choose their acceptor."),
    AcceptorKey::endpoint<&AcceptorConfig::listen>("listen", "Address and port to listen on."),
    AcceptorKey::integer<&AcceptorConfig::max_connections, 1, 100'000>(
        "max_connections", "N", "Maximum number of connections; more are closed."),
    AcceptorKey::integer<&AcceptorConfig::max_before_logon, 1, 100'000>(
        "max_before_logon", "N", "Maximum number of connections before their Logon; beyond it the oldest is closed."),
    AcceptorKey::integer<&AcceptorConfig::max_before_logon_per_address, 1, 100'000>("max_before_logon_per_address", "N",
                                                                                    "The same limit for each address."),
    AcceptorKey::integer<&AcceptorConfig::first_message_seconds, 1, 3'600>(
        "first_message_seconds", "N", "Close a connection without a Logon after this many seconds."),
    AcceptorKey::nonempty_list<&AcceptorConfig::allow>("allow", "ADDRESS/BITS+...",
                                                       "Addresses that may connect; all if unset."),
    AcceptorKey::text<[](auto& a) -> auto& { return a.tls.certificate; }>(
        "tls_certificate", "FILE", "PEM file with the server certificate and its intermediates; enables TLS."),
    AcceptorKey::text<[](auto& a) -> auto& { return a.tls.key; }>("tls_key", "FILE", "PEM file with its private key."),
    AcceptorKey::text<[](auto& a) -> auto& { return a.tls.authorities; }>(
        "tls_authorities", "FILE", "PEM file with the authorities of client certificates; the system's if unset."),
    AcceptorKey::boolean<[](auto& a) -> auto& { return a.tls.verify; }>("tls_verify", "Require client certificates."),
};

}  // namespace

void check_acceptors(const std::vector<AcceptorConfig>& acceptors) {
    std::set<std::string> names;
    for (const auto& acceptor : acceptors) {
        if (!names.insert(acceptor.name).second) {
            throw settings::ConfigError(fmt::format("[[acceptor]]: name '{}' is used twice", acceptor.name));
        }
        const auto user = fmt::format("[[acceptor]] '{}'", acceptor.name);
        check_tls(acceptor.tls, user);
        engine::AllowList list;
        for (const auto& range : acceptor.allow) check_key(user, "allow", [&] { list.add(range); });
    }
}

}  // namespace millpond::fixd

namespace millpond::settings {

using namespace fixd;

// clang-format off
template <> std::string_view Schema<AcceptorConfig>::name() { return "acceptor"; }
template <> std::span<const Key<AcceptorConfig>> Schema<AcceptorConfig>::keys() { return kAcceptorKeys; }
// clang-format on

}  // namespace millpond::settings
