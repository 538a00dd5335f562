// What a reload cannot have is found before anything is closed, for every kind of sink.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "gateway/reload.hpp"
#include "gateway/settings/value.hpp"
#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::gateway {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Reconfigure : public ::testing::Test {
protected:
    Reconfigure() { std::filesystem::create_directories(folder_); }
    ~Reconfigure() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const char* name) const { return folder_ / name; }
    std::string secret(const char* name) const {
        std::ofstream{path(name)} << "open-sesame-0123456789\n";
        chmod(path(name).c_str(), 0600);
        return path(name);
    }
    /// One sink of each kind.
    void add_all(Config& config) const {
        config.tcp.emplace_back().listen = net::SocketAddress::parse("127.0.0.1:0");
        config.web.emplace_back().listen = net::SocketAddress::parse("127.0.0.1:0");
        config.csv.emplace_back().path = path("quotes.csv");
        config.udp.emplace_back().to = net::SocketAddress::parse("127.0.0.1:9");
        auto& journal = config.journals.emplace_back();
        journal.folder = path("journal");
        journal.segment_bytes = 1U << 20U;
        if (mqtt::is_built()) {
            auto& mqtt = config.mqtt.emplace_back();
            mqtt.port = 9;
            mqtt.user = "house";
            mqtt.password.file = secret("mqtt");
        }
        if (kafka::is_built()) {
            auto& kafka = config.kafka.emplace_back();
            kafka.brokers = {"127.0.0.1:9"};
            kafka.password.file = secret("kafka");
        }
    }
    static std::vector<const Consumer*> running(const Gateway& gateway) {
        std::vector<const Consumer*> all;
        for (const auto& sink : gateway.sinks()) all.push_back(sink.get());
        return all;
    }

    std::filesystem::path folder_{std::filesystem::path{::testing::TempDir()} /
                                  ("millpond_reconfigure_" + std::to_string(getpid()))};
};

TEST_F(Reconfigure, ARenamedRingIsRefusedAndNoSinkIsClosed) {
    Config config;
    test::RunningGateway gateway{"rename", [&](Config& made) {
                                     add_all(made);
                                     config = made;
                                 }};
    millpond::test::LineClient client{gateway.tcp().port()};
    const auto before = running(gateway.gateway());
    config.rings.front().name += "-renamed";
    complete(config);
    const auto result = gateway.gateway().reconfigure(config);
    EXPECT_THAT(result.done, IsEmpty());
    EXPECT_THAT(result.refused, Contains(HasSubstr("[[ring]] changed")));
    EXPECT_THAT(result.refused, Contains(HasSubstr("sink 'csv' is left as it was: ring")));
    EXPECT_EQ(running(gateway.gateway()), before);
    client.receive();
    EXPECT_FALSE(client.over());
}

TEST_F(Reconfigure, ASecretOrCertificateThatCannotBeReadChangesNothing) {
    Config config;
    test::RunningGateway gateway{"secrets", [&](Config& made) {
                                     add_all(made);
                                     config = made;
                                 }};
    complete(config);
    const auto before = running(gateway.gateway());
    std::ofstream{path("garbage.pem")} << "this is no certificate\n";
    std::vector<std::pair<const char*, std::function<void(Config&)>>> changes{
        {"tcp token", [&](Config& next) { next.tcp[0].token.file = path("missing"); }},
        {"web token", [&](Config& next) { next.web[0].token.file = path("missing"); }},
        {"tcp tls",
         [&](Config& next) {
             next.tcp[0].tls = {.certificate = path("missing"), .key = path("missing"), .client_ca = {}};
         }},
        {"web tls",
         [&](Config& next) {
             next.web[0].tls = {.certificate = path("missing"), .key = path("missing"), .client_ca = {}};
         }},
    };
    if (mqtt::is_built()) {
        changes.emplace_back("mqtt password", [&](Config& next) { next.mqtt[0].password.file = path("missing"); });
        changes.emplace_back("mqtt authority", [&](Config& next) {
            next.mqtt[0].tls = {.on = true, .authority = path("garbage.pem"), .certificate = {}, .key = {}};
        });
    }
    if (kafka::is_built()) {
        changes.emplace_back("kafka password", [&](Config& next) { next.kafka[0].password.file = path("missing"); });
    }
    for (const auto& [what, change] : changes) {
        auto next = config;
        next.csv[0].flush_ms = 7;  // something else that would close a sink
        change(next);
        EXPECT_THROW(gateway.gateway().reconfigure(next), ConfigError) << what;
        EXPECT_EQ(running(gateway.gateway()), before) << what;
    }
    // A secret that was removed under a sink that is not to change at all.
    if (mqtt::is_built()) {
        std::filesystem::remove(path("mqtt"));
        EXPECT_THROW(gateway.gateway().reconfigure(config), ConfigError);
        EXPECT_EQ(running(gateway.gateway()), before);
    }
}

