#pragma once

#include <millpond/core/tally.hpp>

namespace millpond::gateway::tcp {

/// Written by the sink's thread, read on any.
struct Counters {
    core::Tally clients;  ///< Connected now.
    core::Tally accepted;
    core::Tally refused;   ///< Turned away because there are max_clients.
    core::Tally left;      ///< Closed by the client or the network.
    core::Tally stalled;   ///< Disconnected because they took nothing for too long.
    core::Tally overlong;  ///< Disconnected because of a request line that did not end.
    core::Tally bad_requests;
    core::Tally bytes;
    core::Tally delivered;  ///< These four: sums of the accounts of all clients, past ones included.
    core::Tally filtered;
    core::Tally conflated;
    core::Tally missed;

    /// Calls visit(name, help, tally) for each.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("clients", "Clients connected now.", clients);
        visitor("clients_accepted_total", "Clients that connected.", accepted);
        visitor("clients_refused_total", "Clients turned away because there were too many.", refused);
        visitor("clients_left_total", "Clients that closed the connection.", left);
        visitor("clients_stalled_total", "Clients disconnected because they took nothing for too long.", stalled);
        visitor("clients_overlong_total", "Clients disconnected because of an over-long request line.", overlong);
        visitor("bad_requests_total", "Request lines that were none.", bad_requests);
        visitor("bytes_total", "Bytes sent to clients.", bytes);
        visitor("client_delivered_total", "Events delivered, over all clients.", delivered);
        visitor("client_filtered_total", "Events of instruments that a client did not want, over all clients.",
                filtered);
        visitor("client_conflated_total", "Events replaced by newer ones, over all clients.", conflated);
        visitor("client_missed_total", "Events lost to slow clients, over all clients.", missed);
    }
};

}  // namespace millpond::gateway::tcp
