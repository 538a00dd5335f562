// Reloads that fail: every kind of sink detects the error before anything is closed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/rotated_file.hpp>
#include <millpond/journal/journal_writer.hpp>

#include "gateway/feeds/quotes/settings.hpp"
#include "gateway/settings/value.hpp"
#include "gateway/sinks/csv/settings.hpp"
#include "gateway/sinks/journal/settings.hpp"
#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/mqtt/settings.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/udp/settings.hpp"
#include "gateway/sinks/web/settings.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/support/line_client.hpp"

namespace millpond::gateway {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
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
    /// Adds one sink of each kind.
    void add_all(Config& config) const {
        config.add<tcp::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0");
        config.add<web::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0");
        config.add<csv::Settings>().path = path("quotes.csv");
        config.add<udp::Settings>().to = net::SocketAddress::parse("127.0.0.1:9");
        auto& journal = config.add<journal::Settings>();
        journal.writer.folder = path("journal");
        journal.writer.segment_bytes = 1U << 20U;
        if (mqtt::is_built()) {
            auto& mqtt = config.add<mqtt::Settings>();
            mqtt.port = 9;
            mqtt.user = "house";
            mqtt.password.file = secret("mqtt");
        }
        if (kafka::is_built()) {
            auto& kafka = config.add<kafka::Settings>();
            kafka.brokers = {"127.0.0.1:9"};
            kafka.password.file = secret("kafka");
        }
    }
    static std::vector<const Consumer*> running(const Gateway& gateway) {
        std::vector<const Consumer*> all;
        for (const auto& sink : gateway.sinks()) all.push_back(sink.get());
        return all;
    }
    /// Names of sinks, each with a change to the configuration.
    using Changes = std::vector<std::pair<std::string, std::function<void(Config&)>>>;
    /// Expects that each change alone is refused with the sink's name, and that all sinks continue.
    static void expect_refused(Gateway& gateway, const Config& config, const Changes& changes) {
        const auto before = running(gateway);
        for (const auto& [sink, change] : changes) {
            auto next = config;
            change(next);
            const auto result = gateway.reconfigure(next);
            EXPECT_THAT(result.done, IsEmpty()) << sink;
            EXPECT_THAT(result.refused, Contains(HasSubstr("sink '" + sink + "' keeps its old settings: "))) << sink;
            EXPECT_EQ(running(gateway), before) << sink;
        }
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
    EXPECT_THAT(result.refused, Contains(HasSubstr("sink 'csv' keeps its old settings: ring")));
    EXPECT_EQ(running(gateway.gateway()), before);
    client.receive();
    EXPECT_FALSE(client.over());
}

TEST_F(Reconfigure, EachKeyOfTheTopLevelThatCannotChangeIsNamed) {
    Config config;
    test::RunningGateway gateway{"keys", [&](Config& made) {
                                     made.rings[0].poll = core::Poll::block;
                                     made.rings[0].pin = 0;
                                     config = made;
                                 }};
    complete(config);
    auto next = config;
    next.poll = core::Poll::spin;
    next.pin = 1;
    next.capture_keep = 7;
    next.file_mode = 0600;
    next.quiet = next.strict = true;  // matter only at the start
    complete(next);
    EXPECT_THAT(
        gateway.gateway().reconfigure(next).refused,
        ElementsAre("capture_keep changed: ignored until a restart", "file_mode changed: ignored until a restart",
                    "poll changed: ignored until a restart", "pin changed: ignored until a restart"));
}

TEST_F(Reconfigure, AnotherChannelOfAFeedNeedsARestart) {
    Config config;
    test::RunningGateway gateway{"channel", [&](Config& made) {
                                     made.feeds[0].use<quotes::Settings>().from_channel = std::uint16_t{1};
                                     config = made;
                                 }};
    complete(config);
    EXPECT_THAT(gateway.gateway().reconfigure(config).refused, IsEmpty());
    for (const auto channel : {std::optional<std::uint16_t>{2}, std::optional<std::uint16_t>{}}) {
        auto next = config;
        next.feeds[0].use<quotes::Settings>().from_channel = channel;
        EXPECT_THAT(gateway.gateway().reconfigure(next).refused, Contains(HasSubstr("[[feed]] changed")));
    }
    EXPECT_THAT(gateway.gateway().reconfigure(config).refused, IsEmpty()) << "it still runs with the first";
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
        {"tcp token", [&](Config& next) { next.first<tcp::Settings>()->token.file = path("missing"); }},
        {"web token", [&](Config& next) { next.first<web::Settings>()->token.file = path("missing"); }},
        {"tcp tls",
         [&](Config& next) {
             next.first<tcp::Settings>()->tls = {.certificate = path("missing"), .key = path("missing")};
         }},
        {"web tls",
         [&](Config& next) {
             next.first<web::Settings>()->tls = {.certificate = path("missing"), .key = path("missing")};
         }},
    };
    if (mqtt::is_built()) {
        changes.emplace_back("mqtt password",
                             [&](Config& next) { next.first<mqtt::Settings>()->password.file = path("missing"); });
        changes.emplace_back("mqtt authority", [&](Config& next) {
            next.first<mqtt::Settings>()->tls = {
                .on = true, .authority = path("garbage.pem"), .certificate = {}, .key = {}};
        });
    }
    if (kafka::is_built()) {
        changes.emplace_back("kafka password",
                             [&](Config& next) { next.first<kafka::Settings>()->password.file = path("missing"); });
    }
    for (const auto& [what, change] : changes) {
        auto next = config;
        next.first<csv::Settings>()->flush = std::chrono::milliseconds{7};  // another change that would close a sink
        change(next);
        EXPECT_THROW(gateway.gateway().reconfigure(next), ConfigError) << what;
        EXPECT_EQ(running(gateway.gateway()), before) << what;
    }
    // Removes a secret of a sink that the reload does not change.
    if (mqtt::is_built()) {
        std::filesystem::remove(path("mqtt"));
        EXPECT_THROW(gateway.gateway().reconfigure(config), ConfigError);
        EXPECT_EQ(running(gateway.gateway()), before);
    }
}

