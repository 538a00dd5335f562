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

#include "gateway/health/monitor.hpp"
#include "gateway/sinks/consumer.hpp"
#include "gateway/sinks/kind.hpp"
#include "service/http/page.hpp"
#include "service/last_error.hpp"
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
        std::set<std::string> rings;  ///< Names of the running rings.
        mode_t file_mode{};           ///< Permissions of files that sinks create.
        http::Pages pages;            ///< The gateway's pages, for sinks that serve them.
        http::Acts acts{};            ///< Disconnects clients; empty without an admin token.
        /// Callbacks: `added` is called before a sink starts, `removed` before it stops.
        std::function<void(const Consumer&)> added{};
        std::function<void(const Consumer&)> removed{};
        std::function<void(const std::string& ring)> request_books{};  ///< See SinkHost.
    };

    SinkSet(Options options, service::Log& log);

    /// Passes events that a dead gateway left in a ring to the sinks; call it before the rings are opened.
    void rescue(const std::vector<SinkConfig>& sinks);
    /// Opens the sinks. Throws for the first one that cannot be opened.
    void open(const std::vector<SinkConfig>& sinks);
    void start();
    /// Stops the sinks and logs their accounts.
    void stop();

    /// Closes the sinks that `next` does not have, and opens new sinks and those with a changed setting, secret or
    /// certificate. Each opens before anything is closed, except for an output that its predecessor holds. A sink that
    /// cannot be opened is refused, and the running sink of its name continues. Sinks that follow a changed sink close
    /// and open with it. Throws ConfigError, with nothing changed, for a secret or certificate that cannot be read.
    void replace(const std::vector<SinkConfig>& next, Reloaded& result);

    [[nodiscard]] const std::vector<std::unique_ptr<Consumer>>& consumers() const noexcept { return consumers_; }
    [[nodiscard]] std::vector<health::WatchedSink> watched() const;
    /// Address of the first sink of this kind; empty if there is none.
    [[nodiscard]] net::SocketAddress address_of(std::string_view kind) const;

private:
    /// A sink's settings, and the hashes of the files that it read.
    struct Setup {
        SinkConfig config;
        std::string files;  ///< Result of FileHashes::of for these files.
        friend bool operator==(const Setup&, const Setup&) = default;
    };
    /// A sink that a reload has closed.
    struct Closed {
        SinkConfig config;
        std::optional<RingPlace> stopped;
    };
    /// A sink that a reload will open.
    struct Candidate {
        SinkConfig config;
        std::string files;
        std::unique_ptr<PreparedSink> prepared;
        bool opened{false};
        std::optional<RingPlace> replaced{};  ///< Position at which its predecessor stopped.
    };

    [[nodiscard]] SinkHost host_of(const std::string& sink);
    [[nodiscard]] JournalSource journal(const std::string& name) const;
    [[nodiscard]] bool runs(std::string_view name) const;
    /// Joins the ring and adds the sink, without starting it.
    void adopt(Candidate& sink);
    /// Closes a sink. followed: whether another sink replaces it.
    Closed close(std::size_t place, bool followed);
    /// Logs a sink's account. replaced: whether another sink passes on the remaining events.
    void log_account(const Consumer& sink, bool replaced = false);
    /// Names of running sinks that a reload closes. kept: names of sinks whose new settings are refused.
    [[nodiscard]] std::set<std::string> gone(const std::vector<Setup>& next, const std::set<std::string>& kept) const;
    /// Whether a sink that is about to close holds an output of this one.
    [[nodiscard]] bool waits(const SinkConfig& sink, const std::set<std::string>& gone) const;
    /// Opens sinks that can be opened while the old ones run. Erases refused sinks and returns their names.
    std::set<std::string> open_early(std::vector<Candidate>& wanted, const std::vector<Setup>& next, Reloaded& result);
    void refuse(const SinkConfig& sink, std::string_view why, Reloaded& result) const;
    /// Opens, joins and starts a sink. Returns the error if that fails, with everything closed.
    [[nodiscard]] std::optional<std::string> run(Candidate& sink);

    Options options_;
    service::Log& log_;
    std::map<std::string, service::LastError> errors_;
    std::vector<Setup> setups_;  // parallel to consumers_
    std::vector<std::unique_ptr<Consumer>> consumers_;
};

}  // namespace millpond::gateway
