#pragma once

#include <cstdint>

#include <millpond/core/tally.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// Counters of a sink's clients, written by the sink's thread and read on any.
struct Counters {
    core::Tally clients;  ///< Connected now.
    core::Tally accepted;
    core::Tally refused;   ///< Refused: max_clients, the token or TLS.
    core::Tally left;      ///< Closed by the client or the network.
    core::Tally departed;  ///< Disconnected, whoever closed the connection.
    core::Tally stalled;   ///< Disconnected because they accepted no data for too long.
    core::Tally overlong;  ///< Disconnected because of a request line that did not end.
    core::Tally bad_requests;
    core::Tally bytes;
    core::Tally delivered;  ///< Sum over the accounts of all clients, including past ones; also the next three.
    core::Tally filtered;
    core::Tally conflated;
    core::Tally missed;

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("clients", "Clients connected now.", clients);
        visitor("clients_accepted_total", "Clients that connected.", accepted);
        visitor("clients_refused_total", "Clients refused because too many were connected, or without token or TLS.",
                refused);
        visitor("clients_left_total", "Clients that closed the connection.", left);
        visitor("clients_stalled_total", "Clients disconnected because they accepted no data for too long.", stalled);
        visitor("clients_overlong_total", "Clients disconnected because of an over-long request line.", overlong);
        visitor("bad_requests_total", "Malformed request lines.", bad_requests);
        visitor("bytes_total", "Bytes sent to clients.", bytes);
        visitor("client_delivered_total", "Events delivered, over all clients.", delivered);
        visitor("client_filtered_total", "Events of instruments without a client's subscription, over all clients.",
                filtered);
        visitor("client_conflated_total", "Events replaced by newer ones, over all clients.", conflated);
        visitor("client_missed_total", "Events lost to slow clients, over all clients.", missed);
    }
    [[nodiscard]] SinkHealth health() const noexcept {
        return {.clients = clients.read(),
                .clients_departed = departed.read(),
                .clients_accepted = accepted.read(),
                .clients_stalled = stalled.read(),
                .clients_missed = missed.read()};
    }
};

/// The part of one client's account that the counters include already.
class Counted {
public:
    /// Adds the changes since the last call to the counters.
    void count(Counters& counters, const Account& now, std::uint64_t bytes_sent) {
        counters.delivered.add(now.delivered - account_.delivered);
        counters.filtered.add(now.filtered - account_.filtered);
        counters.conflated.add(now.conflated - account_.conflated);
        counters.missed.add(now.missed - account_.missed);
        counters.bytes.add(bytes_sent - bytes_sent_);
        account_ = now;
        bytes_sent_ = bytes_sent;
    }

private:
    Account account_{};
    std::uint64_t bytes_sent_{0};
};

}  // namespace millpond::gateway::json_lines
