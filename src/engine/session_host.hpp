#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <millpond/engine/application.hpp>
#include <millpond/engine/detail/participant.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/fix/session.hpp>

#include "connection.hpp"
#include "farewell.hpp"
#include "host_connection.hpp"
#include "host_handle.hpp"
#include "host_standby.hpp"
#include "input_path.hpp"
#include "output_path.hpp"
#include "sender_pump.hpp"
#include "session_gauges.hpp"
#include "warm_ups.hpp"

namespace millpond::engine {

inline constexpr std::string_view kNotOfSession = "not an address of this session";

/// Who made a session and follows its connections.
class HostObserver {
public:
    virtual void on_host_logon() {}
    virtual void on_host_closed(Closed reason, core::Moment now) { static_cast<void>(reason), static_cast<void>(now); }
    /// It may, or may not, be connected from now on.
    virtual void on_host_enabled(bool enabled, core::Moment now) { static_cast<void>(enabled), static_cast<void>(now); }

protected:
    ~HostObserver() = default;
};

/// One session with its store, connected or not, on its I/O thread: the bridge between a connection, the session's
/// state machine, the application and the senders. What an action makes is gathered and written at its end.
///
/// Threads: the I/O thread's; handle, gauges and claim on any.
/// Memory:  taken in the constructor; none with the messages.
class SessionHost final : public fix::SessionHandler,
                          public SessionLink,
                          public detail::Participant,
                          public ConnectionOwner,
                          public std::enable_shared_from_this<SessionHost> {
public:
    /// Throws as SessionOptions' users say.
    SessionHost(SessionOptions options, Application& application, IoThread& io);
    ~SessionHost() = default;

    /// From here on it takes part in its I/O thread; until `end`, which must come before the destructor.
    void begin(HostObserver* observer);
    void end();

    /// Reserves it for a connection. False when it has one.
    [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
    [[nodiscard]] bool claimed() const noexcept { return claimed_.load(std::memory_order_acquire); }
    void give_up_claim() noexcept { claimed_.store(false, std::memory_order_release); }
    /// The same on the session's thread, after it has looked whether its connection has ended: a peer that comes again
    /// may be seen before the end of its first connection is.
    [[nodiscard]] bool claim_after_reading(core::Moment now);
    /// A connection for the claim that stands, and what was read of it.
    void connect(std::unique_ptr<Connection> connection, const InputBuffer& read, core::Moment now);
    /// The guard of the connection that comes next has changed the user's password: its Logon is answered so.
    void confirm_new_password() noexcept { confirms_new_password_ = has_session_status_; }
    /// An attempt to connect failed. address: none where no name was found.
    void report_unreachable(const net::SocketAddress& address, std::string_view why);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] IoThread& io() const noexcept { return *io_; }
    [[nodiscard]] const fix::SessionConfig& config() const noexcept { return session_.config(); }
    [[nodiscard]] const SessionGauges& gauges() const noexcept { return gauges_; }
    [[nodiscard]] const AllowList& allowed() const noexcept { return allowed_; }
    /// Null: every connection may ask for it.
    [[nodiscard]] const std::shared_ptr<LogonGuard>& guard() const noexcept { return guard_; }
    [[nodiscard]] SenderPump& senders() noexcept { return senders_; }
    [[nodiscard]] const HostStandby& standby() const noexcept { return standby_; }
    [[nodiscard]] bool has_logged_on() const noexcept { return gauges_.logons.read() != 0; }
    [[nodiscard]] bool may_be_connected(core::Moment now) const noexcept;
    [[nodiscard]] bool enabled() const noexcept { return enabled_; }
    /// It has left its I/O thread.
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] std::uint64_t last_connected_utc_ns() const noexcept { return gauges_.connected_ns.read(); }
    /// Whether the schedule's run that its numbers belong to is over.
    [[nodiscard]] bool schedule_is_over(std::int64_t utc_ns) const noexcept;
    /// Null: the messages are in memory.
    [[nodiscard]] fix::FileStore* file() const noexcept { return file_; }

