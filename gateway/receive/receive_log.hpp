#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <millpond/net/receive_options.hpp>

#include "gateway/receive/notice.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/settings/config.hpp"
#include "service/log.hpp"

namespace millpond::gateway {

/// Logs what receive threads opened, their notices and their losses.
///
/// Threads: one.
class ReceiveLog {
public:
    explicit ReceiveLog(service::Log& log) : log_(log) {}

    /// Logs what the kernel granted for a ring's memory and its feeds' sockets.
    void opened(const Pipeline& pipeline);
    /// Logs the notices and new losses.
    void watch(Pipeline& pipeline);

private:
    void opened(const FeedConfig& config, std::string_view line, const net::ReceiveReport& got);
    void log(const Pipeline& pipeline, const Notice& notice);
    void log_gap(const Pipeline& pipeline, const std::string& feed, const Notice& notice);
    void log_losses(Pipeline& pipeline);
    void log_connection(const Feed& feed, const net::SoupBinClient& client);
    void log_full_table(const Feed& feed, const FeedTable& table);
    /// Increase of the count named `of` since the last call.
    [[nodiscard]] std::uint64_t growth(const std::string& of, std::uint64_t value);

    service::Log& log_;
    std::map<std::string, std::uint64_t> seen_;
};

}  // namespace millpond::gateway
