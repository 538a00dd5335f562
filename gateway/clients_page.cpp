#include "gateway/clients_page.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/json_string.hpp>
#include <millpond/core/moment.hpp>

#include "gateway/sinks/client_list.hpp"
#include "gateway/sinks/kind.hpp"

namespace millpond::gateway {
namespace {

using core::json_string;

std::string json_of(const ClientState& client, const std::string& sink) {
    const auto& account = client.account;
    return fmt::format(
        R"({{"sink":{},"id":{},"peer":{},"name":{},"connected":{},"delivered_per_second":{:.1f},"lag_ns":{},)"
        R"("published":{},"delivered":{},"filtered":{},"conflated":{},"missed":{},"queued":{}}})",
        json_string(sink), client.id, json_string(client.peer), json_string(client.name), client.connected_utc_ns,
        client.delivered_per_second, client.lag_ns, account.published, account.delivered, account.filtered,
        account.conflated, account.missed, account.queued);
}

}  // namespace

http::Page ClientsPage::page(const http::Request& request) const {
    if (request.path != "/api/clients") return {};
    const auto state = state_();
    std::string list;
    for (const auto& sink : state->sinks) {
        if (sink.client_list == nullptr) continue;
        for (const auto& client : *sink.client_list->clients())
            list += (list.empty() ? "" : ",") + json_of(client, sink.name);
    }
    return {.type = "application/json",
            .body = fmt::format("{{\"now\":{},\"clients\":[{}]}}\n", state->now + state->utc_offset_ns, list)};
}

http::Page ClientsPage::disconnect(const http::Request& request, std::string_view authorization) const {
    if (request.path != kDisconnectPath) return {};
    if (auto refused = admin_.refusal(authorization, "a disconnect")) return *std::move(refused);
    const auto name = request.parameter("sink");
    const auto id = request.number("id", 0);
    if (!name || id == 0) throw http::BadRequest("'sink' and 'id' must name a client of /api/clients");
    const auto state = state_();
    for (const auto& sink : state->sinks) {
        if (sink.name != *name || sink.client_list == nullptr) continue;
        const auto peer = sink.client_list->disconnect(id);
        if (peer.empty()) break;
        const auto text = fmt::format("an operator disconnects client {}", peer);
        log_.info("disconnect " + peer, "admin: sink '{}': {}", sink.name, text);
        events_.add({.kind = service::EventKind::disconnect,
                     .severity = service::Severity::info,
                     .source = fmt::format("sink '{}'", sink.name),
                     .text = text,
                     .part = 1},  // not summed up with clients that leave
                    core::MomentClock{}.now());
        return {.type = "text/plain", .body = fmt::format("{} is disconnected\n", peer)};
    }
    return {.type = "text/plain", .body = "no such client\n", .status = 404};
}

}  // namespace millpond::gateway
