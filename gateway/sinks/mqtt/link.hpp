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
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/queue/spsc_ring.hpp>

#include "gateway/sinks/account.hpp"
#include "gateway/sinks/mqtt/client.hpp"
#include "gateway/sinks/mqtt/message.hpp"
#include "gateway/sinks/mqtt/settings.hpp"

namespace millpond::gateway::mqtt {

/// Limits of the search for retained messages of an earlier run. A broker may drop retained messages on a slow
/// connection, so the search repeats until it finds none.
struct ScanLimits {
    std::size_t messages{65'536};                      ///< To mark at once; a repetition finds the others.
    std::size_t bytes{std::size_t{64} * 1024 * 1024};  ///< Of their topics and payloads.
    int scans{16};
    std::chrono::nanoseconds timeout{std::chrono::seconds{10}};  ///< Of all repetitions.
};

/// The connection to a broker: connects, reconnects after pauses that double, and sends the enqueued messages in
/// order. Messages that were not acknowledged when a connection ended are sent again on the next one.
///
/// The first connection reads the retained quotes and books of the templates' topics, which an earlier run has left,
/// and marks them incomplete before anything else is sent; meanwhile the state topic holds
/// {"state":"offline","reason":"starting"}. If some may be left when the limits are reached, that is logged and
/// counted.
///
/// The state topic holds, retained, {"state":"online"} while connected, {"state":"offline","reason":"stopped"}
/// after a clean end and, by the will, {"state":"offline","reason":"lost"} after any other.
///
/// Threads: one enqueues; the connection runs on a separate thread. libmosquitto's connect blocks, so the port is
///          probed first: a broker that does not answer delays neither the sink nor its end. Looking up a
///          host name may take as long as the system's resolver.
/// Source:  MQTT 3.1.1 and 5 (OASIS); mosquitto.h.
class Link {
public:
    /// Starts to connect in the background. Throws std::runtime_error for settings that libmosquitto refuses.
    Link(const Settings& settings, std::string password, service::LogFunction log, const ScanLimits& limits = {});
    /// Publishes the state "offline", within at most a second.
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Number of messages that it accepts now; 0 without a connection.
    [[nodiscard]] std::size_t available() const noexcept;
    /// Queues a message. Precondition: available() > 0.
    void enqueue(Message message) noexcept;
    /// Wakes the link's thread for enqueued messages.
    void wake() const noexcept;

    /// Numbers of enqueued events that the broker has acknowledged or refused.
    struct Answered {
        std::uint64_t events{0};
        std::uint64_t refused{0};  ///< Events that the broker refused; part of the total.
    };
    [[nodiscard]] Answered answered() const noexcept { return answered_.read(); }
    /// Number of events enqueued so far.
    [[nodiscard]] std::uint64_t enqueued_events() const noexcept { return enqueued_events_; }
    /// Number of connections that the broker has accepted.
    [[nodiscard]] std::uint64_t connections() const noexcept { return counters_.connects.read(); }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

private:
    struct Outgoing {
        Message message;
        bool state{false};  ///< Whether it is a message to the state topic, which was not enqueued.
        int id{0};          ///< Packet identifier; 0 before it is sent, and with QoS 0.
        bool confirmed{false};
        bool refused{false};  ///< Whether the broker has refused it.
    };

    /// Creates a client with the callbacks of this link.
    [[nodiscard]] Client new_client();
    void run(const std::stop_token& stop);
    /// Runs one connection, from the attempt to its end.
    void serve(const std::stop_token& stop);
    void run_connection(mosquitto* client, const std::stop_token& stop);
    /// Handles events of the connection; false when it has ended.
    [[nodiscard]] bool exchange(mosquitto* client);
    void begin(mosquitto* client);
    /// Subscribes to the retained messages, and publishes a message that arrives after them.
    void ask_for_retained(mosquitto* client);
    void on_message(std::string_view topic, std::string_view payload, bool retained);
    /// Ends the scan when all retained messages were read, or on refusal or timeout.
    void end_scan(mosquitto* client);
    void report_unfinished_scan();
    void forget_earlier();
    void announce(mosquitto* client);
    void send_waiting(mosquitto* client);
    [[nodiscard]] int publish(mosquitto* client, Outgoing& outgoing);
    [[nodiscard]] Outgoing state_message(std::string_view json) const;
    /// Publishes "stopped" and disconnects, within at most a second.
    void disconnect(mosquitto* client);
    void on_connect(int code);
    void on_publish(int id, int code);
    void refuse(Outgoing& outgoing, std::string_view why);
    void drop_confirmed();
    void note_confirmed(const Outgoing& outgoing) noexcept;
    void forget_connection();
    void fail(const std::string& why);
    void sleep_for(std::chrono::milliseconds time, const std::stop_token& stop) const;

    Settings settings_;
    std::string password_;
    service::LogFunction log_;
    ScanLimits limits_;
    core::Descriptor wake_;
    Counters counters_;
    queue::SpscRing<Message> queue_;
    std::uint64_t enqueued_messages_{0};  // used by the enqueuing thread
    std::uint64_t enqueued_events_{0};
    std::atomic<std::uint64_t> confirmed_messages_{0};
    SharedRecord<Answered> answered_;

    // Members of the link's thread.
    Answered answered_events_;
    enum class Scan : std::uint8_t { none, asked, seen, refused };
    Scan scan_{Scan::none};  // state of the scan for retained messages of an earlier run
    bool scanned_{false};
    int scans_{0};
    std::int64_t scan_until_ns_{0};
    std::vector<std::string> filters_;  // subscriptions for the topics of the templates
    std::deque<std::string> earlier_;   // topics that outgoing_ points to
    std::size_t earlier_bytes_{0};      // of these and their payloads
    bool exceeds_limits_{false};        // the scan found more messages than its limits permit
    std::deque<Outgoing> outgoing_;
    std::size_t sent_{0};  // messages of outgoing_ sent on this connection
    bool accepted_{false};
    std::string refusal_;  // the broker's reason for refusing the connection
    std::jthread thread_;
};

}  // namespace millpond::gateway::mqtt
