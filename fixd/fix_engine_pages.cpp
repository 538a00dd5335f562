// The HTTP servers of a FIX engine.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>

#include "fixd/fix_engine.hpp"
#include "fixd/web/asset.hpp"
#include "fixd/web/session_page.hpp"
#include "service/file_hashes.hpp"

namespace millpond::fixd {
namespace {

constexpr std::size_t kUsualMessages = 200;
constexpr std::string_view kActs = "/api/session/";

/// The request of the admin socket (admin/session_admin.hpp) that has these parameters; empty for an unknown verb.
/// Throws http::BadRequest for a parameter that would be two.
std::string admin_request(std::string_view verb, const http::Request& request) {
    const auto value = [&](std::string_view key, std::string_view otherwise) {
        auto text = request.parameter(key).value_or("");
        const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
        if (std::ranges::any_of(text, is_control)) {
            throw http::BadRequest(fmt::format("{} has a control character", key));
        }
        return text.empty() ? std::string{otherwise} : text;
    };
    const auto session = value("session", "");
    if (session.empty()) throw http::BadRequest("session is missing");
    if (verb == "logon" || verb == "reset") return fmt::format("{}\t{}", verb, session);
    if (verb == "logout") return fmt::format("logout\t{}\t{}", session, value("reason", "logged out by an operator"));
    if (verb == "promote") return fmt::format("promote\t{}\t{}", session, value("force", "-") == "1" ? "force" : "-");
    if (verb != "set-seq") return {};
    return fmt::format("set-seq\t{}\t{}\t{}", session, value("next_sender", "-"), value("next_target", "-"));
}

http::Page no_session(std::string_view name) {
    return {.type = "text/plain", .body = fmt::format("there is no session '{}'\n", name), .status = 404};
}

}  // namespace

/// POST /api/session/VERB, which asks for what `millpond fix sessions` does.
http::Page FixEngine::act(const http::Request& request, std::string_view authorization) {
    if (!request.path.starts_with(kActs)) return {};
    const auto verb = request.path.substr(kActs.size());
    if (auto refused = reload_page_.refusal(authorization, "a change of a session")) return *std::move(refused);
    const auto text = admin_request(verb, request);
    if (text.empty()) return {};
    auto body = answer(text);
    const unsigned status = body.starts_with(R"({"error")") ? 409 : 200;
    return {.type = "application/json", .body = std::move(body += "\n"), .status = status};
}

void FixEngine::serve_metrics() {
    http::Acts acts;
    if (reload_page_.is_enabled()) {
        acts = [this](const http::Request& request, std::string_view authorization) {
            auto page = act(request, authorization);
            return page.type.empty() ? reload_page_.act(request, authorization) : page;
        };
    }
    http_ = std::make_unique<http::Server>(
        http::Options{.name = "metrics", .listen = config_.metrics, .acts = std::move(acts)},
        [this](const http::Request& request) { return page(request); });
}

void FixEngine::serve_page(const WebConfig& web) {
    http::Acts acts;
    if (reload_page_.is_enabled()) {
        // No reload: it renews this server, whose thread would wait for it.
        acts = [this](const http::Request& request, std::string_view authorization) {
            return act(request, authorization);
        };
    }
    // Any local user reaches a server without authentication, and messages are not for all of them.
    const bool has_messages = !web.token.empty() || !web.tls.authorities.empty();
    page_files_.push_back(service::FileHashes{}.of(files_read(web)));
    pages_.push_back(std::make_unique<http::Server>(
        http::Options{
            .name = "fix-web",
            .listen = web.listen,
            .token = service::Token{web.token},
            .tls = tls_of(web),
            // An action needs the admin token instead.
            .is_open = [](std::string_view path) { return find_asset(path) != nullptr || path.starts_with(kActs); },
            .acts = std::move(acts),
            .on_refused =
                [this](std::string_view peer, std::string_view reason) {
                    log_->say(service::Severity::warning, "fix-web.refused",
                              fmt::format("fix-web: refused {}: {}", peer, reason));
                }},
        [this, has_messages](const http::Request& request) {
            const auto* asset = find_asset(request.path);
            if (asset != nullptr) return http::page_of(*asset, request);
            return request.path == "/api/messages" ? messages(request, has_messages) : page(request);
        }));
}

http::Page FixEngine::session(const http::Request& request) {
    const auto name = request.parameter("name").value_or("");
    const auto all = reports();
    const auto known = std::ranges::find(all, name, [](const SessionReport& one) -> auto& { return one.status.name; });
    const auto details = known == all.end() ? nullptr : sessions_->details(name);
    return details == nullptr ? no_session(name) : session_page(*known, *details);
}

http::Page FixEngine::messages(const http::Request& request, bool may_read) {
    if (!may_read) {
        return {
            .type = "text/plain", .body = "messages need authentication: set token_file of [[web]]\n", .status = 403};
    }
    const auto name = request.parameter("session").value_or("");
    const auto limit = request.number("limit", kUsualMessages, 1, kMaxShownMessages);
    const auto all = sessions();
    const bool is_known = std::ranges::any_of(all, [&](const auto& session) { return session->name() == name; });
    const auto details = is_known ? sessions_->details(name) : nullptr;
    if (details == nullptr) return no_session(name);
    auto raw_log = config_.raw_log.file;
    if (!raw_log.empty() && config_.threads > 1) raw_log += fmt::format(".thread{}", details->thread);
    return messages_page(name, *details, raw_log, limit);
}

http::Page FixEngine::page(const http::Request& request) {
    if (auto page = history_.page(request); !page.type.empty()) return page;
    if (request.path == "/api/session") return session(request);
    const bool is_metrics = request.path == "/metrics";
    if (!is_metrics && request.path != "/health" && request.path != "/api/health") return {};
    const auto now = core::utc_nanos();
    const auto sessions = reports();
    const auto copies = replicas();
    const auto found = findings_.update(sessions, raw_log_losses(), now, copies);
    if (is_metrics) {
        return {.type = std::string{metrics::Registry::kContentType},
                .body = registry_.prometheus_text() + findings_metric(found)};
    }
    if (request.path == "/health") return {.type = "text/plain", .body = health_line(found), .good = is_good(found)};
    return {.type = "application/json",
            .body = health_json(sessions, found, listening(), started_utc_ns_, now, copies, reload_page_.is_enabled())};
}

std::string FixEngine::metrics_address() const { return http_ != nullptr ? http_->address().to_string() : ""; }

std::vector<std::string> FixEngine::page_addresses() const {
    std::vector<std::string> places;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
        places.push_back(
            fmt::format("{}://{}/", config_.webs[i].tls.empty() ? "http" : "https", pages_[i]->address().to_string()));
    }
    return places;
}

}  // namespace millpond::fixd
