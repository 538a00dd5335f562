// Adds, changes and removes sinks of a running gateway, by SIGHUP or an authorized POST.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "admin-secret-0123456789";

class Reload : public testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
    void configure(const std::string& text) const { std::ofstream{path("gateway.toml")} << text; }
    [[nodiscard]] std::string csv(const std::string& name) const {
        return "[[csv]]\nname = '" + name + "'\nflush_ms = 1\npath = '" + path(name + ".csv") + "'\n";
    }
    [[nodiscard]] GatewayRun::Options options(const std::string& ring, std::vector<std::string> more = {}) const {
        more.insert(more.end(), {"--config", path("gateway.toml")});
        return {.ring = unique_ring(ring), .format = "quotes", .more = std::move(more)};
    }
    /// Waits until the metric is at least `least`; false after a timeout.
    static bool grows_to(const GatewayRun& gateway, std::string_view metric, std::int64_t least) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (gateway.metric(metric) < least) {
            if (core::monotonic_nanos() > deadline) return false;
            usleep(10'000);
        }
        return true;
    }
    /// Response of the metrics port to a POST.
    static std::string post(const GatewayRun& gateway, const std::string& path, const std::string& headers) {
        const auto url = gateway.word_after("metrics: http://");
        const auto host = url.substr(0, url.find('/'));
        test::LineClient client{static_cast<std::uint16_t>(std::atoi(host.substr(host.rfind(':') + 1).c_str()))};
        client.send_text("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n");
        while (!client.over()) {
            client.wait();
            client.receive();
        }
        return client.text();
    }

    /// Waits until /metrics no longer contains the text.
    static bool leaves_metrics(const GatewayRun& gateway, const std::string& text) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (gateway.page("/metrics").contains(text)) {
            if (core::monotonic_nanos() > deadline) return false;
        }
        return true;
    }

    std::filesystem::path folder_{std::filesystem::temp_directory_path() / unique_ring("reload")};
};

