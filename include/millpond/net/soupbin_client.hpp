#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
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
/// A session's numbers have restarted if the server has nothing up to the next number: a heartbeat says so, or its
/// answer to a login, if a login made the client's number jump by kFarAhead or more. The session is then another one,
/// and is requested from its first message. A jump that neither a message nor a heartbeat has followed is forgotten
/// with its connection.
///
/// Nor is the session that has ended joined again, unless its name stands for another one: the client requests the
/// number after its last message, and the numbers must have restarted there, or a message must come before the first
/// heartbeat. An answer of 1 alone does not show it: servers that ignore the requested number give it too.
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

    /// More numbers than a server loses.
    static constexpr std::uint64_t kFarAhead = 65'536;

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
        is_probe_ = std::exchange(is_probe_due_, false);
        if (jumped_from_ != 0) {
            next_ = std::exchange(jumped_from_, 0);
            has_jumped_ = false;
        }
        if (is_probe_) {
            requested_ = ended_next_;
            connection_.open({}, requested_);
        } else {
            requested_ = joined_.empty() || session_ == joined_ ? next_ : 1;
            connection_.open(session_, requested_);
        }
        update();
    }

    /// Sends an unsequenced message; see SoupBinConnection::send.
    [[nodiscard]] bool send(std::span<const std::byte> message) noexcept { return connection_.send(message); }

    /// True from a login that made the number jump far ahead until a message or a heartbeat follows.
    [[nodiscard]] bool is_in_doubt() const noexcept { return jumped_from_ != 0; }

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
            auto& counters = client.connection_.counters();
            if (client.is_probe_) {
                if (number >= client.ended_next_) return client.join_restarted();
                return counters.duplicates.add();
            }
            client.pause_ns_ = client.options_.first_pause.count();
            client.jumped_from_ = 0;
            if (number < client.next_) return counters.duplicates.add();
            client.next_ = number + 1;
            counters.messages.add();
            handler.on_message(bytes, number);
        }
        void on_heartbeat() {
            const auto next = client.connection_.next();
            if (client.is_probe_) {
                if (next < client.ended_next_) return client.join_restarted();
                return client.connection_.fail(SoupBinFailure::same_session);
            }
            if (next < client.next_) return client.start_over();
            client.pause_ns_ = client.options_.first_pause.count();
            client.jumped_from_ = 0;
            handler.on_heartbeat(client.next_);
        }
        void on_end_of_session() {
            if (client.is_probe_) return client.connection_.fail(SoupBinFailure::same_session);
            handler.on_end_of_session(client.next_);
            client.ended_ = std::exchange(client.session_, {});
            client.ended_next_ = client.next_;
            client.joined_ = {};
            client.next_ = 1;
            client.has_jumped_ = false;
            client.jumped_from_ = 0;
        }
    };

    /// Handles an accepted login. False if it is not one to the session's next message.
    [[nodiscard]] bool accept_login(const soupbin::Session& session, std::uint64_t next) noexcept {
        if (next > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            connection_.fail(SoupBinFailure::bad_login);
            return false;
        }
        if (is_probe_ && !accept_probe(session, next)) return false;
        if (session == ended_) {
            is_probe_due_ = true;
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
        if (!is_new_ && has_jumped_ && next < next_) {
            start_over();
            return false;
        }
        if (is_new_ || next > next_) {
            const bool is_far = requested_ != 0 && next > requested_ && next - requested_ >= kFarAhead;
            has_jumped_ = is_far || (has_jumped_ && !is_new_);
            if (is_far) jumped_from_ = requested_;
            next_ = next;
        }
        joined_ = session;
        return true;
    }
    /// Handles the answer to a login at the end of the ended session. True if it is to be handled as any other.
    [[nodiscard]] bool accept_probe(const soupbin::Session& session, std::uint64_t next) noexcept {
        if (session == ended_) {
            if (next != 1 && next < ended_next_) join_restarted();
            return false;
        }
        is_probe_ = false;
        if (next == 1) return true;
        session_ = session;
        connection_.fail(SoupBinFailure::other_session);
        return false;
    }
    /// The name of the ended session is another's now.
    void join_restarted() noexcept {
        session_ = std::exchange(ended_, {});
        pause_ns_ = options_.first_pause.count();
        start_over();
    }
    /// The numbers of the session have restarted: the next login is to the first message of another session.
    void start_over() noexcept {
        joined_ = {};
        next_ = options_.sequence == 0 ? 0 : 1;
        has_jumped_ = false;
        jumped_from_ = 0;
        connection_.fail(SoupBinFailure::went_back);
    }
    /// Handles a failure of the connection, and publishes the status to other threads.
    void update() noexcept {
        const auto failure = connection_.failure();
        if (failure == SoupBinFailure::not_authorized) pause_ns_ = options_.max_pause.count();
        const bool is_of_options = joined_.empty() && session_ == options_.session;
        if (failure == SoupBinFailure::session_unavailable && !is_of_options) session_ = {};
        const SoupBinStatus status{connection_.is_logged_in() && !is_probe_, failure, connection_.failure_detail()};
        if (connection_.is_open() && !status.is_logged_in) return;  // the last failure stays until the next login
        status_.store(status, std::memory_order_relaxed);
    }

    Options options_;
    SoupBinConnection connection_;
    soupbin::Session session_;    // requested at the next login
    soupbin::Session joined_{};   // session of the last login; blank before the first one and after the session's end
    std::uint64_t next_;          // next message of joined_; if that is blank, the one to request
    std::uint64_t requested_{0};  // number of the last login request
    // next_ before the login of this connection made it jump, until a message or a heartbeat follows; 0: it did not.
    std::uint64_t jumped_from_{0};
    bool has_jumped_{false};       // a login of joined_ made next_ jump
    soupbin::Session ended_{};     // session that has announced its end
    std::uint64_t ended_next_{0};  // number after its last message
    bool is_probe_due_{false};     // the next login requests it
    bool is_probe_{false};         // the connection's login does, and has not shown another session
    bool is_new_{false};
    bool is_waiting_{false};  // the next attempt is due after a pause
    std::int64_t pause_ns_;
    std::int64_t due_ns_{0};
    std::atomic<SoupBinStatus> status_{};
};

}  // namespace millpond::net
