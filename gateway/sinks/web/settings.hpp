#pragma once

#include "gateway/json_lines/line_settings.hpp"

namespace millpond::gateway::web {

/// The page, and JSON lines to WebSocket clients: `[[web]]`.
struct Settings : LineSettings {
    Settings() {
        listen = net::SocketAddress::parse("127.0.0.1:9465");
        mode = Delivery::conflate;
        send_buffer = 128ULL * 1024;
    }
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::web
