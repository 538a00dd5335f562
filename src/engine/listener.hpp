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

#include "accept_pause.hpp"
#include "guard_answers.hpp"
#include "roster.hpp"
#include "session_host.hpp"
#include "store_keeper.hpp"

namespace millpond::engine {

/// The acceptor's part on its I/O thread: accepts connections, reads their first message and hands each to its session,
/// which may run on another I/O thread.
class Acceptor::Listener final : public detail::Participant,
                                 public detail::Watcher,
                                 public ConnectionOwner,
                                 public HostObserver,
                                 public std::enable_shared_from_this<Listener> {
public:
    Listener(IoThread& io, const Options& options);
    ~Listener() override;
    void begin();
    void end();

    SessionHandle& add(SessionOptions session, Application& application, IoThread* on);
    void add_template(SessionOptions model, Application& application, std::size_t most,
                      std::function<bool(std::string_view name)> is_disabled);
    void remove(const SessionHandle& session);
    std::vector<std::shared_ptr<SessionHandle>> remove_template(const fix::SessionConfig& ids);

    void renew_tls(std::unique_ptr<TlsContext> context) noexcept { tls_ = std::move(context); }

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
    struct Stranger {
        std::unique_ptr<Connection> connection;
        InputBuffer input;
        std::uint64_t number{0};              // to match the answer of a guard
        std::shared_ptr<LogonGuard> guard{};  // that was asked, and admits it where `asked` is false
        bool asked{false};                    // it has not answered
        bool password_changed{false};         // it says
    };
    struct Template {
        SessionOptions model;
        Application* application;
        std::size_t most;
        std::function<bool(std::string_view name)> is_disabled;
        std::vector<std::shared_ptr<SessionHost>> made;
    };

    /// Closes the oldest connections without a Logon if the one of `peer` exceeds a limit.
    void make_room(const net::SocketAddress& peer, core::Moment now);
    void pause_accepting(int error, core::Moment now);
    void take(core::Descriptor socket, const net::SocketAddress& peer, core::Moment now);
    /// Reads its input. Afterwards the stranger may have found its session, or have ended.
    void look_at(Stranger& stranger, core::Moment now);
    /// Finds the session of the first message.
    void identify(Stranger& stranger, core::Moment now);
    /// Of the session that a Logon names, or that would be created for it.
    struct Gate {
        std::shared_ptr<LogonGuard> guard{};  // null: there is no guard
        bool is_allowed{true};                // the peer's address
    };
    [[nodiscard]] Gate gate_of(const fix::Message& logon, const net::SocketAddress& peer) const;
    void ask(Stranger& stranger, const std::shared_ptr<LogonGuard>& guard, const fix::Message& logon);
    void take_answers(core::Moment now);
    /// Whether a template accepts it.
    [[nodiscard]] static bool serves(const Template& from, const fix::Message& logon);
    /// The field of a Logon that finds no session: as Roster::fault_of, with the templates.
    [[nodiscard]] fix::Tag fault_of(const fix::Message& logon) const;
    /// Ends a session of a template; removes the files of one that never logged on.
    void remove(SessionHost& host);
    /// A new session for a peer that a template accepts; otherwise the reason why there is none.
    [[nodiscard]] std::expected<void, Refusal> make_by_template(const fix::Message& message, core::Moment now);
    /// Ends the session with this identity if a template made it. On the I/O thread.
    void make_way(const fix::SessionConfig& identity);
    /// Removes a disconnected session of the template that loses nothing by it. False: there is none.
    bool reclaim(Template& from, core::Moment now);
    /// On the thread of the session, which is claimed.
    static void connect(Stranger& stranger, SessionHost& host, core::Moment now);
    void hand_over(Stranger& stranger, const std::shared_ptr<SessionHost>& host, core::Moment now);
    /// Hands the stranger to a session that seems to be connected, if its connection turns out to have ended.
    void hand_to_busy(Stranger& stranger, const std::shared_ptr<SessionHost>& host, core::Moment now);
    void turn_away(Stranger& stranger, const Refusal& why, core::Moment now);
    void count_refusal(const Refusal& why, const net::SocketAddress& peer);
    void forget_strangers();
    void begin(SessionHost& host, HostObserver* observer);
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;

    IoThread* io_;
    Options options_;
    std::unique_ptr<TlsContext> tls_;
    std::size_t slot_{0};
    bool ended_{false};
    core::Descriptor socket_;
    std::uint16_t port_{0};
    fix::Parser parser_;
    std::vector<std::unique_ptr<Stranger>> strangers_;
    std::uint64_t asked_{0};  // so many times
    std::shared_ptr<GuardAnswers> answers_{std::make_shared<GuardAnswers>()};
    Farewell farewell_;
    AcceptPause pause_;
    std::vector<Template> templates_;
    Counters counters_;
    std::string fault_text_;  // of the newest store that could not be opened
    StoreKeeper keeper_;
    Roster roster_;
};

}  // namespace millpond::engine
