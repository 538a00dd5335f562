#include <millpond/engine/logon_signer.hpp>

namespace millpond::engine {
namespace {

constexpr fix::Tag kUsername[] = {fix::tag::kUsername};
constexpr fix::Tag kPassphrase[] = {fix::tag::kPassword};
constexpr fix::Tag kPassphraseAndKey[] = {fix::tag::kPassword, 9407};

}  // namespace

std::span<const fix::Tag> needed_fields(LogonScheme scheme) noexcept {
    switch (scheme) {
        case LogonScheme::binance:
        case LogonScheme::bybit:
        case LogonScheme::kraken: return kUsername;
        case LogonScheme::coinbase_exchange:
        case LogonScheme::kraken_prime: return kPassphrase;
        case LogonScheme::coinbase_prime: break;
    }
    return kPassphraseAndKey;
}

bool has_private_key(LogonScheme scheme) noexcept {
    return scheme == LogonScheme::binance || scheme == LogonScheme::bybit;
}

}  // namespace millpond::engine
