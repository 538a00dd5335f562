#pragma once

#include "gateway/json_lines/line_settings.hpp"

namespace millpond::gateway::tcp {

/// JSON lines to TCP clients: `[[tcp]]`.
struct Settings : LineSettings {
    Settings() {
        listen = net::SocketAddress::parse("127.0.0.1:9100");
        send_buffer = 256ULL * 1024;
    }
    friend bool operator==(const Settings&, const Settings&) = default;

    [[nodiscard]] static const SinkKind& kind() noexcept;
};

}  // namespace millpond::gateway::tcp
