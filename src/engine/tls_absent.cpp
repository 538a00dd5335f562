// Replaces TLS in a build without OpenSSL.
#include <stdexcept>

#include <unistd.h>

#include <millpond/engine/logon_signer.hpp>

#include "tls_transport.hpp"

namespace millpond::engine {

class TlsContext::Keys {};

bool tls_available() noexcept { return false; }

TlsContext::TlsContext(TlsRole role, const TlsOptions& options) {
    static_cast<void>(role), static_cast<void>(options);
    throw std::runtime_error("TLS: this build has none; OpenSSL was missing (Debian: libssl-dev)");
}

TlsContext::~TlsContext() = default;

class LogonSigner::Key {};

LogonSigner::LogonSigner(LogonScheme scheme, std::string_view key) : scheme_(scheme) {
    static_cast<void>(key);
    throw std::runtime_error("signed Logons: this build has none; OpenSSL was missing (Debian: libssl-dev)");
}

LogonSigner::~LogonSigner() = default;

void LogonSigner::sign(fix::AdminDraft& logon, std::int64_t utc_ns) {
    static_cast<void>(logon), static_cast<void>(utc_ns);  // never called: there is no signer
}

std::unique_ptr<Transport> make_tls_transport(const TlsContext& context, core::Descriptor socket,
                                              const std::string& host) {
    static_cast<void>(context), static_cast<void>(host);
    return make_tcp_transport(std::move(socket));  // never called: there is no context
}

}  // namespace millpond::engine