TEST_F(Reconfigure, WhatASinkCannotOpenLeavesTheOneThatRunsAsItWas) {
    Config config;
    test::RunningGateway gateway{"places", [&](Config& made) {
                                     add_all(made);
                                     config = made;
                                 }};
    complete(config);
    const auto before = running(gateway.gateway());
    std::filesystem::create_symlink(path("nowhere"), path("link.csv"));
    const millpond::test::LineClient client{gateway.tcp().port()};
    std::vector<std::pair<std::string, std::function<void(Config&)>>> changes{
        {"tcp", [](Config& next) { next.tcp[0].listen = net::SocketAddress::parse("192.0.2.1:9100"); }},
        {"web", [](Config& next) { next.web[0].listen = net::SocketAddress::parse("192.0.2.1:9100"); }},
        {"csv", [](Config& next) { next.csv[0].path = "/nonexistent/quotes.csv"; }},
        {"csv", [&](Config& next) { next.csv[0].path = path("link.csv"); }},
        {"journal", [&](Config& next) { next.journals[0].folder = path("quotes.csv") + "/journal"; }},
        {"udp",
         [](Config& next) {
             next.udp[0].to = net::SocketAddress::parse("224.0.0.1:9000");
             next.udp[0].interface = "no-such-interface";
         }},
    };
    if (kafka::is_built()) {
        changes.emplace_back("kafka", [&](Config& next) {
            next.kafka[0].properties = {"security.protocol=ssl", "ssl.ca.location=" + path("missing.pem")};
        });
    }
    for (const auto& [sink, change] : changes) {
        auto next = config;
        change(next);
        for (auto& kafka : next.kafka) kafka.folder = next.journals[0].folder;
        const auto result = gateway.gateway().reconfigure(next);
        EXPECT_THAT(result.done, IsEmpty()) << sink;
        EXPECT_THAT(result.refused, Contains(HasSubstr("sink '" + sink + "' is left as it was: "))) << sink;
        EXPECT_EQ(running(gateway.gateway()), before) << sink;
    }
}

TEST_F(Reconfigure, ASinkThatCannotBeOpenedAfterAllRunsWithItsOldSettings) {
    Config config;
    test::RunningGateway gateway{"restore", [&](Config& made) {
                                     made.csv.emplace_back().path = path("quotes.csv");
                                     config = made;
                                 }};
    complete(config);
    auto next = config;
    next.csv[0].path = path("quotes-2.csv");
    // The look at the folder finds nothing wrong; another process has the file.
    core::RotatedFile other{next.csv[0].path};
    ASSERT_TRUE(other.open());
    const auto result = gateway.gateway().reconfigure(next);
    EXPECT_THAT(result.refused, Contains(HasSubstr("sink 'csv' runs with its old settings")));
    ASSERT_EQ(gateway.gateway().sinks().size(), 1U);
    gateway.send_quote();
    EXPECT_TRUE(gateway.watch_until(
        [&](const health::State&) { return gateway.gateway().sinks()[0]->account().delivered != 0; }));
    EXPECT_TRUE(std::filesystem::exists(path("quotes.csv")));
}

TEST(ReloadDesk, AnAskerDoesNotWaitForADeskThatCloses) {
    ReloadDesk desk;
    std::thread asker{[&] { EXPECT_FALSE(desk.ask(std::chrono::hours{1})); }};
    while (!desk.is_wished()) std::this_thread::yield();
    desk.close();
    asker.join();
    EXPECT_FALSE(desk.ask(std::chrono::hours{1}));
    EXPECT_TRUE(desk.is_closed());
}

}  // namespace
}  // namespace millpond::gateway
