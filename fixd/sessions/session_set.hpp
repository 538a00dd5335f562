#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/raw_log.hpp>
#include <millpond/engine/replica_server.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/secret_mask.hpp>
#include <millpond/metrics/registry.hpp>
#include <millpond/tls/context.hpp>

#include "fixd/accept/authenticator.hpp"
#include "fixd/admin/session_admin.hpp"
#include "fixd/drop_copy/drop_copies.hpp"
#include "fixd/sessions/disabled_sessions.hpp"
#include "fixd/sessions/session_log.hpp"
#include "fixd/settings/dictionaries.hpp"
#include "fixd/settings/engine_config.hpp"
#include "fixd/settings/session_build.hpp"
#include "service/file_hashes.hpp"
#include "service/log.hpp"
#include "service/reloader.hpp"

namespace millpond::fixd {

/// The settings of a session, and what its messages are printed with.
struct SessionDetails {
    SessionSettings settings;                     ///< Of its template, if it was created by one.
    std::filesystem::path store;                  ///< Empty: in memory.
    std::size_t thread;                           ///< Number of its I/O thread.
    std::vector<const fix::Dictionary*> printed;  ///< Dictionaries for FixPrinter.
    fix::SecretTags secrets;
    std::shared_ptr<const Dictionaries> dictionaries;  ///< Has those dictionaries.
};

/// Creates the application of a session, or of all sessions of a template. application: as Dictionaries::Pair has it.
using Applications = std::function<std::unique_ptr<engine::Application>(const SessionSettings& session,
                                                                        const fix::Dictionary* application)>;

/// The acceptors and sessions of an engine with their settings: opens, replaces and removes them.
///
/// Threads: open and replace on one at a time; sessions and listening on any.
class SessionSet {
public:
    struct Options {
        std::span<const std::unique_ptr<engine::IoThread>> threads;
        std::span<const std::unique_ptr<engine::RawLog>> raw_logs;  ///< One for each thread, or none.
        bool quiet{false};
        std::vector<fix::Tag> mask_tags{};  ///< Fields whose values are not logged, in addition to secrets of sessions.
        metrics::Registry* registry;        ///< Outlives this, as the next.
        SessionRecords* records;
        SessionEvents* events;
        Authenticator* authenticator;
        DisabledSessions* disabled;
        /// Receives the sessions' stores until they are promoted. Null: the sessions run here.
        engine::ReplicaServer* replicas{nullptr};
        /// Called when a session is removed: release its handle, so that its store can be opened again.
        std::function<void(const engine::SessionHandle&)> removed{};
    };

    SessionSet(Options options, Applications applications, service::Log& log);
    ~SessionSet();
    SessionSet(const SessionSet&) = delete;
    SessionSet& operator=(const SessionSet&) = delete;

    /// Opens all acceptors and sessions. Throws if an address, a file or a certificate cannot be used.
    void open(const EngineConfig& config);
    /// Removes acceptors and sessions that `next` does not have, and adds new ones. A session with changed settings, or
    /// changed contents of a secret, certificate or dictionary, is replaced: it logs out, keeps its sequence numbers,
    /// and stays disabled if an operator disabled it. A session created by a template logs out if `next` configures it.
    /// Other sessions are not touched. Changes of an acceptor are refused. Throws, with nothing changed, if an address,
    /// a file or a certificate cannot be used. Waits for Logouts up to each session's timeout.
    void replace(const EngineConfig& next, service::Reloaded& result);

    /// Runs a session from the standby's copy of its store, or again after another machine took over. Returns the
    /// error, or an empty string. name: the whole name.
    [[nodiscard]] std::string promote(std::string_view name, bool force);
    /// Whether another machine has taken over sessions whose standby this engine could be. On any thread.
    [[nodiscard]] bool has_superseded() const;
    /// Makes this engine the standby of these sessions. Threads: as replace.
    void stand_by_for_superseded();

