#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/source.hpp"
#include "gateway/gateway.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::app {

class Arguments;

/// Demo of the gateway: a feed that the program sends to itself over loopback.
struct DemoOptions {
    std::string file;        ///< A capture or ITCH file; empty: a generated market.
    std::string speed{"1"};  ///< Speed of the replay.
    std::string format;      ///< Format of a capture's datagrams; empty: detected.
    double rate{5'000};      ///< Quotes per second of the generated market.

    void add_to(Arguments& options);
};

/// Returns the defaults of a demo: threads sleep while they wait, because they share the processors with the browser.
[[nodiscard]] gateway::Config demo_defaults();

/// Adds the feed, and a ring and tcp, web and csv sinks if the configuration has none; the csv file is in `folder`.
/// Uses other ports and another ring if the usual ones are in use. Throws UsageError.
void add_demo_feed(const DemoOptions& options, const std::filesystem::path& folder, gateway::Config& config);

/// Returns the address, or one with the next free port; reports a change. what: the listener, for the report.
[[nodiscard]] net::SocketAddress free_address(const net::SocketAddress& wanted, std::string_view what);

/// Sends the feed on its own thread until the feed ends or the destructor runs.
class Demo {
public:
    /// Opens the file. Throws exceptions derived from std::exception when it cannot be read.
    explicit Demo(const DemoOptions& options);
    ~Demo();
    Demo(const Demo&) = delete;
    Demo& operator=(const Demo&) = delete;

    /// Starts the thread. gateway: its configuration is from add_demo_feed.
    void begin(const gateway::Gateway& gateway);

private:
    void run(net::SocketAddress to);

    DemoOptions options_;
    double speed_;
    std::unique_ptr<traffic::Source> source_;  // created by the thread for the generated market
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace millpond::app