TEST_F(Reconfigure, NewContentsOfASecretReplaceTheSinksThatReadIt) {
    Config config;
    test::RunningGateway gateway{"rotate", [&](Config& made) {
                                     add_all(made);
                                     made.first<tcp::Settings>()->token.file = secret("tcp");
                                     made.first<web::Settings>()->token.file = secret("web");
                                     made.admin_token.file = secret("admin");
                                     config = made;
                                 }};
    complete(config);
    EXPECT_THAT(gateway.gateway().reconfigure(config).done, IsEmpty());
    gateway.send_quote();
    const auto admits = [&](const std::string& sink, const std::string& token) {
        millpond::test::LineClient client{gateway.gateway().address_of(sink).port()};
        client.send_text(sink == "tcp" ? "{\"token\":\"" + token + "\"}\n"
                                       : "GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                                         "Authorization: Bearer " +
                                             token + "\r\n\r\n");
        const auto is_admitted = [&] {
            return client.text().find("AAPL") != std::string::npos || client.text().starts_with("HTTP/1.1 200");
        };
        while (!is_admitted() && !client.over()) {
            client.wait();
            client.receive();
        }
        return is_admitted();
    };
    const std::string old_token = "open-sesame-0123456789";
    const std::string new_token = "closed-sesame-0123456789";
    const auto rotate = [&](const char* name) { std::ofstream{path(name)} << new_token << "\n"; };
    for (const std::string sink : {"tcp", "web"}) {
        ASSERT_TRUE(admits(sink, old_token)) << sink;
        rotate(sink.c_str());
        const auto result = gateway.gateway().reconfigure(config);
        EXPECT_THAT(result.done, ElementsAre("sink '" + sink + "' is closed: a secret or certificate has changed",
                                             "sink '" + sink + "' runs"));
        EXPECT_THAT(result.refused, IsEmpty());
        EXPECT_FALSE(admits(sink, old_token)) << sink;
        EXPECT_TRUE(admits(sink, new_token)) << sink;
    }
    std::vector<std::string> brokers;
    if (mqtt::is_built()) brokers.emplace_back("mqtt");
    if (kafka::is_built()) brokers.emplace_back("kafka");
    for (const auto& sink : brokers) {
        rotate(sink.c_str());
        EXPECT_THAT(gateway.gateway().reconfigure(config).done, Contains("sink '" + sink + "' runs"));
    }
    const auto reload = [&](const std::string& token) {
        return gateway.gateway().reload_page().act({.path = "/api/reload"}, "Bearer " + token).status;
    };
    rotate("admin");
    EXPECT_THAT(gateway.gateway().reconfigure(config).done, ElementsAre("the admin token was read again"));
    EXPECT_EQ(reload(old_token), 401U);
    gateway.gateway().reloader().requests().close();  // reload requests are not answered in this test
    EXPECT_EQ(reload(new_token), 503U);
    EXPECT_THAT(gateway.gateway().reconfigure(config).done, IsEmpty());
}

