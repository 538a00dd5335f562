#pragma once

#include <optional>
#include <string>

#include "gateway/settings/config.hpp"

namespace millpond::gateway {

/// What a reload looks at before it closes a sink for new settings: whether those can be had. A file or an address that
/// a sink of today uses is not looked at, for it is closed first.
class ReloadCheck {
public:
    /// now: what runs.
    explicit ReloadCheck(const Config& now) : now_(now) {}

    /// Why the sink could not be opened; nothing when nothing speaks against it.
    template <class Settings>
    [[nodiscard]] std::optional<std::string> obstacle(const Settings& sink) const;

private:
    void look_at(const JournalConfig& sink) const;
    void look_at(const KafkaConfig& sink) const;
    void look_at(const TcpConfig& sink) const;
    void look_at(const WebConfig& sink) const;
    void look_at(const CsvConfig& sink) const;
    void look_at(const UdpConfig& sink) const;
    void look_at(const MqttConfig&) const {}
    void look_at_ring(const std::string& ring) const;
    void look_at_address(const net::SocketAddress& listen) const;

    const Config& now_;
};

}  // namespace millpond::gateway
