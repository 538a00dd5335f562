// Replaces TLS in a build without OpenSSL.
#include <stdexcept>

#include <unistd.h>

#include <millpond/engine/logon_signer.hpp>

#include "src/engine/io/tls_transport.hpp"

namespace millpond::engine {

class LogonSigner::Key {};

LogonSigner::LogonSigner(LogonScheme scheme, std::string_view key) : scheme_(scheme) {
    static_cast<void>(key);
    throw std::runtime_error("signed Logons: this build has none; OpenSSL was missing (Debian: libssl-dev)");
}

LogonSigner::~LogonSigner() = default;

void LogonSigner::sign(fix::AdminDraft& logon, std::int64_t utc_ns) {
    static_cast<void>(logon), static_cast<void>(utc_ns);  // never called: there is no signer
}

std::unique_ptr<Transport> make_tls_transport(const tls::Context& context, core::Descriptor socket,
                                              const std::string& host) {
    static_cast<void>(context), static_cast<void>(host);
    return make_tcp_transport(std::move(socket));  // never called: there is no context
}

}  // namespace millpond::engine