    /// What does not change while a session runs. Null if there is none with this name. On any thread.
    [[nodiscard]] std::shared_ptr<const SessionDetails> details(std::string_view name) const;
    /// All sessions, including those created by templates.
    [[nodiscard]] SessionList sessions() const;
    /// ADDRESS:PORT of each acceptor.
    [[nodiscard]] std::vector<std::string> listening() const;
    /// reports and watch: on any thread; settle: once all sessions are drained.
    [[nodiscard]] DropCopies& drop_copies() noexcept { return drop_copies_; }

private:
    struct Opened {
        AcceptorConfig config;
        std::unique_ptr<AcceptorLog> log;
        std::unique_ptr<engine::Acceptor> acceptor;
        std::vector<metrics::Registration> registrations;
        std::string files;  // FileHashes::of its TLS files
    };
    /// TLS files of an acceptor, read again.
    struct Renewal {
        Opened* opened;
        std::string files;
        std::unique_ptr<tls::Context> context;
    };
    /// A session that is ready to be added: all its files are read.
    struct Prepared {
        SessionSettings settings;
        std::string files;  // FileHashes::of those that it reads
        std::size_t thread;
        std::shared_ptr<Dictionaries> dictionaries;
        engine::SessionOptions options;
        std::optional<engine::Initiator::Options> initiator;
        bool replaces_dynamic;  // from a session created by a template
    };
    struct Placed {
        SessionSettings settings;
        std::string files;
        std::size_t thread;
        std::shared_ptr<Dictionaries> dictionaries;
        std::unique_ptr<engine::Application> application;
        std::unique_ptr<SessionLog> log;
        engine::Acceptor* acceptor;                      // null: the initiator has it
        std::shared_ptr<engine::SessionHandle> session;  // null: a template, or waiting for its promotion
        std::unique_ptr<Prepared> waiting{};             // until it is promoted
    };
    /// A session that is to log out and be removed.
    struct Ending {
        engine::Acceptor* acceptor;                      // null: the initiator has it
        std::shared_ptr<engine::SessionHandle> session;  // null: none
        std::chrono::nanoseconds logout;                 // its timeout
    };
    using Place = std::vector<std::unique_ptr<Placed>>::iterator;

    [[nodiscard]] Prepared prepare(const SessionSettings& settings, std::size_t thread,
                                   const std::shared_ptr<Dictionaries>& dictionaries,
                                   service::FileHashes& hashes) const;
    [[nodiscard]] std::unique_ptr<Opened> open_acceptor(const AcceptorConfig& config,
                                                        service::FileHashes& hashes) const;
    /// Reads changed TLS files; without a context if they are unchanged. Throws if they cannot be used.
    [[nodiscard]] static Renewal renewal_of(Opened& opened, service::FileHashes& hashes);
    void log_warnings(const Dictionaries& dictionaries);
    void add(Prepared prepared);
    void run(Prepared prepared);
    void add_details(const Prepared& prepared, const fix::SecretTags& secrets);
    [[nodiscard]] bool wait_as_standby(Prepared& prepared);
    void add_when_free(const Prepared& prepared);
    [[nodiscard]] Place find(const SessionSettings& settings);
    void add_new(std::vector<std::unique_ptr<Opened>> acceptors, std::vector<Prepared> sessions,
                 service::Reloaded& result);
    void switch_enabled(Placed& placed, bool enabled, service::Reloaded& result);
    /// Logs sessions out and removes them. Returns the last status of each; nullopt for a template.
    std::vector<std::optional<engine::SessionStatus>> remove(std::vector<std::unique_ptr<Placed>> leaving,
                                                             const char* reason);
    std::vector<std::optional<engine::SessionStatus>> end(std::vector<Ending> endings, const char* reason);
    void end_template_sessions(std::vector<Prepared>& added);
    void remove_session(engine::Acceptor* acceptor, std::shared_ptr<engine::SessionHandle> session);
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
    mutable std::mutex lock_;  // protects the following, which other threads read, and the initiator's list
    std::map<std::string, std::shared_ptr<const SessionDetails>, std::less<>> details_;  // templates as NAME->*
    std::vector<std::unique_ptr<Opened>> acceptors_;
    std::unique_ptr<engine::Initiator> initiator_;
};

}  // namespace millpond::fixd
