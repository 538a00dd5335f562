#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/net/socket_address.hpp>

#include "gateway/health/last_error.hpp"
#include "gateway/health/monitor.hpp"
#include "gateway/sinks/consumer.hpp"
#include "gateway/sinks/kind.hpp"
#include "service/http/page.hpp"
#include "service/log.hpp"
#include "service/reloader.hpp"

namespace millpond::gateway {

using service::Reloaded;

/// The sinks of a gateway with their configurations: opens, replaces and closes them.
///
/// Threads: one at a time.
class SinkSet {
public:
    struct Options {
        std::set<std::string> rings;  ///< That run.
        mode_t file_mode{};           ///< Of files that sinks create.
        http::Pages pages;            ///< For sinks that serve the gateway's pages.
        /// A sink was added, not yet started, or is being removed, still open.
        std::function<void(const Consumer&)> added{};
        std::function<void(const Consumer&)> removed{};
    };

    SinkSet(Options options, service::Log& log);

    /// Lets each sink read the events that a dead gateway left in its ring; before the rings are opened.
    void rescue(const std::vector<SinkConfig>& sinks);
    /// Opens all of them. Throws for the first that cannot be opened.
    void open(const std::vector<SinkConfig>& sinks);
    void start();
    /// Stops all of them, and logs their accounts.
    void stop();

    /// Closes the sinks that `next` does not have, and opens those that are new or changed. Each takes what it needs
    /// before anything is closed, except for an output that its predecessor holds; a sink that cannot is refused, and
    /// the running sink of its name continues. Throws ConfigError, with nothing changed, for a secret or certificate
    /// that cannot be read. Sinks that follow a changed sink close and open with it.
    void replace(const std::vector<SinkConfig>& next, Reloaded& result);

    [[nodiscard]] const std::vector<std::unique_ptr<Consumer>>& consumers() const noexcept { return consumers_; }
    [[nodiscard]] std::vector<health::WatchedSink> watched() const;
    /// Address of the first sink of this kind; empty if there is none.
    [[nodiscard]] net::SocketAddress address_of(std::string_view kind) const;

private:
    /// A sink that a reload has closed.
    struct Closed {
        SinkConfig config;
        std::optional<RingPlace> stopped;
    };
    /// A sink that a reload will open.
    struct Candidate {
        SinkConfig config;
        std::unique_ptr<PreparedSink> prepared;
        bool opened{false};
        std::optional<RingPlace> replaced{};  ///< Where its predecessor has stopped.
    };

    [[nodiscard]] SinkHost host_of(const std::string& sink);
    [[nodiscard]] JournalSource journal(const std::string& name) const;
    [[nodiscard]] bool runs(std::string_view name) const;
    /// Joins it and adds it; does not start it.
    void adopt(Candidate& sink);
    /// followed: whether another sink takes its place.
    Closed close(std::size_t place, bool followed);
    /// goes_on: whether another sink passes on the remaining events.
    void log_account(const Consumer& sink, bool goes_on = false);
    /// Names of running sinks that a reload closes. kept: those whose new settings are refused.
    [[nodiscard]] std::set<std::string> gone(const std::vector<SinkConfig>& next,
                                             const std::set<std::string>& kept) const;
    /// Whether a sink that closes holds an output of this one.
    [[nodiscard]] bool waits(const SinkConfig& sink, const std::set<std::string>& gone) const;
    /// Opens sinks that can be opened while the old ones run; erases refused ones and returns their names.
    std::set<std::string> open_early(std::vector<Candidate>& wanted, const std::vector<SinkConfig>& next,
                                     Reloaded& result);
    void refuse(const SinkConfig& sink, std::string_view why, Reloaded& result) const;
    /// Opens, joins and starts it. Returns the error if that fails, with everything closed.
    [[nodiscard]] std::optional<std::string> run(Candidate& sink);

    Options options_;
    service::Log& log_;
    std::map<std::string, health::LastError> errors_;
    std::vector<SinkConfig> configs_;  // of consumers_, place by place
    std::vector<std::unique_ptr<Consumer>> consumers_;
};

}  // namespace millpond::gateway
