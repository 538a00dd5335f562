#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include <millpond/core/tally.hpp>
#include <millpond/net/soupbin_packet.hpp>

namespace millpond::net {

/// Why a connection ended, or could not be made.
enum class SoupBinFailure : std::uint8_t {
    none,
    cannot_connect,       ///< The kernel or the server refused the connection; detail: errno.
    no_connection,        ///< The server did not answer the connect in time.
    broken,               ///< The connection broke; detail: errno.
    closed,               ///< The server closed the connection.
    no_login,             ///< The server did not answer the login in time.
    silent,               ///< The server sent nothing, not even a heartbeat.
    not_authorized,       ///< The server rejected user and password.
    session_unavailable,  ///< The server does not have the requested session.
    rejected,             ///< The server rejected the login with another code; detail: the code.
    bad_packet,           ///< A packet had the length 0.
    bad_login,            ///< An accepted login could not be read, or its number is 2^63 or more.
    unexpected,           ///< A packet came before the login was accepted, or after the last number; detail: its type.
    same_session,         ///< The server still has the session that it has ended.
    other_session,        ///< The server is in another session than the requested one; it is requested from message 1.
    went_back,            ///< The session's numbers have restarted; it is requested from message 1.
};

/// A sentence part such as "the server closed the connection".
[[nodiscard]] std::string to_string(SoupBinFailure failure, int detail);

/// Counters of a SoupBinTCP client. Written by its thread, read by any.
struct SoupBinCounters {
    core::Tally logins;      ///< Accepted logins.
    core::Tally rejects;     ///< Rejected logins.
    core::Tally failures;    ///< Connections that failed or ended without an end of session.
    core::Tally messages;    ///< Sequenced messages passed on.
    core::Tally duplicates;  ///< Sequenced messages with numbers that had been passed on before; dropped.
    core::Tally heartbeats;  ///< Heartbeats of the server.
    core::Tally unknown;     ///< Packets of an unknown type; ignored.

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("soupbin_logins", "Accepted logins at the SoupBinTCP server.", logins);
        visitor("soupbin_rejects", "Rejected logins at the SoupBinTCP server.", rejects);
        visitor("soupbin_failures", "Connections to the SoupBinTCP server that failed or broke.", failures);
        visitor("soupbin_messages", "Sequenced messages from the SoupBinTCP server.", messages);
        visitor("soupbin_duplicates", "Sequenced messages that had arrived before; dropped.", duplicates);
        visitor("soupbin_heartbeats", "Heartbeats of the SoupBinTCP server.", heartbeats);
        visitor("soupbin_unknown", "Packets of an unknown type; ignored.", unknown);
    }
};

/// Protocol of the client's side of one SoupBinTCP connection, without socket and clock: reads packets, numbers the
/// sequenced messages, and decides when a heartbeat is due and when the server is silent.
///
/// Handler:
///     on_login(soupbin::Session, next)   the login was accepted; the next message has the number `next`
///     on_message(bytes, number)          a sequenced message; the bytes are valid during the call
///     on_heartbeat()                     the server is alive
///     on_end_of_session()                the session has no further messages
///
/// Threads: one; counters on any.
/// Source:  soupbin_packet.hpp; section 1.2 (numbers), 1.3 (heartbeats), 1.4 (end of session).
class SoupBinSession {
public:
    enum class State : std::uint8_t { closed, logging_in, logged_in, ended };

    /// The client must send at least this often while it is logged in (section 1.3).
    static constexpr std::int64_t kHeartbeatNs = 1'000'000'000;

    /// silence_ns: time without a byte of the server after which the connection is dead; also the time for the login.
    explicit SoupBinSession(std::int64_t silence_ns) noexcept : silence_ns_(silence_ns) {}

    /// The login request of a new connection, which must be sent first.
    [[nodiscard]] std::array<std::byte, soupbin::kLoginRequestBytes> begin(
        const soupbin::LoginRequest& login) noexcept {
        state_ = State::logging_in;
        failure_ = SoupBinFailure::none;
        failure_detail_ = 0;
        heard_ = true;
        std::array<std::byte, soupbin::kLoginRequestBytes> packet{};
        write(login, packet);
        return packet;
    }

