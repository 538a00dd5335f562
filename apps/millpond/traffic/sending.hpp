#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <millpond/net/udp_sender.hpp>

#include "apps/millpond/traffic/clock.hpp"
#include "apps/millpond/traffic/fault_planter.hpp"
#include "apps/millpond/traffic/source.hpp"
#include "apps/millpond/traffic/transmitter.hpp"

namespace millpond::app {

class Arguments;

/// Options of both replay and generate.
struct SendingOptions {
    std::string to;
    std::string interface;
    int ttl{1};
    bool no_loop_back{false};
    std::size_t batch{32};
    bool spin{false};
    bool quiet{false};
    traffic::FaultFractions faults;

    void add_to(Arguments& options);
};

/// A run of replay or generate: sends sources one after the other, shows the progress on standard error (a bar on a
/// terminal, else a line every five seconds), and prints a summary on standard output at the end.
class Sending {
public:
    /// speed: Transmitter::Options::speed.
    Sending(const SendingOptions& options, double speed);

    /// Sends a source. False if Ctrl-C ended it. Throws std::runtime_error if the source is damaged.
    bool send(traffic::Source& source);

    /// Prints the summary; with_messages: the sources know how many messages their datagrams hold.
    void finish(bool with_messages);

    [[nodiscard]] bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }

private:
    void show(const traffic::Sent& sent);

    SendingOptions options_;
    const std::atomic<bool>& stop_;
    net::UdpSender sender_;
    traffic::MonotonicClock clock_;
    traffic::Transmitter transmitter_;
    traffic::FaultPlanter::Counts planted_;
    bool on_terminal_;
    std::int64_t show_at_ns_;
};

}  // namespace millpond::app
