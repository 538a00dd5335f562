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
#include <millpond/engine/tls.hpp>
#include <millpond/metrics/registry.hpp>

namespace millpond::engine {

/// Told what an acceptor does with connections that have no session, and with sessions by template.
///
/// Threads: the acceptor's I/O thread.
class AcceptorObserver {
public:
    virtual void on_refused(const Refusal& why) { static_cast<void>(why); }
    /// A disconnected session by template made room for another one.
    virtual void on_reclaimed(const std::string& session) { static_cast<void>(session); }

protected:
    ~AcceptorObserver() = default;
};

/// Listens for FIX counterparties and lets them into their sessions. A connection is matched by the BeginString and
/// CompIDs of its Logon; one that matches nothing, or a session that is connected already, is closed without a reply.
///
/// Threads: constructed, used and destroyed on one thread, which may be the I/O thread's or any other; its work is done
///          on the I/O threads.
/// Memory:  a small buffer for each connection that has not sent its Logon, bounded in number; each session's buffers
///          are taken when it is added.
/// Source:  tcp(7).
class Acceptor {
public:
    struct Options {
        std::string address{"127.0.0.1"};
        std::uint16_t port{0};             ///< 0: any that is free.
        std::size_t max_connections{256};  ///< With a session or without.
        /// Connections that have not sent their Logon; beyond it, the oldest of them is closed first.
        std::size_t max_before_logon{64};
        std::size_t max_before_logon_per_address{16};  ///< The same of one address.
        std::size_t first_message_bytes{4096};         ///< A Logon that is longer finds no session.
        std::chrono::milliseconds first_message_timeout{10'000};
        AllowList allowed{};                  ///< Others are closed at once.
        AcceptorObserver* observer{nullptr};  ///< Outlives the acceptor.
        std::optional<TlsOptions> tls{};
    };

    /// Listens; connections are taken from the first `add` on. Throws std::system_error that names address and port.
    Acceptor(IoThread& io, const Options& options);
    ~Acceptor();
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;

    /// application must outlive the acceptor; `on` is the thread that the session runs on, the acceptor's where null.
    /// Throws std::invalid_argument for a second session of the same ids or a store that is too small for its messages.
    SessionHandle& add(SessionOptions session, Application& application, IoThread* on = nullptr);

    /// Any TargetCompID without a session gets a new one, made from `model` with that id. At most `most`
    /// live at a time. One whose peer never logged on is taken away with its connection. Where there are `most`, the
    /// disconnected one that connected longest ago and loses nothing makes room: its store is in a file, or its
    /// schedule's run is over; and it has no sender. A store in files lies in the folder that model.store.file names,
    /// one file an id; ids with other characters than letters, digits, '-', '_' and '.' are refused. is_disabled: asked
    /// for the name of each new session, on the I/O thread: whether it begins disabled; empty: as `model` says.
    void add_template(SessionOptions model, Application& application, std::size_t most,
                      std::function<bool(std::string_view name)> is_disabled = {});

    /// Takes a session away; its connection is closed without a Logout. Its senders must be gone. Its handle answers
    /// no request any more. Nothing happens where it is not there.
    void remove(const SessionHandle& session);
    /// Makes no further session by the template of these ids. Gives those that it has made: they stay until `remove`.
    std::vector<std::shared_ptr<SessionHandle>> remove_template(const fix::SessionConfig& ids);

    /// The keys and rules of connections from now on, for an acceptor with TLS. Those that are there keep theirs.
    void renew_tls(std::unique_ptr<TlsContext> context);

    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Sessions that have a connection.
    [[nodiscard]] std::size_t connected() const;
    /// All sessions, those by template too.
    [[nodiscard]] std::vector<std::shared_ptr<SessionHandle>> sessions() const;
    /// Begins the Logout handshake of every session that is logged on.
    void logout_all(std::string_view reason);

    struct Counters {
        core::Tally accepted;           ///< Connections.
        core::Tally not_allowed;        ///< Closed: the address is not on the list.
        core::Tally unknown;            ///< Closed: the first message was no Logon of ours.
        core::Tally duplicate;          ///< Closed: the session is connected already.
        core::Tally full;               ///< Closed: the bounds of connections, or the template's.
        core::Tally silent;             ///< Closed: no first message in time.
        core::Tally handshakes_failed;  ///< Closed: the TLS handshake failed.
        core::Tally not_admitted;       ///< Closed: the session's guard refused it.
        core::Tally no_store;           ///< Closed: the store of a session by template could not be opened.
        core::Tally reclaimed;          ///< Sessions by template that made room for others.
    };
    [[nodiscard]] const Counters& counters() const noexcept;
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;

private:
    class Listener;
    std::shared_ptr<Listener> listener_;
};

}  // namespace millpond::engine
