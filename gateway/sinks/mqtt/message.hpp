#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <millpond/core/tally.hpp>
#include <millpond/feed/json_text.hpp>

namespace millpond::gateway::mqtt {

/// One PUBLISH on its way from the sink's thread to the link's.
struct Message {
    const std::string* topic{nullptr};  ///< Valid as long as the sink.
    std::uint16_t length{0};
    bool event{false};  ///< An event of the ring; otherwise a value that is sent again.
    std::array<char, feed::kMaxJsonBytes> payload{};

    [[nodiscard]] std::string_view text() const noexcept { return {payload.data(), length}; }
};

/// Written by the link's thread, read on any.
struct Counters {
    core::Tally messages;  ///< Confirmed.
    core::Tally bytes;     ///< Of their topics and payloads.
    core::Tally resent;
    core::Tally refused;
    core::Tally connects;
    core::Tally failed_connects;
    core::Tally losses;
    core::Tally connected;  ///< 1 or 0.

    /// Calls visit(name, help, tally) for each.
    template <class Visitor>
    void visit(Visitor&& visitor) const {
        visitor("messages_total", "Messages delivered: written (QoS 0) or acknowledged (QoS 1).", messages);
        visitor("bytes_total", "Bytes of their topics and payloads.", bytes);
        visitor("resent_total", "Messages sent again because the connection ended before they were acknowledged.",
                resent);
        visitor("refused_total", "Messages that the broker acknowledged with a refusal.", refused);
        visitor("connects_total", "Connections that the broker accepted.", connects);
        visitor("failed_connects_total", "Failed attempts to connect.", failed_connects);
        visitor("losses_total", "Established connections that were lost.", losses);
        visitor("connected", "1 while the broker is connected.", connected);
    }
};

}  // namespace millpond::gateway::mqtt