    /// Reads the complete packets of the received bytes. Returns the number of bytes read; keep the rest for the next
    /// call. failure() is set after a packet that ends the connection. Handlers may call `fail`.
    template <class Handler>
    std::size_t receive(std::span<const std::byte> bytes, Handler& handler) {
        std::size_t read = 0;
        while (failure_ == SoupBinFailure::none && state_ != State::ended) {
            const auto packet = soupbin::next_packet(bytes.subspan(read));
            if (!packet) {
                if (packet.error() == soupbin::PacketError::empty) fail(SoupBinFailure::bad_packet);
                break;
            }
            read += packet->bytes;
            apply(*packet, handler);
        }
        // Before the login only the answer counts, so that no server delays it forever.
        heard_ = heard_ || (!bytes.empty() && state_ != State::logging_in);
        return read;
    }

    /// Checks the server's silence; call it a few times a second, after `receive`. now_ns: of any monotonic clock.
    void on_timer(std::int64_t now_ns) noexcept {
        if (heard_) {
            heard_ = false;
            heard_ns_ = now_ns;
        } else if (failure_ == SoupBinFailure::none && now_ns - heard_ns_ > silence_ns_) {
            fail(state_ == State::logging_in ? SoupBinFailure::no_login : SoupBinFailure::silent);
        }
    }
    /// True if the client must send a heartbeat now, since it has sent nothing for the interval.
    [[nodiscard]] bool needs_heartbeat(std::int64_t now_ns) noexcept {
        if (sent_) {
            sent_ = false;
            sent_ns_ = now_ns;
        }
        return state_ == State::logged_in && now_ns - sent_ns_ >= kHeartbeatNs;
    }
    /// Notes that the client has sent something.
    void note_sent() noexcept { sent_ = true; }

    /// Ends the connection with this failure.
    void fail(SoupBinFailure failure, int detail = 0) noexcept {
        failure_ = failure;
        failure_detail_ = detail;
    }
    void close() noexcept { state_ = State::closed; }

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] SoupBinFailure failure() const noexcept { return failure_; }
    [[nodiscard]] int failure_detail() const noexcept { return failure_detail_; }
    /// Number of the next sequenced message; valid while logged in.
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
    [[nodiscard]] SoupBinCounters& counters() noexcept { return counters_; }
    [[nodiscard]] const SoupBinCounters& counters() const noexcept { return counters_; }

private:
    template <class Handler>
    void apply(const soupbin::Packet& packet, Handler& handler) {
        switch (packet.type) {
            case soupbin::kDebug: return;
            case soupbin::kLoginAccepted: return on_accepted(packet, handler);
            case soupbin::kLoginRejected: return on_rejected(packet);
            default: break;
        }
        if (state_ != State::logged_in) return fail(SoupBinFailure::unexpected, packet.type);
        if (packet.type == soupbin::kSequenced) {
            if (next_ == std::numeric_limits<std::uint64_t>::max())
                return fail(SoupBinFailure::unexpected, packet.type);
            handler.on_message(packet.payload, next_++);
        } else if (packet.type == soupbin::kServerHeartbeat) {
            counters_.heartbeats.add();
            handler.on_heartbeat();
        } else if (packet.type == soupbin::kEndOfSession) {
            state_ = State::ended;
            handler.on_end_of_session();
        } else {
            counters_.unknown.add();  // includes unsequenced messages, which only clients send
        }
    }
    template <class Handler>
    void on_accepted(const soupbin::Packet& packet, Handler& handler) {
        if (state_ != State::logging_in) return fail(SoupBinFailure::unexpected, packet.type);
        const auto login = soupbin::read_login_accepted(packet.payload);
        if (!login) return fail(SoupBinFailure::bad_login);
        state_ = State::logged_in;
        next_ = login->sequence;
        sent_ = true;
        counters_.logins.add();
        handler.on_login(login->session, login->sequence);
    }
    void on_rejected(const soupbin::Packet& packet) noexcept {
        if (state_ != State::logging_in) return fail(SoupBinFailure::unexpected, packet.type);
        const char code = packet.payload.empty() ? ' ' : static_cast<char>(packet.payload[0]);
        counters_.rejects.add();
        if (code == soupbin::kNotAuthorized) return fail(SoupBinFailure::not_authorized);
        if (code == soupbin::kSessionNotAvailable) return fail(SoupBinFailure::session_unavailable);
        fail(SoupBinFailure::rejected, code);
    }

    std::int64_t silence_ns_;
    State state_{State::closed};
    SoupBinFailure failure_{SoupBinFailure::none};
    int failure_detail_{0};
    bool heard_{false};  // the server has sent something since the last on_timer
    bool sent_{false};   // the client has sent something since the last on_timer
    std::int64_t heard_ns_{0};
    std::int64_t sent_ns_{0};
    std::uint64_t next_{0};
    SoupBinCounters counters_;
};

}  // namespace millpond::net
