#include "fixd/copy_routes.hpp"

#include <algorithm>

namespace millpond::fixd {
namespace {

constexpr std::string_view kSessionTypes = "012345A";
constexpr std::string_view kTypeField =
    "\x01"
    "35=";

bool is_session_message(std::string_view type) noexcept {
    return type.size() == 1 && kSessionTypes.find(type.front()) != std::string_view::npos;
}

bool has(const CopyRoutes::Route& route, std::string_view type) noexcept {
    return std::ranges::any_of(route.types, [&](const auto& one) { return one == type || one == "*"; });
}

/// MsgType is the third field.
std::string_view type_of(std::string_view message) noexcept {
    const auto begin = message.find(kTypeField);
    if (begin == std::string_view::npos) return {};
    const auto value = message.substr(begin + kTypeField.size());
    return value.substr(0, value.find('\x01'));
}

}  // namespace

void CopyRoutes::on_sent(const fix::Session& session, std::string_view message) const noexcept {
    if (routes_.empty()) return;
    const auto type = type_of(message);
    if (is_session_message(type)) return;
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
