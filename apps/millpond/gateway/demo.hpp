#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/source.hpp"
#include "gateway/gateway.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::app {

class Arguments;

/// Demo of the gateway: a feed that the program sends to itself over loopback.
struct DemoOptions {
    bool on{false};
    std::string file;        ///< A capture or ITCH file; a generated market when empty.
    std::string speed{"1"};  ///< Of the file.
    std::string format;      ///< Of a capture's datagrams.
    double rate{5'000};      ///< Of the generated market, quotes a second.

    void add_to(Arguments& options);
};

/// A new folder in the temporary folder. The destructor removes it with its contents.
class DemoFolder {
public:
    /// Throws std::system_error.
    DemoFolder();
    ~DemoFolder();
    DemoFolder(const DemoFolder&) = delete;
    DemoFolder& operator=(const DemoFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// Defaults of a demo: threads sleep while they wait, because they share the processors with the browser.
[[nodiscard]] gateway::Config demo_defaults();

/// Adds the feed, and a ring, a TCP, a web and a CSV sink where the configuration has none; rows go to a file in
/// `folder`. Throws UsageError.
void add_demo_feed(const DemoOptions& options, const std::filesystem::path& folder, gateway::Config& config);

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

    double speed_;
    std::unique_ptr<traffic::Source> source_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace millpond::app
