#include "fixd/tls_files.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <string_view>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>

#include "service/settings/value.hpp"

namespace millpond::fixd {
namespace {

constexpr std::size_t kBlockBytes = 4096;

}  // namespace

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
    std::array<char, kBlockBytes> block;
    std::size_t sum = 0;
    const auto add = [&](std::size_t bytes) {
        // Boost's hash_combine.
        sum ^=
            std::hash<std::string_view>{}({block.data(), bytes}) + 0x9E37'79B9'7F4A'7C15U + (sum << 6U) + (sum >> 2U);
    };
    for (const auto* path : {&files.certificate, &files.key, &files.authorities}) {
        const core::Descriptor file{::open(path->c_str(), O_RDONLY | O_CLOEXEC)};
        for (ssize_t got = 1; file && got > 0;) {
            got = ::read(file.get(), block.data(), block.size());
            if (got > 0) add(static_cast<std::size_t>(got));
        }
        add(0);  // the end of a file
    }
    ::explicit_bzero(block.data(), block.size());  // a private key was there
    return sum;
}

}  // namespace millpond::fixd
