#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/descriptor.hpp>
#include <millpond/queue/spsc_ring.hpp>

#include "gateway/sinks/mqtt/client.hpp"
#include "gateway/sinks/mqtt/message.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"

namespace millpond::gateway::mqtt {

/// The connection to a broker: connects, reconnects after pauses that double, and sends the offered messages in
/// order. Messages that were not confirmed when a connection ended are sent again on the next one.
///
/// The first connection asks the broker for the retained quotes of the template's topics, which an earlier run has
/// left, and marks them incomplete before anything else is sent; meanwhile the state topic holds
/// {"state":"offline","reason":"starting"}.
///
/// The state topic holds, retained, {"state":"online"} while the broker has us, {"state":"offline","reason":"stopped"}
/// after a clean end and, by the will, {"state":"offline","reason":"lost"} after any other.
///
/// Threads: one offers; the connection runs on a separate thread. libmosquitto's connect blocks, so the port is
///          probed first: a broker that does not answer delays neither the sink nor its end. The lookup of a
///          host name may take as long as the system's resolver.
/// Source:  MQTT 3.1.1 and 5 (OASIS); mosquitto.h.
class Link {
public:
    /// Begins to connect. Throws std::runtime_error for settings that libmosquitto refuses.
    Link(const Options& options, service::Say say);
    /// Publishes to the state topic that we are offline, for at most a second.
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Messages that it accepts now; none without a connection.
    [[nodiscard]] std::size_t room() const noexcept;
    /// Only when there is room.
    void offer(const Message& message) noexcept;
    /// Lets the link's thread see what was offered.
    void wake() const noexcept;

    /// Events offered and not confirmed.
    [[nodiscard]] std::uint64_t held() const noexcept {
        return offered_events_ - confirmed_events_.load(std::memory_order_relaxed);
    }
    /// Grows by one with each connection that the broker accepts.
    [[nodiscard]] std::uint64_t connections() const noexcept { return counters_.connects.read(); }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

private:
    struct Outgoing {
        Message message;
        bool state{false};  ///< Ours, not offered.
        int id{0};          ///< Packet identifier; 0 while it is not sent, and with QoS 0.
        bool confirmed{false};
    };

    /// A client whose events come here.
    [[nodiscard]] Client connectable();
    void run(const std::stop_token& stop);
    /// One connection, from the attempt to its end.
    void serve(const std::stop_token& stop);
    void talk(mosquitto* client, const std::stop_token& stop);
    /// Handles events of the connection; false when it has ended.
    [[nodiscard]] bool exchange(mosquitto* client);
    void begin(mosquitto* client);
    /// Makes the broker send its retained messages, and a mark after them.
    void ask_for_retained(mosquitto* client);
    void on_message(std::string_view topic, std::string_view payload, bool retained);
    /// Quotes of an earlier run are marked, or cannot be.
    void end_look(mosquitto* client);
    void announce(mosquitto* client);
    void send_waiting(mosquitto* client);
    [[nodiscard]] int publish(mosquitto* client, Outgoing& outgoing);
    [[nodiscard]] Outgoing state_message(std::string_view json) const;
    /// Closes the connection cleanly, if that takes less than a second.
    void say_goodbye(mosquitto* client);
    void on_connect(int code);
    void on_publish(int id, int code);
    void drop_confirmed();
    void note_confirmed(const Outgoing& outgoing) noexcept;
    void forget_connection();
    void fail(const std::string& why);
    void rest(std::chrono::milliseconds time, const std::stop_token& stop) const;

    Options options_;
    service::Say say_;
    core::Descriptor wake_;
    Counters counters_;
    queue::SpscRing<Message> offered_;
    std::uint64_t offered_messages_{0};  // the offering thread's
    std::uint64_t offered_events_{0};
    std::atomic<std::uint64_t> confirmed_messages_{0};
    std::atomic<std::uint64_t> confirmed_events_{0};

    // The link's thread's.
    enum class Look : std::uint8_t { none, asked, seen, refused };
    Look look_{Look::none};  // at what an earlier run has left
    bool looked_{false};
    int looks_{0};
    std::int64_t look_until_ns_{0};
    std::string filter_;
    std::deque<std::string> earlier_;  // topics of outgoing_
    std::deque<Outgoing> outgoing_;
    std::size_t sent_{0};  // of outgoing_, on this connection
    bool accepted_{false};
    std::string refusal_;  // what the broker said
    std::jthread thread_;
};

}  // namespace millpond::gateway::mqtt