TEST_F(Reconfigure, WhatASinkCannotOpenLeavesTheOneThatRunsAsItWas) {
    Config config;
    test::RunningGateway gateway{"places", [&](Config& made) {
                                     add_all(made);
                                     config = made;
                                 }};
    complete(config);
    std::filesystem::create_symlink(path("nowhere"), path("link.csv"));
    const millpond::test::LineClient client{gateway.tcp().port()};
    Changes changes{
        {"tcp",
         [](Config& next) { next.first<tcp::Settings>()->listen = net::SocketAddress::parse("192.0.2.1:9100"); }},
        {"web",
         [](Config& next) { next.first<web::Settings>()->listen = net::SocketAddress::parse("192.0.2.1:9100"); }},
        {"csv", [](Config& next) { next.first<csv::Settings>()->path = "/nonexistent/quotes.csv"; }},
        {"csv", [&](Config& next) { next.first<csv::Settings>()->path = path("link.csv"); }},
        {"journal",
         [&](Config& next) { next.first<journal::Settings>()->writer.folder = path("quotes.csv") + "/journal"; }},
        {"udp",
         [](Config& next) {
             next.first<udp::Settings>()->to = net::SocketAddress::parse("224.0.0.1:9000");
             next.first<udp::Settings>()->interface = "no-such-interface";
         }},
    };
    if (kafka::is_built()) {
        changes.emplace_back("kafka", [&](Config& next) {
            next.first<kafka::Settings>()->properties = {"security.protocol=ssl",
                                                         "ssl.ca.location=" + path("missing.pem")};
        });
    }
    expect_refused(gateway.gateway(), config, changes);
}

