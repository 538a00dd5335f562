#pragma once

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/source.hpp"
#include "gateway/config/config.hpp"
#include "gateway/gateway.hpp"

namespace millpond::app {

/// The gateway's demonstration: a feed that the program sends to itself over loopback.
struct DemoOptions {
    bool on{false};
    std::string file;        ///< A capture or ITCH file; a generated market when empty.
    std::string speed{"1"};  ///< Of the file.
    std::string format;      ///< Of a capture's datagrams.
    double rate{5'000};      ///< Of the generated market, quotes a second.

    void add_to(CLI::App& options);
};

/// Adds the feed, and a ring, a TCP sink and a CSV sink where the configuration has none. Throws UsageError.
void add_demo_feed(const DemoOptions& options, gateway::Config& config);

/// Sends the feed on a thread of its own until it is at its end or this object goes.
class Demo {
public:
    /// gateway: one whose configuration had add_demo_feed. Throws std::exception's heirs for a file that cannot be
    /// read.
    Demo(const DemoOptions& options, const gateway::Gateway& gateway);
    ~Demo();
    Demo(const Demo&) = delete;
    Demo& operator=(const Demo&) = delete;

private:
    void run(net::SocketAddress to, double speed);

    std::unique_ptr<traffic::Source> source_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace millpond::app
