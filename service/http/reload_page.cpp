#include "service/http/reload_page.hpp"

#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace millpond::http {

ReloadPage::ReloadPage(const service::TokenSource& admin_token, service::Reloader& reloader, service::Log& log)
    : admin_token_(admin_token), is_enabled_(admin_token_.required()), reloader_(reloader), log_(log) {}

bool ReloadPage::renew(service::Token admin_token) {
    const std::lock_guard lock{token_mutex_};
    if (admin_token == admin_token_) return false;
    admin_token_ = std::move(admin_token);
    return true;
}

bool ReloadPage::admits(std::string_view authorization) {
    const std::lock_guard lock{token_mutex_};
    return admin_token_.admits_bearer(authorization);
}

std::optional<Page> ReloadPage::refusal(std::string_view authorization, std::string_view what) {
    if (admits(authorization)) return std::nullopt;
    log_.warning("admin", "admin: {} was requested with a wrong token or none", what);
    return Page{.type = "text/plain", .body = "the admin token is required\n", .status = 401};
}

Page ReloadPage::act(const Request& request, std::string_view authorization) {
    if (request.path != "/api/reload") return {};
    if (auto refused = refusal(authorization, "a reload")) return *std::move(refused);
    const auto result = reloader_.request();
    if (!result && reloader_.requests().is_closed())
        return {.type = "text/plain", .body = "the program is stopping\n", .status = 503};
    if (!result) return {.type = "text/plain", .body = "no result yet; see the log\n", .status = 202};
    return {
        .type = "application/json",
        .body = json_of(*result) + "\n",
        .status = result->refused.empty() ? 200U : 409U,
    };
}

}  // namespace millpond::http