TEST_F(Reconfigure, AFileThatAnotherProcessHoldsIsRefusedBeforeAnythingIsClosed) {
    Config config;
    test::RunningGateway gateway{"held", [&](Config& made) {
                                     add_all(made);
                                     config = made;
                                 }};
    complete(config);
    core::RotatedFile csv{path("quotes-2.csv")};
    ASSERT_TRUE(csv.open());
    const millpond::journal::JournalWriter journal{
        {.folder = path("journal-2"), .ring = "other", .segment_bytes = 1U << 20U}, core::utc_nanos()};
    test::RunningGateway other{
        "holder", [](Config& made) { made.add<tcp::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0"); }};
    Changes changes{
        {"csv", [&](Config& next) { next.first<csv::Settings>()->path = path("quotes-2.csv"); }},
        {"journal", [&](Config& next) { next.first<journal::Settings>()->writer.folder = path("journal-2"); }},
        {"tcp", [&](Config& next) { next.first<tcp::Settings>()->listen = other.tcp(); }},
        {"web", [&](Config& next) { next.first<web::Settings>()->listen = other.tcp(); }},
    };
    expect_refused(gateway.gateway(), config, changes);
}

TEST_F(Reconfigure, ARefusedSinkKeepsItsOutputFromTheOneThatWantedIt) {
    Config config;
    test::RunningGateway gateway{"swap", [&](Config& made) {
                                     auto& a = made.add<csv::Settings>();
                                     a.name = "a";
                                     a.path = path("a.csv");
                                     auto& b = made.add<csv::Settings>();
                                     b.name = "b";
                                     b.path = path("b.csv");
                                     config = made;
                                 }};
    complete(config);
    const auto before = running(gateway.gateway());
    core::RotatedFile other{path("c.csv")};
    ASSERT_TRUE(other.open());
    auto next = config;
    next.sinks[0].as<csv::Settings>()->path = path("c.csv");
    next.sinks[1].as<csv::Settings>()->path = path("a.csv");
    const auto result = gateway.gateway().reconfigure(next);
    EXPECT_THAT(result.done, IsEmpty());
    EXPECT_THAT(result.refused, ElementsAre(HasSubstr("sink 'a' keeps its old settings: "),
                                            HasSubstr("sink 'b' keeps its old settings: ")));
    EXPECT_EQ(running(gateway.gateway()), before);
    // Without the obstacle both sinks exchange their paths.
    next.sinks[0].as<csv::Settings>()->path = path("b.csv");
    EXPECT_THAT(gateway.gateway().reconfigure(next).refused, IsEmpty());
    EXPECT_EQ(gateway.gateway().sinks().size(), 2U);
}

TEST_F(Reconfigure, ASinkThatCannotBeStartedAfterAllRunsWithItsOldSettings) {
    Config config;
    test::RunningGateway gateway{"restore", [&](Config& made) {
                                     made.add<csv::Settings>().path = path("quotes.csv");
                                     config = made;
                                 }};
    complete(config);
    auto next = config;
    next.first<csv::Settings>()->pin = 1'023;  // a processor that does not exist
    const auto result = gateway.gateway().reconfigure(next);
    EXPECT_THAT(result.refused, Contains(HasSubstr("sink 'csv' keeps its old settings")));
    ASSERT_EQ(gateway.gateway().sinks().size(), 1U);
    gateway.send_quote();
    EXPECT_TRUE(gateway.watch_until(
        [&](const health::State&) { return gateway.gateway().sinks()[0]->account().delivered != 0; }));
    EXPECT_TRUE(std::filesystem::exists(path("quotes.csv")));
}

TEST_F(Reconfigure, ACsvSinkThatIsReplacedGoesOnWithTheRowWhereItStopped) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    Config config;
    test::RunningGateway gateway{"goes-on", [&](Config& made) {
                                     made.add<csv::Settings>().path = path("first.csv");
                                     config = made;
                                 }};
    complete(config);
    // The second sink's rows and its events in the ring wait for the disk.
    constexpr std::uint64_t kRounds = 3;
    constexpr std::uint64_t kQuotes = 10;
    const std::array<std::string, kRounds> paths{"/dev/full", path("second.csv"), path("third.csv")};
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        for (std::uint64_t i = 0; i < kQuotes; ++i) gateway.send_quote();
        auto next = config;
        next.first<csv::Settings>()->path = paths.at(round);
        const auto result = gateway.gateway().reconfigure(next);
        EXPECT_THAT(result.refused, IsEmpty());
    }
    gateway.send_quote();
    std::vector<std::string> times;
    ASSERT_TRUE(gateway.watch_until([&](const health::State&) {
        times.clear();
        for (const auto* name : {"first.csv", "second.csv", "third.csv"}) {
            std::ifstream file{path(name)};
            std::string line;
            std::getline(file, line);  // the header
            while (std::getline(file, line)) times.push_back(line.substr(0, line.find(',')));
        }
        return times.size() > kRounds * kQuotes;
    }));
    EXPECT_EQ(times.size(), kRounds * kQuotes + 1);
    EXPECT_TRUE(std::ranges::is_sorted(times));
    EXPECT_EQ(gateway.logged().find("were not sent"), std::string::npos) << gateway.logged();
}

