#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/raw_log.hpp>
#include <millpond/engine/replica_server.hpp>
#include <millpond/metrics/registry.hpp>

#include "fixd/accept/authenticator.hpp"
#include "fixd/admin/session_admin.hpp"
#include "fixd/drop_copy/drop_copies.hpp"
#include "fixd/engine_config.hpp"
#include "fixd/sessions/disabled_sessions.hpp"
#include "fixd/sessions/session_build.hpp"
#include "fixd/sessions/session_log.hpp"
#include "service/log.hpp"
#include "service/reloader.hpp"

namespace millpond::fixd {

/// Makes the application of a session, or of the sessions of a template; application as in Dictionaries::Pair.
using Applications = std::function<std::unique_ptr<engine::Application>(const SessionSettings& session,
                                                                        const fix::Dictionary* application)>;

/// The acceptors and sessions of an engine with their settings: opens, replaces and removes them.
///
/// Threads: open and replace on one at a time; sessions and listening on any.
class SessionSet {
public:
    struct Options {
        std::span<const std::unique_ptr<engine::IoThread>> threads;
        std::span<const std::unique_ptr<engine::RawLog>> raw_logs;  ///< By thread, or none.
        bool quiet{false};
        metrics::Registry* registry;  ///< Outlives this, as the next.
        SessionRecords* records;
        Authenticator* authenticator;
        DisabledSessions* disabled;  ///< By operators.
        /// Holds the sessions' stores until they are promoted. Null: they run.
        engine::ReplicaServer* replicas{nullptr};
        /// A session was taken away: who keeps its handle lets go of it, so that its store can be opened again.
        std::function<void(const engine::SessionHandle&)> removed{};
    };

    SessionSet(Options options, Applications applications, service::Log& log);
    ~SessionSet();
    SessionSet(const SessionSet&) = delete;
    SessionSet& operator=(const SessionSet&) = delete;

    /// Adds all that the configuration has. Throws what cannot be had: an address, a file, a certificate.
    void open(const EngineConfig& config);
    /// Removes the acceptors and sessions that `next` does not have and adds those that are new. A session with other
    /// settings is replaced: it logs out, keeps its numbers, and keeps whether an operator disabled it. All others are
    /// not touched, but that a session which a template made logs out where it gets settings of its own. A changed
    /// acceptor is refused. Throws, with nothing changed, for what `next` names and cannot be had. Waits for the
    /// Logouts, each as long as its session does.
    void replace(const EngineConfig& next, service::Reloaded& result);

    /// Has a session run from the standby's copy of its store, or again after another machine took over from it. Gives
    /// the error, or empty. name: in full.
    [[nodiscard]] std::string promote(std::string_view name, bool force);
    /// Whether there are sessions that another machine took over though this engine could hold their copies. On any
    /// thread.
    [[nodiscard]] bool has_superseded() const;
    /// Makes this engine the standby of these. As replace.
    void stand_by_for_superseded();

    /// Those by template too.
    [[nodiscard]] SessionList sessions() const;
    /// ADDRESS:PORT of each acceptor.
    [[nodiscard]] std::vector<std::string> listening() const;
    /// On any thread: the reports and the log; once all sessions are drained, `settle`.
    [[nodiscard]] DropCopies& drop_copies() noexcept { return drop_copies_; }

private:
    struct Opened {
        AcceptorConfig config;
        std::unique_ptr<AcceptorLog> log;
        std::unique_ptr<engine::Acceptor> acceptor;
        std::vector<metrics::Registration> registrations;
        std::size_t tls_contents{0};  // hash of its TLS files
    };
    /// New contents of the TLS files of an acceptor.
    struct Renewal {
        Opened* opened;
        std::size_t contents;
        std::unique_ptr<engine::TlsContext> context;
    };
    /// Everything that adding a session takes, from files that were read.
    struct Prepared {
        SessionSettings settings;
        std::size_t thread;
        std::shared_ptr<Dictionaries> dictionaries;
        engine::SessionOptions options;
        std::optional<engine::Initiator::Options> initiator;
        bool takes_over;  // from a session that a template made
    };
    struct Placed {
        SessionSettings settings;
        std::size_t thread;
        std::shared_ptr<Dictionaries> dictionaries;
        std::unique_ptr<engine::Application> application;
        std::unique_ptr<SessionLog> log;
        engine::Acceptor* acceptor;                      // null: the initiator has it
        std::shared_ptr<engine::SessionHandle> session;  // null: a template, or it waits
        std::unique_ptr<Prepared> waiting{};             // for its promotion
    };
    /// A session that is to log out and go.
    struct Ending {
        engine::Acceptor* acceptor;                      // null: the initiator has it
        std::shared_ptr<engine::SessionHandle> session;  // null: there is none
        std::chrono::seconds logout;                     // its timeout
    };
    using Place = std::vector<std::unique_ptr<Placed>>::iterator;

    [[nodiscard]] Prepared prepare(const SessionSettings& settings, std::size_t thread,
                                   const std::shared_ptr<Dictionaries>& dictionaries) const;
    [[nodiscard]] std::unique_ptr<Opened> open_acceptor(const AcceptorConfig& config) const;
    /// Throws if the files are new and cannot be used. Without a context if they are not new.
    [[nodiscard]] static Renewal renewal_of(Opened& opened);
    void add(Prepared prepared);
    void run(Prepared prepared);
    [[nodiscard]] bool wait_as_standby(Prepared& prepared);
    void add_when_free(const Prepared& prepared);
    [[nodiscard]] Place find(const SessionSettings& settings);
    void add_new(std::vector<std::unique_ptr<Opened>> acceptors, std::vector<Prepared> sessions,
                 service::Reloaded& result);
    void switch_enabled(Placed& placed, bool enabled, service::Reloaded& result);
    /// Ends their connections by a Logout where they are logged on, then takes them away. Gives the last status of
    /// each, but for templates.
    std::vector<std::optional<engine::SessionStatus>> remove(std::vector<std::unique_ptr<Placed>> leaving,
                                                             const char* reason);
    std::vector<std::optional<engine::SessionStatus>> end(std::vector<Ending> endings, const char* reason);
    void end_those_by_template(std::vector<Prepared>& added);
    void take_away(engine::Acceptor* acceptor, std::shared_ptr<engine::SessionHandle> session);
    void replace_changed(std::vector<Prepared> changed, service::Reloaded& result);
    [[nodiscard]] std::size_t producer_of(const Placed& placed) const noexcept;
    void reroute_copies();
    void attach_copies();

    Options options_;
    Applications applications_;
    service::Log* log_;
    std::string dictionaries_;  // the folder
    DropCopies drop_copies_;
    std::vector<std::unique_ptr<Placed>> placed_;
    mutable std::mutex lock_;  // of what other threads look at: acceptors_ and the initiator's list
    std::vector<std::unique_ptr<Opened>> acceptors_;
    std::unique_ptr<engine::Initiator> initiator_;
};

}  // namespace millpond::fixd
