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
    std::string_view origin{};         ///< `Origin`; empty when none was sent, as by programs.
    std::string_view authorization{};  ///< `Authorization`
    std::string_view protocols{};      ///< `Sec-WebSocket-Protocol`: where a browser's script can put a token.
};

/// Who may ask for what. With a token: a client that presents it as `Authorization: Bearer TOKEN`, or as a WebSocket
/// protocol: `millpond.base64url.` and the token in base64url without padding, or `millpond.TOKEN` where the token has
/// only characters that a protocol's name may have. Always: a page of another site may not use the browser of a user
/// who may (`Origin` must be our own `Host`), nor, without a token, reach a loopback address under a name of its own.
///
/// Threads: any, it is constant.
/// Source:  RFC 6455 10.2; OWASP, Cross-Site WebSocket Hijacking; DNS rebinding.
class Access {
public:
    struct Refusal {
        std::uint16_t status;  ///< Of HTTP.
        std::string_view reason;
    };

    /// loopback: whether it is served on this machine alone.
    Access(service::Token token, bool loopback) : token_(std::move(token)), loopback_(loopback) {}

    /// Why a request is refused; empty: it is not. is_open: the page holds nothing that a token protects.
    [[nodiscard]] std::optional<Refusal> refusal(const Credentials& credentials, bool is_open) const;

    static constexpr std::string_view kProtocol = "millpond";
    static constexpr std::string_view kEncoded = "base64url.";

private:
    [[nodiscard]] bool knows_token(const Credentials& credentials) const;

    service::Token token_;
    bool loopback_;
};

}  // namespace millpond::http
