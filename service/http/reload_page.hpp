#pragma once

#include <mutex>
#include <optional>
#include <string_view>

#include "service/http/page.hpp"
#include "service/log.hpp"
#include "service/reloader.hpp"
#include "service/token.hpp"

namespace millpond::http {

/// POST /api/reload, for clients that present the admin token.
///
/// Threads: any.
class ReloadPage {
public:
    /// Throws ConfigError for a token that cannot be read.
    ReloadPage(const service::TokenSource& admin_token, service::Reloader& reloader, service::Log& log);

    /// Whether there is an admin token. Without one, POST requests are not served.
    [[nodiscard]] bool is_enabled() const noexcept { return is_enabled_; }
    /// Replaces the token that requests must present. Returns false if it is unchanged.
    bool renew(service::Token admin_token);
    [[nodiscard]] Page act(const Request& request, std::string_view authorization);
    /// The page for a client without the admin token, which is logged; nullopt for a client with it. what: the action,
    /// such as "a reload".
    [[nodiscard]] std::optional<Page> refusal(std::string_view authorization, std::string_view what);

private:
    [[nodiscard]] bool admits(std::string_view authorization);

    std::mutex token_mutex_;
    service::Token admin_token_;
    const bool is_enabled_;
    service::Reloader& reloader_;
    service::Log& log_;
};

}  // namespace millpond::http
