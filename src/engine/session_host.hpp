#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/application.hpp>
#include <millpond/engine/detail/participant.hpp>
#include <millpond/engine/detail/sender.hpp>
#include <millpond/engine/session_handle.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/fix/session.hpp>

#include "connection.hpp"
#include "farewell.hpp"
#include "rate_limit.hpp"

namespace millpond::engine {

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
/// Threads: the I/O thread's; what SessionHandle declares, and claim, on any.
/// Memory:  taken in the constructor; none with the messages.
class SessionHost final : public fix::SessionHandler,
                          public SessionLink,
                          public SessionHandle,
                          public detail::Participant,
                          public detail::SenderHost,
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
    [[nodiscard]] bool has_logged_on() const noexcept { return logons_.read() != 0; }
    [[nodiscard]] const fix::SessionConfig& config() const noexcept { return session_.config(); }
    [[nodiscard]] bool may_be_connected(core::Moment now) const noexcept;
    [[nodiscard]] bool enabled() const noexcept { return enabled_; }
    [[nodiscard]] Application& application() noexcept { return *application_; }
    [[nodiscard]] bool has_senders() const noexcept { return !senders_.empty(); }
    [[nodiscard]] std::uint64_t last_connected_utc_ns() const noexcept { return connected_ns_.read(); }
    /// Whether the schedule's run that its numbers belong to is over.
    [[nodiscard]] bool schedule_is_over(std::int64_t utc_ns) const noexcept;
    /// Null: the messages are in memory.
    [[nodiscard]] fix::FileStore* file() const noexcept { return file_; }
    /// An attempt to connect failed. address: none where no name was found.
    void report_unreachable(const net::SocketAddress& address, std::string_view why);

    // SessionHandle
    const std::string& name() const noexcept override { return name_; }
    SessionStatus status() const override;
    IoThread& io() const noexcept override { return *io_; }
    void request_logout(std::string reason) override;
    void request_logon() override;
    void request_reset() override;
    void request_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target,
                         std::function<void(bool done)> done) override;
    void set_tap(WireTap* tap) override;
    std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const override;
    void attach(detail::Sender& sender) override;
    void detach(detail::Sender& sender) noexcept override;
    void signal() noexcept override { io_->signal(slot_); }

    // SessionLink, SenderHost
    core::Moment stamp() const noexcept override { return stamp_; }
    fix::Session& session() noexcept override { return session_; }
    SessionHandle& handle() noexcept override { return *this; }
    const net::SocketAddress& peer() const noexcept override { return peer_; }
    core::Moment now() const noexcept override;
    bool congested() const override;

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
    bool may_log_on(const fix::Message& logon) override;
    std::string_view closed_because() const override { return enabled_ ? "" : "session is disabled"; }
    void on_send_admin(fix::AdminDraft& draft) override;
    void on_logon() override;
    void on_logon_refused(const fix::LogonRefusal& why) override;
    void on_logout(std::string_view text) override { application_->on_logout(*this, text); }
    fix::Verdict on_message(const fix::Message& message) override { return application_->on_message(*this, message); }
    void on_reject(const fix::Message& reject) override { application_->on_reject(*this, reject); }
    void on_history_lost(const fix::LostHistory& lost) override { application_->on_history_lost(*this, lost); }

private:
    class Acting;

    template <class Work>
    void act(core::Moment now, Work&& work);
    /// The connection shall end with this action.
    void cut(Closed reason) noexcept;
    void read(core::Moment now);
    void take_input(core::Moment now);
    void flush();
    void pump(core::Moment now);
    void finish_action(core::Moment now);
    void abandon_action() noexcept;
    void let_go(core::Moment now);
    [[nodiscard]] Closed end_reason() const noexcept;
    void refuse(RefusalReason reason, fix::Tag tag, std::string_view detail);
    void tell_closed();
    void on_session_timer(core::Moment now);
    void continue_drain(core::Moment now);
    [[nodiscard]] bool senders_idle() const noexcept;
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept;
    void make_durable();
    void show_store() noexcept;
    /// Has `work` done on the I/O thread if the session is still there then.
    void post(std::function<void(SessionHost&)> work);

    IoThread* io_;
    std::size_t slot_{0};
    HostObserver* observer_{nullptr};
    Application* application_;
    SessionLimits limits_;
    AllowList allowed_;
    std::shared_ptr<LogonSigner> signer_;
    std::string name_;
    std::unique_ptr<fix::MessageStore> store_;
    fix::FileStore* file_{nullptr};  // store_, where that is one
    fix::Session session_;
    std::vector<detail::Sender*> senders_;
    WireTap* tap_{nullptr};

    std::unique_ptr<Connection> connection_;
    net::SocketAddress peer_;
    InputBuffer input_;
    OutputQueue output_;
    Farewell farewell_;
    RateLimit rate_;
    bool paused_{false};            // not read: the peer sends more than its rate
    bool over_{false};              // nothing can be written or read any more
    bool refused_{false};           // the application knows why the connection does not log on
    Closed told_{Closed::none};     // the application is to be told of this end
    Closed closing_{Closed::none};  // the connection ends with this action, if it is not `none`
    bool acting_{false};
    mutable core::Moment stamp_;  // the newest time known: of the action, and again with each write in it
    bool flushing_{false};
    bool was_congested_{false};
    std::uint64_t resets_seen_{0};  // of the store, when output_ began to hold its messages
    std::int64_t moved_ns_{0};      // monotonic: when the socket last took something; 0: nothing waits
    bool enabled_{true};
    bool draining_{false};
    std::int64_t drain_deadline_ns_{0};  // monotonic

    std::atomic<bool> claimed_{false};
    std::atomic<fix::Session::State> state_{fix::Session::State::disconnected};
    std::atomic<Closed> last_closed_{Closed::none};
    core::Tally logons_;
    core::Tally connections_;
    core::Tally pending_bytes_;
    core::Tally next_sender_;
    core::Tally next_target_;
    core::Tally capacity_bytes_;
    core::Tally connected_ns_;
    core::Tally last_received_ns_;
    core::Tally last_sent_ns_;
    core::Tally slow_consumers_;
    core::Tally paused_times_;
    mutable std::mutex peer_lock_;  // of peer_text_, which changes with connections only
    std::string peer_text_;
};

}  // namespace millpond::engine
