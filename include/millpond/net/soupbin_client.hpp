#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <millpond/net/soupbin_connection.hpp>

namespace millpond::net {

/// State of a SoupBinClient for other threads.
struct SoupBinStatus {
    bool is_logged_in{false};
    SoupBinFailure failure{SoupBinFailure::none};  ///< Why the last connection ended.
    int detail{0};
};

/// A client that stays logged in at a SoupBinTCP server: after a failure it connects again, after growing pauses, and
/// continues at the next message. After the end of a session it logs in to the active one, from its first message.
/// So it does if the server no longer has the session; if the active one is the same again, it goes on at the next
/// number.
///
/// A server may accept the login for another session than the requested one, because that one is over. If the login
/// does not begin with the first message of that session, the client logs in again to get all of it. Messages before
/// the next number of the same session are dropped and counted; missing ones show in the numbers.
///
/// Handler:
///     on_login(soupbin::Session, next, is_new)   is_new: another session than that of the last login, or the first one
///     on_message(bytes, number)                  the numbers of a session ascend; the bytes are valid during the call
///     on_heartbeat(next)                         the server is alive, and has sent all messages before `next`
///     on_end_of_session(next)                    the session ends with the message before `next`
///
/// Threads: one; counters and status on any.
/// Memory:  SoupBinConnection.
/// Source:  SoupBinTCP 3.00, section 1.2 (reconnect at the next number) and 1.4 (next session).
class SoupBinClient {
public:
    struct Options {
        SoupBinOptions connection{};
        soupbin::Session session{};  ///< Session of the first login; blank: the active one.
        std::uint64_t sequence{1};   ///< First message to request in it; 0: begin with the newest one.
        std::chrono::nanoseconds first_pause{std::chrono::milliseconds{100}};  ///< After a failure; doubled each time.
        std::chrono::nanoseconds max_pause{std::chrono::seconds{30}};          ///< After a rejected password at once.
    };

    explicit SoupBinClient(const Options& options)
        : options_(options),
          connection_(options.connection),
          session_(options.session),
          next_(options.sequence),
          pause_ns_(options.first_pause.count()) {}

    /// Passes on what one receive call brings; returns the number of bytes. 0: wait on fd() before the next call.
    template <class Handler>
    std::size_t poll(Handler& handler) {
        Numbered<Handler> numbered{*this, handler};
        const auto bytes = connection_.poll(numbered);
        update();
        return bytes;
    }

    /// Connects when it is time, sends heartbeats, and drops a silent server; call it a few times a second, after
    /// `poll`. now_ns: of any monotonic clock.
    void on_timer(std::int64_t now_ns) noexcept {
        connection_.on_timer(now_ns);
        update();
        if (connection_.is_open()) return;
        if (is_waiting_) {
            is_waiting_ = false;
            due_ns_ = now_ns + pause_ns_;
            pause_ns_ = std::min<std::int64_t>(2 * pause_ns_, options_.max_pause.count());
        }
        if (now_ns < due_ns_) return;
        is_waiting_ = true;
        connection_.open(session_, joined_.empty() || session_ == joined_ ? next_ : 1);
        update();
    }

    /// Sends an unsequenced message; see SoupBinConnection::send.
    [[nodiscard]] bool send(std::span<const std::byte> message) noexcept { return connection_.send(message); }

    [[nodiscard]] SoupBinStatus status() const noexcept { return status_.load(std::memory_order_relaxed); }
    [[nodiscard]] const SoupBinCounters& counters() const noexcept { return connection_.counters(); }
    [[nodiscard]] const SocketAddress& server() const noexcept { return connection_.server(); }
    [[nodiscard]] int fd() const noexcept { return connection_.fd(); }

private:
    /// Passes a connection's packets on, with the numbers of the session.
    template <class Handler>
    struct Numbered {
        SoupBinClient& client;
        Handler& handler;

        void on_login(const soupbin::Session& session, std::uint64_t next) {
            if (client.accept_login(session, next)) handler.on_login(session, client.next_, client.is_new_);
        }
        void on_message(std::span<const std::byte> bytes, std::uint64_t number) {
            client.pause_ns_ = client.options_.first_pause.count();
            auto& counters = client.connection_.counters();
            if (number < client.next_) return counters.duplicates.add();
            client.next_ = number + 1;
            counters.messages.add();
            handler.on_message(bytes, number);
        }
        void on_heartbeat() {
            client.pause_ns_ = client.options_.first_pause.count();
            handler.on_heartbeat(client.next_);
        }
        void on_end_of_session() {
            handler.on_end_of_session(client.next_);
            client.ended_ = std::exchange(client.session_, {});
            client.joined_ = {};
            client.next_ = 1;
        }
    };

    /// Handles an accepted login. False if the connection is of no use.
    [[nodiscard]] bool accept_login(const soupbin::Session& session, std::uint64_t next) noexcept {
        if (session == ended_) {
            connection_.fail(SoupBinFailure::same_session);
            return false;
        }
        const bool is_other = !session_.empty() && session != session_;
        is_new_ = joined_.empty() || session != joined_;
        session_ = session;
        if (is_other && (is_new_ ? next != 1 : next > next_)) {  // the number was one of the requested session
            if (joined_.empty()) next_ = 1;
            connection_.fail(SoupBinFailure::other_session);
            return false;
        }
        if (is_new_ || next > next_) next_ = next;
        joined_ = session;
        return true;
    }
    /// Handles a failure of the connection, and publishes the status to other threads.
    void update() noexcept {
        const auto failure = connection_.failure();
        if (failure == SoupBinFailure::not_authorized) pause_ns_ = options_.max_pause.count();
        if (failure == SoupBinFailure::session_unavailable && !joined_.empty()) session_ = {};
        const SoupBinStatus status{connection_.is_logged_in(), failure, connection_.failure_detail()};
        if (connection_.is_open() && !status.is_logged_in) return;  // the last failure stays until the next login
        status_.store(status, std::memory_order_relaxed);
    }

    Options options_;
    SoupBinConnection connection_;
    soupbin::Session session_;   // requested at the next login
    soupbin::Session joined_{};  // session of the last login; blank before the first one and after the session's end
    std::uint64_t next_;         // next message of joined_; if that is blank, the one to request
    soupbin::Session ended_{};   // session that has announced its end
    bool is_new_{false};
    bool is_waiting_{false};  // the next attempt is due after a pause
    std::int64_t pause_ns_;
    std::int64_t due_ns_{0};
    std::atomic<SoupBinStatus> status_{};
};

}  // namespace millpond::net