TEST_F(Reconfigure, WhatARemovedSinkLeavesIsAWarning) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "needs /dev/full";
    Config config;
    test::RunningGateway gateway{"leaves", [&](Config& made) {
                                     made.add<csv::Settings>().path = "/dev/full";
                                     auto& other = made.add<csv::Settings>();
                                     other.name = "other";
                                     other.path = path("other.csv");
                                     config = made;
                                 }};
    complete(config);
    gateway.send_quote();
    ASSERT_TRUE(gateway.watch_until(
        [&](const health::State&) { return gateway.gateway().sinks()[1]->account().published != 0; }));
    auto next = config;
    next.sinks.erase(next.sinks.begin());
    EXPECT_THAT(gateway.gateway().reconfigure(next).refused, IsEmpty());
    EXPECT_THAT(gateway.logged(), HasSubstr("queued 1; the queued events were not sent"));
}

TEST_F(Reconfigure, KafkaFollowsTheJournalThatRunsWhenTheNewOneIsRefused) {
    if (!kafka::is_built()) GTEST_SKIP() << "this build has no Kafka";
    Config config;
    test::RunningGateway gateway{"follow", [&](Config& made) {
                                     auto& journal = made.add<journal::Settings>();
                                     journal.writer.folder = path("journal");
                                     journal.writer.segment_bytes = 1U << 20U;
                                     made.add<kafka::Settings>().brokers = {"127.0.0.1:9"};
                                     config = made;
                                 }};
    complete(config);
    ASSERT_TRUE(std::filesystem::exists(path("journal/kafka.position")));
    auto next = config;
    next.first<journal::Settings>()->writer.folder = path("others");
    next.first<journal::Settings>()->pin = 1'023;  // the sink opens, but its thread cannot be started
    const auto result = gateway.gateway().reconfigure(next);
    EXPECT_THAT(result.refused, ElementsAre(HasSubstr("sink 'journal' keeps its old settings")));
    ASSERT_EQ(gateway.gateway().sinks().size(), 2U);
    EXPECT_EQ(gateway.gateway().sinks()[0]->journal()->folder.string(), path("journal"));
    EXPECT_EQ(gateway.gateway().sinks()[1]->type(), "kafka");
    EXPECT_FALSE(std::filesystem::exists(path("others/kafka.position")));
    gateway.send_quote();
    EXPECT_TRUE(
        gateway.watch_until([&](const health::State&) { return gateway.gateway().sinks()[1]->account().queued == 1; }));

    // A change of the journal and its follower is refused before anything is closed.
    next = config;
    std::ofstream{path("file")} << "no folder\n";
    next.first<journal::Settings>()->writer.folder = path("file") + "/journal";
    next.first<kafka::Settings>()->properties = {"linger.ms=1"};
    const auto second = gateway.gateway().reconfigure(next);
    EXPECT_THAT(second.refused, ElementsAre(HasSubstr("sink 'journal' keeps its old settings: ")));
    EXPECT_THAT(second.done, ElementsAre("sink 'kafka' is closed", "sink 'kafka' runs"));
    EXPECT_TRUE(
        gateway.watch_until([&](const health::State&) { return gateway.gateway().sinks()[1]->account().queued == 1; }));
}

TEST_F(Reconfigure, AConfigurationWithoutFeedsIsRefusedAndChangesNothing) {
    test::RunningGateway gateway{"nofeed", [&](Config& made) { add_all(made); }};
    const auto before = running(gateway.gateway());
    Config empty;
    complete(empty);
    EXPECT_THROW(gateway.gateway().reconfigure(empty), ConfigError);
    EXPECT_EQ(running(gateway.gateway()), before);
}

