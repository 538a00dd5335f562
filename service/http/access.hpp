#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "service/token.hpp"

namespace millpond::http {

/// The parts of a request's head that identify the client.
struct Credentials {
    std::string_view host{};           ///< `Host`
    std::string_view origin{};         ///< `Origin`; empty if none was sent, as by programs other than browsers.
    std::string_view authorization{};  ///< `Authorization`
    std::string_view protocols{};      ///< `Sec-WebSocket-Protocol`: where a browser's script can put a token.
};

/// Decides which requests are answered. With a token, a client must present it as `Authorization: Bearer TOKEN`, or as
/// a WebSocket protocol: `millpond.base64url.` and the token in base64url without padding, or `millpond.TOKEN` if the
/// token has only characters that a protocol's name may have. `Origin` must be the server's `Host`, so that a page of
/// another site cannot use an authorized user's browser. Without a token, a loopback address is refused under other
/// host names.
///
/// Threads: any; immutable.
/// Source:  RFC 6455 10.2; OWASP, Cross-Site WebSocket Hijacking; DNS rebinding.
class Access {
public:
    struct Refusal {
        std::uint16_t status;  ///< HTTP status code.
        std::string_view reason;
    };

    /// loopback: whether the server listens on a loopback address.
    Access(service::Token token, bool loopback) : token_(std::move(token)), loopback_(loopback) {}

    /// Reason to refuse a request; nullopt if it is permitted. is_open: the page needs no token.
    [[nodiscard]] std::optional<Refusal> refusal(const Credentials& credentials, bool is_open) const;

    static constexpr std::string_view kProtocol = "millpond";
    static constexpr std::string_view kEncoded = "base64url.";

private:
    [[nodiscard]] bool knows_token(const Credentials& credentials) const;

    service::Token token_;
    bool loopback_;
};

}  // namespace millpond::http