TEST_F(Reload, SinksComeAndGoUnderTrafficAndNothingIsLostOnTheReceivePath) {
    configure(csv("a"));
    GatewayRun gateway{options("reload")};
    Program sender{{"generate", "--format", "quotes", "--rate", "2000", "--to", gateway.feed_address(), "--quiet"}};
    ASSERT_TRUE(grows_to(gateway, "millpond_csv_rows_total", 100));

    configure(csv("b") + "[[tcp]]\nname = 't'\nlisten = '127.0.0.1:0'\n");
    gateway.program().signal(SIGHUP);
    ASSERT_TRUE(gateway.program().prints("reload: sink 'b' runs"));
    ASSERT_TRUE(gateway.program().prints("reload: sink 'a' is closed"));
    test::LineClient client{gateway.tcp_port("t")};
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (client.lines().size() < 100 && core::monotonic_nanos() < deadline) {
        client.wait();
        client.receive();
    }
    EXPECT_GE(client.lines().size(), 100U);
    ASSERT_TRUE(grows_to(gateway, "millpond_csv_rows_total", 100));
    // The health page is updated ten times a second.
    const auto has = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
    EXPECT_TRUE(leaves_metrics(gateway, "sink=\"a\""));
    EXPECT_THAT(gateway.page("/metrics"), HasSubstr("sink=\"b\""));
    std::string health;
    do {
        health = gateway.page("/api/health");
    } while ((!has(health, R"("name":"t")") || has(health, R"("name":"a")")) && core::monotonic_nanos() < deadline);
    EXPECT_THAT(health, AllOf(HasSubstr(R"("name":"t")"), Not(HasSubstr(R"("name":"a")"))));

    configure("");
    gateway.program().signal(SIGHUP);
    ASSERT_TRUE(gateway.program().prints("reload: sink 't' is closed"));
    const auto published = gateway.metric("millpond_ring_published_total");
    ASSERT_TRUE(grows_to(gateway, "millpond_ring_published_total", published + 100));
    EXPECT_EQ(gateway.metric("millpond_feed_sequence_missing_total"), 0);
    EXPECT_EQ(gateway.metric("millpond_feed_kernel_drops_total"), 0);
    EXPECT_EQ(gateway.metric("millpond_feed_malformed_total"), 0);
    EXPECT_TRUE(leaves_metrics(gateway, "sink=\""));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST_F(Reload, WhatNeedsARestartIsNamedAndLeftAsItWas) {
    configure("");
    GatewayRun gateway{options("restart")};
    configure("[[feed]]\nname = 'second'\nlisten = '127.0.0.1:0'\n" + csv("a"));
    gateway.program().signal(SIGHUP);
    EXPECT_TRUE(gateway.program().prints("[[feed]] changed: ignored until a restart"));
    EXPECT_TRUE(gateway.program().prints("sink 'a' runs"));
    EXPECT_THAT(gateway.page("/metrics"), Not(HasSubstr("feed=\"second\"")));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

TEST_F(Reload, AFaultyConfigurationChangesNothing) {
    configure(csv("a"));
    GatewayRun gateway{options("faulty")};
    for (const std::string text :
         {"[[csv]]\npaht = 'x'\n", "[[tcp]]\ntoken_file = '/nonexistent'\nlisten = '127.0.0.1:0'\n"}) {
        configure(text);
        gateway.program().signal(SIGHUP);
        EXPECT_TRUE(gateway.program().prints(text.starts_with("[[csv]]") ? "unknown key 'paht'" : "/nonexistent"));
    }
    EXPECT_THAT(gateway.page("/metrics"), HasSubstr("sink=\"a\""));
    EXPECT_THAT(gateway.end().err, HasSubstr("reload: nothing was changed"));
}

TEST_F(Reload, TheAdminsTokenAsksForTheSameAndIsNeverShown) {
    configure("");
    std::ofstream{path("token")} << kSecret << '\n';
    chmod(path("token").c_str(), 0600);
    GatewayRun gateway{options("admin", {"--admin-token-file", path("token")})};
    const auto bearer = "Authorization: Bearer " + std::string{kSecret} + "\r\n";
    configure(csv("a"));
    EXPECT_THAT(post(gateway, "/api/reload", ""), HasSubstr("401 Unauthorized"));
    EXPECT_THAT(post(gateway, "/api/reload", "Authorization: Bearer admin-secret-012345678x\r\n"),
                HasSubstr("401 Unauthorized"));
    EXPECT_THAT(post(gateway, "/api/reload", bearer + "Origin: http://evil.example\r\n"), HasSubstr("403 Forbidden"));
    EXPECT_THAT(post(gateway, "/metrics", bearer), HasSubstr("404 Not Found"));
    EXPECT_TRUE(leaves_metrics(gateway, "sink=\"a\""));
    EXPECT_THAT(post(gateway, "/api/reload", bearer),
                AllOf(HasSubstr("200 OK"), HasSubstr(R"({"done":["sink 'a' runs"],"refused":[]})")));
    configure("[[tcp]]\nname = 'bad'\nlisten = '192.0.2.1:9100'\n");
    EXPECT_THAT(post(gateway, "/api/reload", bearer), AllOf(HasSubstr("409 Conflict"), HasSubstr("sink 'a' is closed"),
                                                            HasSubstr("sink 'bad' was not added")));
    const auto pages = gateway.page("/metrics") + gateway.page("/api/health");
    const auto outcome = gateway.end();
    EXPECT_THAT(pages + outcome.out + outcome.err, Not(HasSubstr(kSecret)));
}

TEST_F(Reload, WithoutAnAdminsTokenEveryRequestIsRefused) {
    configure("");
    GatewayRun gateway{options("noadmin")};
    EXPECT_THAT(post(gateway, "/api/reload", ""), HasSubstr("405 Method Not Allowed"));
    EXPECT_EQ(gateway.end().exit_code, 0);
}

}  // namespace
}  // namespace millpond::app
