// Replaces context.cpp in a build without OpenSSL.
#include <millpond/tls/context.hpp>

#include <stdexcept>

namespace millpond::tls {

bool available() noexcept { return false; }

Context::Context(Role /*role*/, const Options& /*options*/) {
    throw std::runtime_error("tls: this build has none; OpenSSL was missing (Debian: libssl-dev)");
}

Context::~Context() = default;
Context::Context(const Context& other) noexcept = default;
ssl_ctx_st* Context::share() const noexcept { return nullptr; }

}  // namespace millpond::tls