TEST_F(Reconfigure, HealthGoesOnWhileAReloadWaits) {
    test::RunningGateway gateway{"waits", [&](Config& made) { made.add<csv::Settings>().path = path("quotes.csv"); }};
    auto& reloader = gateway.gateway().reloader();
    std::promise<void> end;
    ASSERT_TRUE(reloader.begin([&] {
        end.get_future().wait();
        return Reloaded{.done = {"sink 'x' runs"}, .refused = {}};
    }));
    EXPECT_FALSE(reloader.begin([] { return Reloaded{}; }));
    EXPECT_FALSE(reloader.poll_finished());
    const auto looked = gateway.gateway().health()->now;
    gateway.send_quote();
    EXPECT_TRUE(gateway.watch_until([&](const health::State& state) {
        return state.now > looked && !state.sinks.empty() && state.sinks[0].account.delivered == 1;
    }));
    EXPECT_TRUE(reloader.is_running());
    end.set_value();
    EXPECT_TRUE(gateway.watch_until([&](const health::State&) { return reloader.poll_finished(); }));
    EXPECT_FALSE(reloader.is_running());
}

TEST_F(Reconfigure, AReloadOnItsThreadAndHealthDoNotDisturbEachOther) {
    Config config;
    test::RunningGateway gateway{"beside", [&](Config& made) {
                                     add_all(made);
                                     config = made;
                                 }};
    complete(config);
    auto& reloader = gateway.gateway().reloader();
    for (std::uint64_t i = 1; i <= 3; ++i) {
        auto next = config;
        next.first<csv::Settings>()->flush = std::chrono::milliseconds{i};
        next.first<journal::Settings>()->writer.keep_for = std::chrono::hours{i};
        ASSERT_TRUE(reloader.begin([&gateway, next] { return gateway.gateway().reconfigure(next); }));
        EXPECT_TRUE(gateway.watch_until([&](const health::State&) {
            static_cast<void>(gateway.gateway().page({.path = "/metrics"}));
            return reloader.poll_finished();
        }));
    }
    EXPECT_EQ(gateway.gateway().sinks().size(), config.sinks.size());
}

TEST_F(Reconfigure, AListenerThatIsOpenToOtherMachinesIsAFindingAndWithStrictAnError) {
    Config config;
    test::RunningGateway gateway{"exposed", [&](Config& made) {
                                     made.add<tcp::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0");
                                     config = made;
                                 }};
    complete(config);
    EXPECT_TRUE(gateway.becomes_good());
    auto open = config;
    open.first<tcp::Settings>()->listen = net::SocketAddress::parse("0.0.0.0:0");
    EXPECT_THAT(gateway.gateway().reconfigure(open).refused, IsEmpty());
    const auto finding = gateway.found(health::Stage::exposed);
    EXPECT_EQ(finding.of, "sink 'tcp'");
    EXPECT_EQ(finding.severity, service::Severity::warning);
    EXPECT_THAT(gateway.logged(), HasSubstr("[[tcp]] 'tcp': 0.0.0.0:0 is open to other machines without a token"));
    open.strict = true;
    EXPECT_THROW(gateway.gateway().reconfigure(open), ConfigError);
    EXPECT_THROW((test::RunningGateway{"strict",
                                       [](Config& made) {
                                           made.strict = true;
                                           made.metrics = net::SocketAddress::parse("0.0.0.0:0");
                                       }}),
                 ConfigError);
    EXPECT_THAT(gateway.gateway().reconfigure(config).refused, IsEmpty());
    EXPECT_TRUE(gateway.becomes_good());
}

TEST_F(Reconfigure, ClientsOfASinkThatAReloadClosesGetThatReason) {
    Config config;
    test::RunningGateway gateway{"goodbye", [&](Config& made) {
                                     made.add<tcp::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0");
                                     config = made;
                                 }};
    complete(config);
    millpond::test::LineClient client{gateway.tcp().port()};
    gateway.send_quote();
    const auto until = [&](auto&& reached) {
        while (!reached() && !client.over()) {
            client.wait();
            client.receive();
        }
        return reached();
    };
    ASSERT_TRUE(until([&] { return client.text().find("AAPL") != std::string::npos; }));
    config.first<tcp::Settings>()->max_clients = 7;
    EXPECT_THAT(gateway.gateway().reconfigure(config).refused, IsEmpty());
    EXPECT_TRUE(until([&] {
        return client.text().find("a reload closes this sink; connect again") != std::string::npos;
    })) << client.text();
}

}  // namespace
}  // namespace millpond::gateway
