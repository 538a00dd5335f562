#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/engine/application.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/fix/session.hpp>
#include "src/engine/io/connection.hpp"
#include "src/engine/io/lingering_connections.hpp"
#include "src/engine/io/participant.hpp"
#include "src/engine/session/host_connection.hpp"
#include "src/engine/session/host_handle.hpp"
#include "src/engine/session/host_standby.hpp"
#include "src/engine/session/input_path.hpp"
#include "src/engine/session/logon_policy.hpp"
#include "src/engine/session/session_action.hpp"
#include "src/engine/session/session_gauges.hpp"
#include "src/engine/session/session_output.hpp"
#include "src/engine/session/warm_ups.hpp"

namespace millpond::engine {

/// Receives a session's connection events; implemented by Acceptor and Initiator.
class HostObserver {
public:
    virtual void on_host_logon() {}
    virtual void on_host_closed(Closed reason, core::Moment now) { static_cast<void>(reason), static_cast<void>(now); }
    /// Called when an operator or the standby enables or disables the session.
    virtual void on_host_enabled(bool enabled, core::Moment now) { static_cast<void>(enabled), static_cast<void>(now); }

protected:
    ~HostObserver() = default;
};

/// A session with its store on an I/O thread, connected or not: connects the state machine with the connection, the
/// application and the senders. The output of an action is collected and written at its end.
///
/// Threads: the I/O thread's; handle, gauges and claim on any.
/// Memory:  allocated in the constructor; nothing per message.
class SessionHost final : public fix::SessionHandler,
                          public SessionLink,
                          public Participant,
                          public ConnectionOwner,
                          public std::enable_shared_from_this<SessionHost> {
public:
    /// Throws the exceptions of Acceptor::add and Initiator::add.
    SessionHost(SessionOptions options, Application& application, IoThread& io);
    ~SessionHost() = default;

    /// Joins the I/O thread until `end`, which must be called before the destructor.
    void begin(HostObserver* observer);
    void end();

    /// Claims the session for a connection. Returns false if it has one.
    [[nodiscard]] bool claim() noexcept { return connection_.claim(); }
    [[nodiscard]] bool claimed() const noexcept { return connection_.is_claimed(); }
    void release_claim() noexcept { connection_.release_claim(); }
    /// Like claim, but first checks whether the session's connection has ended: a peer that reconnects may be seen
    /// before the end of its first connection. Call on the session's thread.
    [[nodiscard]] bool claim_after_reading(core::Moment now);
    /// Attaches the connection that was claimed for this session. read: bytes already received on it.
    void connect(std::unique_ptr<Connection> connection, const InputBuffer& read, core::Moment now);
    /// The guard of the next connection has changed the user's password, which the answer to its Logon confirms.
    void confirm_new_password() noexcept { logon_.confirm_new_password(); }
    /// Reports a failed attempt to connect. address: empty if the host name was not found.
    void report_unreachable(const net::SocketAddress& address, std::string_view why);

    /// Runs `work` as one action, whose output is written at its end. Within another action it is a part of that
    /// action. Throws the exceptions of the application's callbacks.
    template <class Work>
    void act(core::Moment now, Work&& work);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] IoThread& io() const noexcept { return handle_.io(); }
    [[nodiscard]] const fix::SessionConfig& config() const noexcept { return session_.config(); }
    [[nodiscard]] const SessionGauges& gauges() const noexcept { return gauges_; }
    [[nodiscard]] const AllowList& allowed() const noexcept { return logon_.allowed(); }
    /// Returns null if Logons need no permission.
    [[nodiscard]] const std::shared_ptr<LogonGuard>& guard() const noexcept { return logon_.guard(); }
    [[nodiscard]] SenderPump& senders() noexcept { return output_.senders(); }
    [[nodiscard]] HostStandby& standby() noexcept { return standby_; }
    [[nodiscard]] bool has_logged_on() const noexcept { return gauges_.logons.read() != 0; }
    [[nodiscard]] bool may_be_connected(core::Moment now) const noexcept;
    [[nodiscard]] bool enabled() const noexcept { return gauges_.enabled.load(std::memory_order_relaxed); }
    /// Enables or disables the session, and notifies the observer.
    void set_enabled(bool enabled, core::Moment now);
    /// Whether the session has left its I/O thread.
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] std::uint64_t last_connected_utc_ns() const noexcept { return gauges_.connected_ns.read(); }
    /// Whether the scheduled period of the current sequence numbers is over.
    [[nodiscard]] bool schedule_is_over(std::int64_t utc_ns) const noexcept;
    /// The store if it is in files, else null.
    [[nodiscard]] fix::FileStore* file() const noexcept { return file_; }

    /// Sets the numbers. Returns false, with nothing changed, if the session is connected.
    [[nodiscard]] bool set_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target);
    void set_tap(WireTap* tap) noexcept;
    /// Applies a change of what the standby permits.
    void follow_standby(core::Moment now);

    // SessionLink
    const fix::Session& session() const noexcept override { return session_; }
    fix::Session& sending_session() noexcept override { return session_; }
    SessionHandle& handle() noexcept override { return handle_; }
    const net::SocketAddress& peer() const noexcept override { return connection_.peer(); }
    core::Moment now() const noexcept override;
    std::int64_t began_ns() const noexcept override { return action_.began_ns(); }

    // Participant
    void on_signal(core::Moment now) override;
    std::int64_t on_timer(core::Moment now) override;
    void on_drain(core::Moment now, std::int64_t deadline_ns) override;
    bool drained() const noexcept override;

    // ConnectionOwner
    void on_ready(Connection& connection, core::Moment now) override;

    // fix::SessionHandler
    void send(std::uint64_t sequence, std::string_view bytes) override { output_.send(sequence, bytes); }
    void disconnect(fix::Disconnect reason) override { cut(closed_by(reason)); }
    bool congested() const override { return output_.path().is_congested(); }
    bool may_log_on(const fix::Message& logon) override;
    std::string_view closed_because() const override { return enabled() ? "" : "session is disabled"; }
    void on_send_admin(fix::AdminDraft& draft) override;
    void on_logon() override;
    void on_logon_refused(const fix::LogonRefusal& why) override;
    void on_logout(std::string_view text) override { application_->on_logout(*this, text); }
    fix::Verdict on_message(const fix::Message& message) override { return application_->on_message(*this, message); }
    bool may_resend(const fix::Message& message) override { return application_->may_resend(*this, message); }
    void on_reject(const fix::Message& reject) override { application_->on_reject(*this, reject); }
    void on_rejected(const fix::RejectedMessage& rejected) override {
        input_.note_rejected(rejected);
        application_->on_rejected(*this, rejected);
    }
    void on_heartbeat_changed(std::int64_t seconds) override { application_->on_heartbeat_changed(*this, seconds); }
    void on_history_lost(const fix::LostHistory& lost) override {
        output_.senders().on_history_lost(lost);
        application_->on_history_lost(*this, lost);
    }

