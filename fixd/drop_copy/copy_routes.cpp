#include "fixd/drop_copy/copy_routes.hpp"

#include <algorithm>

#include <millpond/fix/msg_type.hpp>

namespace millpond::fixd {
namespace {

bool has(const CopyRoutes::Route& route, std::string_view type) noexcept {
    return std::ranges::any_of(route.types, [&](const auto& one) { return one == type || one == "*"; });
}

}  // namespace

void CopyRoutes::on_sent(const fix::Session& session, std::string_view message) const noexcept {
    if (routes_.empty()) return;
    const auto type = fix::msg_type_of(message);
    if (fix::is_session_message(type)) return;
    for (const auto& route : routes_) {
        if (has(route, type)) route.copy->offer_sent(producer_, session, message);
    }
}

void CopyRoutes::on_received(const fix::Session& session, const fix::Message& message) const noexcept {
    for (const auto& route : routes_) {
        if (has(route, message.msg_type())) route.copy->offer_received(producer_, session, message);
    }
}

}  // namespace millpond::fixd
