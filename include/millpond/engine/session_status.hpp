#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <millpond/engine/standby.hpp>
#include <millpond/fix/session.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// Why a session lost its connection.
enum class Closed : std::uint8_t {
    none,               ///< It has one, or had none yet.
    by_peer,            ///< The peer closed it, or the network did.
    logged_out,         ///< The Logout handshake is complete.
    logout_timeout,     ///< The peer did not answer our Logout.
    logon_timeout,      ///< No Logon arrived.
    logon_refused,      ///< The Logon was not in order, or the peer refused ours.
    heartbeat_timeout,  ///< The peer did not answer a TestRequest.
    sequence_too_low,   ///< A number that was used already, without PossDupFlag.
    outside_schedule,   ///< The session's time is over or has not started.
    slow_consumer,      ///< The peer reads too slowly.
    too_many_messages,  ///< The peer sends more than its rate.
    connect_failed,     ///< No connection: refused, unreachable, or not in time.
    tls_failed,         ///< The TLS handshake failed.
    application_error,  ///< A callback of the application threw.
    store_failed,       ///< The store's file could not be written through.
    standby_lost,       ///< Its standby was lost.
    superseded,         ///< Another machine has taken over.
    not_encoded,        ///< A session message that we owed did not fit into max_message_bytes.
    numbers_used_up,    ///< The next number to send is beyond 2^53 - 1: the session must be reset.
    shut_down,          ///< This side ends.
};

[[nodiscard]] std::string_view name(Closed reason) noexcept;
[[nodiscard]] Closed closed_by(fix::Disconnect reason) noexcept;

/// A session at some moment, for people and programs that watch it.
struct SessionStatus {
    std::string name;  ///< "FIX.4.4:HOUSE->CLIENT"
    fix::Role role{fix::Role::acceptor};
    fix::Session::State state{fix::Session::State::disconnected};
    std::string peer{};         ///< Address and port; empty while disconnected.
    bool enabled{true};         ///< False between request_logout and request_logon.
    bool open{true};            ///< Its schedule is open now.
    bool resending{false};      ///< A ResendRequest of the peer is being answered.
    bool awaits_resend{false};  ///< Our ResendRequest is not answered yet.
    std::uint64_t next_sender{0};
    std::uint64_t next_target{0};
    std::int64_t last_received_utc_ns{0};
    std::int64_t last_sent_utc_ns{0};
    std::int64_t connected_utc_ns{0};
    std::uint64_t connections{0};
    Closed last_closed{Closed::none};
    std::uint64_t received{0};
    std::uint64_t sent{0};
    std::uint64_t resent{0};
    std::uint64_t rejected{0};
    std::uint64_t garbled{0};         ///< Stretches of bytes that were no message, or a longer one than allowed.
    std::uint64_t pending_bytes{0};   ///< Sent and not yet taken by the socket.
    std::uint64_t lost_fills{0};      ///< Gap fills sent because messages were no longer in the store.
    std::uint64_t lost{0};            ///< These messages.
    std::uint64_t beyond{0};          ///< ResendRequests for numbers that were not sent yet.
    std::uint64_t store_failures{0};  ///< Times that the next file of the store could not be prepared.
    StandbyStatus standby{};
};

/// "disconnected", "awaiting logon", "active", "awaiting logout".
[[nodiscard]] std::string_view name(fix::Session::State state) noexcept;

}  // namespace millpond::engine
