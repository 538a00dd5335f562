#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <millpond/core/moment.hpp>
#include <millpond/net/receive_options.hpp>

#include "gateway/receive/notice.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/settings/config.hpp"
#include "service/event_log.hpp"
#include "service/log.hpp"

namespace millpond::gateway {

/// Logs what receive threads opened, their notices and their losses; gaps and sessions also as events.
///
/// Threads: one.
class ReceiveLog {
public:
    ReceiveLog(service::Log& log, service::EventLog& events) : log_(log), events_(events) {}

    /// Logs what the kernel granted for a ring's memory and its feeds' sockets.
    void opened(const Pipeline& pipeline);
    /// Logs the notices and new losses.
    void watch(Pipeline& pipeline, core::Moment now);

private:
    void opened(const FeedConfig& config, std::string_view line, const net::ReceiveReport& got);
    void log(const Pipeline& pipeline, const Notice& notice, core::Moment now);
    void log_gap(const Pipeline& pipeline, const std::string& feed, const Notice& notice, core::Moment now);
    void log_losses(Pipeline& pipeline, core::Moment now);
    void log_connection(const Feed& feed, const net::SoupBinClient& client);
    void log_full_table(const Feed& feed, const FeedTable& table);
    /// Increase of the count named `of` since the last call.
    [[nodiscard]] std::uint64_t growth(const std::string& of, std::uint64_t value);

    service::Log& log_;
    service::EventLog& events_;
    std::map<std::string, std::uint64_t> seen_;
};

}  // namespace millpond::gateway
