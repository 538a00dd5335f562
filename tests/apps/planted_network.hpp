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

/// Two network namespaces of its own, in which a test breaks what it likes: near0 is the gateway's and the doctor's,
/// far0 the sender's. Skips where a machine does not allow that.
class PlantedNetwork : public testing::Test {
protected:
    static constexpr const char* kGroup = "239.1.1.1:14000";
    static constexpr const char* kHost = "10.99.0.1:14000";
    static constexpr const char* kTaggedTo = "10.42.0.1:14000";  ///< Where tagged datagrams go.
    static constexpr std::uint16_t kHealthPort = 9464;  ///< The default; no other process is in this namespace.

    void SetUp() override;
    void TearDown() override;

    /// Runs in the namespace that the thread is in.
    static bool shell(const std::string& command);
    /// What a command prints there, both outputs.
    static std::string said_by(const std::string& command);

    /// The feed 'f' of format quotes. more: further tables.
    void configure(const std::string& listen, const std::string& interface, const std::string& feed_more = {},
                   const std::string& more = {}) const;
    /// A sender on the far side, for as long as it lives.
    [[nodiscard]] std::unique_ptr<Program> send(const std::string& to, const std::string& format = "quotes",
                                                std::vector<std::string> more = {}) const;
    /// Sends a quote of one instrument, with those flags, every few milliseconds from the far side; always the same
    /// session from its first number on.
    [[nodiscard]] std::jthread send_quotes_with(std::uint16_t flags, const std::string& to = kHost) const;
    /// Sends datagrams to `kTaggedTo` that bear the tag of VLAN 42.
    [[nodiscard]] std::jthread send_tagged() const;
    /// A second interface on the near side, up, with an address, by which nothing comes.
    static void add_other_link();
    /// False where nft or the kernel's nf_tables are missing.
    static bool drop_by_nft();
    /// A gateway of the configured feed on the near side.
    [[nodiscard]] std::unique_ptr<Program> start_gateway() const;

    /// What the doctor says of the feed, as JSON. patience: how long it looks when the answer is not clear before.
    [[nodiscard]] Outcome ask_doctor(const std::string& patience) const;
    /// Waits until the gateway's health shows the text; gives what it shows.
    static std::string health_with(const std::string& text);
    /// Waits until the gateway counts something; metric: a regular expression of its name and labels.
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
