#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"
#include "tests/net/network_pair.hpp"

namespace millpond::app {

/// Two private network namespaces in which a test can cause faults: near0 is the interface of the gateway and the
/// doctor, far0 the sender's. Skips the test if the machine does not allow namespaces.
class PlantedNetwork : public testing::Test {
protected:
    static constexpr const char* kGroup = "239.1.1.1:14000";
    static constexpr const char* kHost = "10.99.0.1:14000";
    static constexpr const char* kTaggedTo = "10.42.0.1:14000";  ///< Destination of tagged datagrams.
    static constexpr std::uint16_t kHealthPort = 9464;  ///< The default; no other process is in this namespace.

    void SetUp() override;
    void TearDown() override;

    /// Runs a shell command in the thread's namespace; false if it fails.
    static bool shell(const std::string& command);
    /// Output of a command in the thread's namespace, including standard error.
    static std::string output_of(const std::string& command);

    /// Writes a configuration with feed 'f' of format quotes. more: further tables.
    void configure(const std::string& listen, const std::string& interface, const std::string& feed_more = {},
                   const std::string& more = {}) const;
    /// Sends from the far side until the returned program is destroyed.
    [[nodiscard]] std::unique_ptr<Program> send(const std::string& to, const std::string& format = "quotes",
                                                std::vector<std::string> more = {}) const;
    /// Sends a quote of one instrument with these flags every few milliseconds from the far side, always in the same
    /// session, numbered from 1.
    [[nodiscard]] std::jthread send_quotes_with(std::uint16_t flags, const std::string& to = kHost) const;
    /// Sends datagrams with the tag of VLAN 42 to `kTaggedTo`.
    [[nodiscard]] std::jthread send_tagged() const;
    /// Adds a second interface with an address on the near side, which receives nothing.
    static void add_other_link();
    /// Drops the feed's datagrams with nft; false if nft or the kernel's nf_tables are missing.
    static bool drop_by_nft();
    /// Starts a gateway with the configured feed on the near side.
    [[nodiscard]] std::unique_ptr<Program> start_gateway() const;

    /// The doctor's report about the feed as JSON. patience: maximum duration of the check.
    [[nodiscard]] Outcome ask_doctor(const std::string& patience) const;
    /// Waits until the gateway's health contains the text; returns the page.
    static std::string health_with(const std::string& text);
    /// Waits until a metric is not 0. metric: regular expression for its name and labels.
    static void wait_for_count(const std::string& metric);
    static void wait_for_datagrams() { wait_for_count(R"(millpond_feed_packets_total\{[^}]*\})"); }
    [[nodiscard]] const std::string& config() const { return config_; }
    [[nodiscard]] net::test::NetworkPair& pair() const { return *pair_; }

private:
    std::unique_ptr<net::test::NetworkPair> pair_;
    std::string config_;
    std::string ring_{unique_ring("planted")};
};

}  // namespace millpond::app