    // Commands
    /// Logs it out, and lets it not be connected until `enable`.
    void disable(std::string_view reason);
    void enable();
    /// Resets both numbers; one that is logged on logs out first.
    void reset();
    /// False: it is connected, and nothing changed.
    [[nodiscard]] bool set_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target);
    void set_tap(WireTap* tap) noexcept;
    /// As SessionHandle::request_promotion. Gives the error.
    [[nodiscard]] std::string promote();
    void supersede(std::uint64_t epoch);

    // SessionLink
    fix::Session& session() noexcept override { return session_; }
    SessionHandle& handle() noexcept override { return handle_; }
    const net::SocketAddress& peer() const noexcept override { return connection_.peer(); }
    core::Moment now() const noexcept override;
    std::int64_t began_ns() const noexcept override { return began_ns_; }

    // Participant
    void on_signal(core::Moment now) override;
    std::int64_t on_timer(core::Moment now) override;
    void on_drain(core::Moment now, std::int64_t deadline_ns) override;
    bool drained() const noexcept override;

    // ConnectionOwner
    void on_ready(Connection& connection, core::Moment now) override;

    // fix::SessionHandler
    void send(std::uint64_t sequence, std::string_view bytes) override;
    void disconnect(fix::Disconnect reason) override { cut(closed_by(reason)); }
    bool congested() const override { return output_.is_congested(); }
    bool may_log_on(const fix::Message& logon) override;
    std::string_view closed_because() const override { return enabled_ ? "" : "session is disabled"; }
    void on_send_admin(fix::AdminDraft& draft) override;
    void on_logon() override;
    void on_logon_refused(const fix::LogonRefusal& why) override;
    void on_logout(std::string_view text) override { application_->on_logout(*this, text); }
    fix::Verdict on_message(const fix::Message& message) override { return application_->on_message(*this, message); }
    bool may_resend(const fix::Message& message) override { return application_->may_resend(*this, message); }
    void on_reject(const fix::Message& reject) override { application_->on_reject(*this, reject); }
    void on_history_lost(const fix::LostHistory& lost) override {
        senders_.on_history_lost(lost);
        application_->on_history_lost(*this, lost);
    }

private:
    class Acting;

    template <class Work>
    void act(core::Moment now, Work&& work);
    void finish_action(core::Moment now);
    void abandon_action() noexcept;
    /// Calls the host again soon.
    void signal() noexcept { handle_.signal(); }
    void flush();
    void pump(core::Moment now);
    /// The connection shall end with this action.
    void cut(Closed reason) noexcept;
    void let_go(core::Moment now);
    [[nodiscard]] Closed end_reason() const noexcept;
    void refuse(RefusalReason reason, fix::Tag tag, std::string_view detail);
    [[nodiscard]] bool keeps_user(const fix::Message& logon);
    void tell_closed();
    void on_connection_timer(core::Moment now);
    void continue_drain(core::Moment now);
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;
    void warm_up(core::Moment now) noexcept;
    void set_enabled(bool enabled) noexcept;
    void settle_standby(core::Moment now);
    /// What the standby permits may have changed.
    void follow_standby(core::Moment now);

    IoThread* io_;
    HostObserver* observer_{nullptr};
    Application* application_;
    AllowList allowed_;
    std::shared_ptr<LogonGuard> guard_;
    std::string username_;  // of the connection's first Logon, where there is a guard
    std::shared_ptr<LogonSigner> signer_;
    SentObserver* sent_;
    std::string name_;
    std::unique_ptr<fix::MessageStore> store_;
    fix::FileStore* file_{nullptr};  // store_, where that is one
    fix::Session session_;
    SessionGauges gauges_;
    HostHandle handle_;

    mutable core::Moment stamp_;  // the newest time known: of the action, and again with each write in it
    HostConnection connection_;
    InputPath input_;
    OutputPath output_;
    SenderPump senders_;
    Farewell farewell_;
    HostStandby standby_;
    WarmUps warm_ups_;
    std::int64_t began_ns_{0};  // monotonic: of the action
    bool acting_{false};
    bool was_congested_{false};
    bool refused_{false};             // the application knows why the connection does not log on
    Closed told_{Closed::none};       // the application is to be notified of this end
    bool has_session_status_{false};  // the dictionary's Logon
    bool confirms_new_password_{false};
    bool enabled_{true};
    bool ended_{false};
    std::optional<std::int64_t> drained_by_ns_;  // monotonic; none: it does not drain
    std::atomic<bool> claimed_{false};
};

}  // namespace millpond::engine
