#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/engine/acceptor.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/tls/context.hpp>

#include "src/engine/accept/guard_answers.hpp"
#include "src/engine/accept/roster.hpp"
#include "src/engine/io/accept_pause.hpp"
#include "src/engine/io/io_loop.hpp"
#include "src/engine/session/session_host.hpp"
#include "src/engine/store/store_keeper.hpp"

namespace millpond::engine {

/// The part of an acceptor on its I/O thread: accepts connections, reads their first message and passes them to their
/// sessions, which may run on other I/O threads.
class Acceptor::Listener final : public Participant,
                                 public Watcher,
                                 public ConnectionOwner,
                                 public HostObserver,
                                 public std::enable_shared_from_this<Listener> {
public:
    Listener(IoThread& io, const Options& options);
    ~Listener() override;
    void begin();
    void end();

    SessionHandle& add(SessionOptions session, Application& application, IoThread* on);
    void add_template(SessionOptions model, Application& application, std::size_t max_sessions,
                      std::function<bool(std::string_view name)> is_disabled);
    void remove(const SessionHandle& session);
    std::vector<std::shared_ptr<SessionHandle>> remove_template(const fix::SessionConfig& ids);

    void renew_tls(std::unique_ptr<tls::Context> context) noexcept { tls_ = std::move(context); }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] const Roster& roster() const noexcept { return roster_; }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    [[nodiscard]] IoThread& io() const noexcept { return *io_; }
    /// Ends a session, on its thread.
    void end(SessionHost& host);

    void on_ready(std::uint32_t events, core::Moment now) override;
    void on_ready(Connection& connection, core::Moment now) override;
    void on_signal(core::Moment now) override;
    std::int64_t on_timer(core::Moment now) override;
    void on_drain(core::Moment now, std::int64_t deadline_ns) override;
    void on_host_closed(Closed reason, core::Moment now) override;

private:
    /// A connection whose session is not known yet.
    struct PendingConnection {
        std::unique_ptr<Connection> connection;
        InputBuffer input;
        std::uint64_t number{0};              // identifies the connection in the answer of a guard
        std::shared_ptr<LogonGuard> guard{};  // guard that was asked; it has accepted the Logon unless `asked`
        bool asked{false};                    // the guard has not answered
        bool password_changed{false};         // the guard changed the password
    };
    struct Template {
        SessionOptions model;
        Application* application;
        std::size_t max_sessions;
        std::function<bool(std::string_view name)> is_disabled;
        std::vector<std::shared_ptr<SessionHost>> made;
    };

    /// Closes the oldest connections without a Logon if another one of `peer` would exceed a limit.
    void limit_pending(const net::SocketAddress& peer, core::Moment now);
    void pause_accepting(int error, core::Moment now);
    void add_pending(core::Descriptor socket, const net::SocketAddress& peer, core::Moment now);
    /// Reads the connection's input. Afterwards it may have a session, or have ended.
    void check(PendingConnection& pending, core::Moment now);
    /// Finds the session of the first message.
    void identify(PendingConnection& pending, core::Moment now);
    /// Access rules of the session that a Logon names, or that would be created for it.
    struct Access {
        std::shared_ptr<LogonGuard> guard{};  // null: there is no guard
        bool is_allowed{true};                // whether the peer's address is allowed
    };
    /// The session that a Logon names; null if there is none, or if a template matches more of the Logon's ids.
    [[nodiscard]] std::shared_ptr<SessionHost> session_of(const fix::Message& logon) const;
    [[nodiscard]] Access access_of(const fix::Message& logon, const net::SocketAddress& peer) const;
    void ask(PendingConnection& pending, const std::shared_ptr<LogonGuard>& guard, const fix::Message& logon);
    void apply_answers(core::Moment now);
    /// Whether a template matches the Logon.
    [[nodiscard]] static bool accepts(const Template& from, const fix::Message& logon);
    /// The wrong field of a Logon that names no session; see Roster::fault_of.
    [[nodiscard]] fix::Tag fault_of(const fix::Message& logon) const;
    /// Ends a session of a template. Its files are removed if it never logged on.
    void remove(SessionHost& host);
    /// Creates a session for a peer that a template matches, or returns the reason why it cannot.
    [[nodiscard]] std::expected<void, Refusal> make_by_template(const fix::Message& message, core::Moment now);
    /// Ends the session with this identity if a template created it. Call on the I/O thread.
    void remove_made(const fix::SessionConfig& identity);
    /// Removes a disconnected session of the template that loses nothing. Returns false if there is none.
    bool reclaim(Template& from, core::Moment now);
    /// Connects a claimed session, on its thread.
    static void connect(PendingConnection& pending, SessionHost& host, core::Moment now);
    void hand_to_session(PendingConnection& pending, const std::shared_ptr<SessionHost>& host, core::Moment now);
    /// Passes the connection to a session that seems to be connected, if its connection turns out to have ended.
    void hand_to_connected(PendingConnection& pending, const std::shared_ptr<SessionHost>& host, core::Moment now);
    void reject(PendingConnection& pending, const Refusal& why, core::Moment now);
    void count_refusal(const Refusal& why, const net::SocketAddress& peer);
    void remove_finished();
    void begin(SessionHost& host, HostObserver* observer);
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;

    IoThread* io_;
    IoLoop* loop_;
    Options options_;
    std::unique_ptr<tls::Context> tls_;
    std::size_t slot_{0};
    bool ended_{false};
    core::Descriptor socket_;
    std::uint16_t port_{0};
    fix::Parser parser_;
    std::vector<std::unique_ptr<PendingConnection>> pending_;
    std::uint64_t questions_{0};  // number of questions to guards
    std::shared_ptr<GuardAnswers> answers_{std::make_shared<GuardAnswers>()};
    LingeringConnections lingering_;
    AcceptPause pause_;
    std::vector<Template> templates_;
    Counters counters_;
    std::string fault_text_;  // why the latest store could not be opened
    StoreKeeper keeper_;
    Roster roster_;
};

}  // namespace millpond::engine