private:
    class Acting;

    void finish_action(core::Moment now);
    void abandon_action() noexcept;
    /// Requests a call of on_signal.
    void signal() noexcept { action_.signal(); }
    void pump(core::Moment now);
    /// Ends the connection at the end of this action.
    void cut(Closed reason) noexcept;
    void release_connection(core::Moment now);
    [[nodiscard]] Closed end_reason() const noexcept;
    void refuse(RefusalReason reason, fix::Tag tag, std::string_view detail);
    void report_closed();
    void on_connection_timer(core::Moment now);
    void continue_drain(core::Moment now);
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;
    void warm_up(core::Moment now) noexcept;

    HostObserver* observer_{nullptr};
    Application* application_;
    LogonPolicy logon_;
    std::string name_;
    std::unique_ptr<fix::MessageStore> store_;
    fix::FileStore* file_;  // null: store_ is in memory
    fix::Session session_;
    SessionGauges gauges_;
    HostHandle handle_;
    mutable SessionAction action_;
    HostConnection connection_;
    InputPath input_;
    SessionOutput output_;
    LingeringConnections lingering_;
    HostStandby standby_;
    WarmUps warm_ups_;
    Closed unreported_end_{Closed::none};        // end of the last connection, if the application was not notified yet
    std::optional<std::int64_t> drained_by_ns_;  // monotonic; nullopt: not draining
    bool ended_{false};
};

/// Scope of an action. If it ends with an exception, the connection ends in the next round.
class SessionHost::Acting {
public:
    Acting(SessionHost& host, core::Moment now) noexcept : host_(&host) { host.action_.begin(now); }
    ~Acting() {
        if (host_ != nullptr) host_->abandon_action();
    }
    Acting(const Acting&) = delete;
    Acting& operator=(const Acting&) = delete;

    void complete() noexcept { std::exchange(host_, nullptr)->action_.end(); }

private:
    SessionHost* host_;
};

template <class Work>
void SessionHost::act(core::Moment now, Work&& work) {
    if (action_.is_running()) {
        action_.set_stamp(now);
        work();
        return;
    }
    Acting acting{*this, now};
    work();
    finish_action(now);
    acting.complete();
    report_closed();
}

}  // namespace millpond::engine
