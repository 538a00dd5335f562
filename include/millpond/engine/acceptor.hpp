#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/engine/allow_list.hpp>
#include <millpond/engine/application.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/refusal.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/metrics/registry.hpp>
#include <millpond/tls/context.hpp>

namespace millpond::engine {

/// Receives refused connections of an acceptor, and removed sessions of its templates.
///
/// Threads: the acceptor's I/O thread.
class AcceptorObserver {
public:
    virtual void on_refused(const Refusal& why) { static_cast<void>(why); }
    /// Called when a disconnected session of a template was removed for a new one.
    virtual void on_reclaimed(const std::string& session) { static_cast<void>(session); }

protected:
    ~AcceptorObserver() = default;
};

/// Accepts connections of FIX counterparties and hands them to their sessions, which it finds by the BeginString and
/// CompIDs of the Logon. A connection without a session, or for a session that is connected already, is closed without
/// a reply.
///
/// Threads: constructed, used and destroyed on one thread, which may be the I/O thread's or any other; its work is done
///          on the I/O threads.
/// Memory:  a small buffer for each connection that has not sent its Logon, bounded in number; each session's buffers
///          are allocated when it is added.
/// Source:  tcp(7).
class Acceptor {
public:
    struct Options {
        std::string address{"127.0.0.1"};
        std::uint16_t port{0};             ///< 0: any free port.
        std::size_t max_connections{256};  ///< Maximum number of connections, with or without a session.
        /// Maximum number of connections without a Logon; beyond it, the oldest is closed.
        std::size_t max_before_logon{64};
        std::size_t max_before_logon_per_address{
            16};                                ///< Maximum number of connections without a Logon from one address.
        std::size_t first_message_bytes{4096};  ///< Maximum length of a Logon; a longer one is refused.
        std::chrono::milliseconds first_message_timeout{10'000};
        AllowList allowed{};                  ///< Addresses that may connect; others are closed at once.
        AcceptorObserver* observer{nullptr};  ///< Must outlive the acceptor; may be null.
        std::optional<tls::Options> tls{};
    };

    /// Starts to listen. Throws std::system_error that names address and port.
    Acceptor(IoThread& io, const Options& options);
    ~Acceptor();
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;

    /// Adds a session. application: outlives the acceptor. on: the thread that runs the session; null: the acceptor's.
    /// Throws std::invalid_argument for a second session with the same ids or a store that is too small for its
    /// messages.
    SessionHandle& add(SessionOptions session, Application& application, IoThread* on = nullptr);

    /// Creates a session from `model` for each unknown counterparty, with its id as TargetCompID. A session whose peer
    /// never logged on is removed with its connection. Beyond `max_sessions`, the disconnected session that connected
    /// longest ago is removed, if it has no sender and loses nothing: its store is in a file, or its scheduled period
    /// is over. model.store.file is the folder of the stores, one file per id; ids with characters other than letters,
    /// digits, '-', '_' and '.' are refused. is_disabled: called on the I/O thread with the name of each new session;
    /// if it returns true, the session starts disabled. Not set: as in `model`.
    void add_template(SessionOptions model, Application& application, std::size_t max_sessions,
                      std::function<bool(std::string_view name)> is_disabled = {});

    /// Removes a session and closes its connection without a Logout. Destroy its senders first. Its handle ignores
    /// later requests. Does nothing for a session of another acceptor.
    void remove(const SessionHandle& session);
    /// Removes the template with these ids. Returns the sessions that it has created; they stay until `remove`.
    std::vector<std::shared_ptr<SessionHandle>> remove_template(const fix::SessionConfig& ids);

    /// Replaces the keys and rules of TLS for new connections, for an acceptor with TLS.
    void renew_tls(std::unique_ptr<tls::Context> context);

    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Number of sessions that have a connection.
    [[nodiscard]] std::size_t connected() const;
    /// All sessions, including those created from a template.
    [[nodiscard]] std::vector<std::shared_ptr<SessionHandle>> sessions() const;

    struct Counters {
        core::Tally accepted;           ///< Accepted connections.
        core::Tally not_allowed;        ///< Closed: the address is not on the list.
        core::Tally unknown;            ///< Closed: the first message was not a Logon for one of the sessions.
        core::Tally duplicate;          ///< Closed: the session is connected already.
        core::Tally full;               ///< Closed: too many connections, or too many sessions of the template.
        core::Tally silent;             ///< Closed: no first message in time.
        core::Tally handshakes_failed;  ///< Closed: the TLS handshake failed.
        core::Tally not_admitted;       ///< Closed: the session's guard refused it.
        core::Tally no_store;           ///< Closed: the store of a new session could not be opened.
        core::Tally reclaimed;          ///< Sessions of templates that were removed for new ones.
    };
    [[nodiscard]] const Counters& counters() const noexcept;
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;

private:
    class Listener;
    std::shared_ptr<Listener> listener_;
};

}  // namespace millpond::engine
