#pragma once

#include <string>

#include <millpond/core/tally.hpp>

namespace millpond::gateway::mqtt {

/// A PUBLISH message on its way from the sink's thread to the link's.
struct Message {
    const std::string* topic{nullptr};  ///< Valid as long as the sink.
    std::string payload{};
    bool event{false};  ///< Whether it is an event of the ring; otherwise a repeated value.
};

/// Counters of a link, written by its thread and read on any.
struct Counters {
    core::Tally messages;  ///< Confirmed messages.
    core::Tally bytes;     ///< Bytes of their topics and payloads.
    core::Tally resent;
    core::Tally refused;
    core::Tally connects;
    core::Tally failed_connects;
    core::Tally losses;
    core::Tally unfinished_scans;
    core::Tally connected;  ///< 1 while connected, else 0.

    /// Calls visit(name, help, tally) for each counter.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("messages_total", "Messages delivered: written (QoS 0) or acknowledged (QoS 1).", messages);
        visitor("bytes_total", "Bytes of their topics and payloads.", bytes);
        visitor("resent_total", "Messages sent again because the connection ended before they were acknowledged.",
                resent);
        visitor("messages_refused_total",
                "Messages that the broker refused (MQTT 5, QoS 1), or that are larger than "
                "it takes.",
                refused);
        visitor("connects_total", "Connections that the broker accepted.", connects);
        visitor("failed_connects_total", "Failed attempts to connect.", failed_connects);
        visitor("losses_total", "Established connections that were lost.", losses);
        visitor("unfinished_scans_total",
                "Searches for retained messages of an earlier run that may have left some unmarked.", unfinished_scans);
        visitor("connected", "1 while the broker is connected.", connected);
    }
};

}  // namespace millpond::gateway::mqtt
