#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <millpond/net/udp_receiver.hpp>

#include "gateway/receive/notice.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/settings/config.hpp"
#include "service/log.hpp"

namespace millpond::gateway {

/// Logs what receive threads opened, noticed and lost.
///
/// Threads: one.
class ReceiveLog {
public:
    explicit ReceiveLog(service::Log& log) : log_(log) {}

    /// Logs what was obtained for a ring's memory and its feeds' sockets.
    void opened(const Pipeline& pipeline);
    /// Logs the notices, and checks the counters of losses.
    void watch(Pipeline& pipeline);

private:
    void opened(const FeedConfig& config, std::string_view line, const net::UdpReceiver::Report& got);
    void say(const Pipeline& pipeline, const Notice& notice);
    void say_gap(const std::string& feed, const Notice& notice);
    void say_losses(Pipeline& pipeline);
    void say_full(const Feed& feed, const FeedTable& table);
    /// The growth of a count since the last call for it.
    [[nodiscard]] std::uint64_t growth(const std::string& of, std::uint64_t value);

    service::Log& log_;
    std::map<std::string, std::uint64_t> seen_;
};

}  // namespace millpond::gateway
