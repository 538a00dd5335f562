// The doctor's diagnosis of observations of a feed, and of a gateway's report about it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "apps/millpond/doctor/diagnose.hpp"
#include "apps/millpond/doctor/gateway_report.hpp"

namespace millpond::app::doctor {
namespace {

using ::testing::HasSubstr;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    return text.replace(text.find(what), what.size(), by);
}

/// A feed without faults; each test adds one.
FeedFacts well() {
    FeedFacts facts;
    facts.feed = "miax";
    facts.format = "miax-tom";
    facts.listen = net::SocketAddress::parse("224.0.105.2:51002");
    facts.interface = "eth1";
    facts.joined_on = {"eth1"};
    facts.gateway_runs = true;
    facts.link_watched = true;
    facts.on_link = 60;
    facts.sender = net::SocketAddress::parse("10.1.2.3:4000");
    facts.route_to_sender = "eth1";
    facts.socket_opened = true;
    facts.at_socket = 60;
    facts.decoded = 60;
    facts.receive_buffer = 1'000'000;
    facts.seconds = 3;
    return facts;
}

Finding verdict(const FeedFacts& facts) { return diagnose(facts).back(); }

TEST(DoctorFeed, AFeedThatIsWellPassesEveryStage) {
    for (const auto& finding : diagnose(well())) EXPECT_EQ(finding.level, Level::good) << finding.check << finding.what;
    EXPECT_EQ(verdict(well()).check, "decoder");
}

TEST(DoctorFeed, NamesTheStageWhereDatagramsStopAndTheCommandThatFixesIt) {
    const auto expect = [](auto&& spoil, const std::string& check, const std::string& what, const std::string& fix) {
        auto facts = well();
        spoil(facts);
        const auto found = verdict(facts);
        EXPECT_EQ(found.level, Level::bad);
        EXPECT_EQ(found.check, check);
        EXPECT_THAT(found.what, HasSubstr(what));
        EXPECT_THAT(found.fix, HasSubstr(fix));
    };
    expect([](auto& f) { f.interface_exists = false; }, "link", "no interface 'eth1'", "ip link");
    expect([](auto& f) { f.interface_up = false; }, "link", "eth1 is down", "ip link set eth1 up");
    expect([](auto& f) { f.carrier = false; }, "link", "no carrier", "ethtool eth1");
    expect([](auto& f) { f.joined_on = {}; }, "IGMP", "no process has joined", "restart");
    expect([](auto& f) { f.joined_on = {"eth0"}; }, "IGMP", "joined on eth0, not on eth1", "interface = \"eth1\"");
    expect([](auto& f) { f.vlan = 42; }, "VLAN", "tag 42", "type vlan id 42");
    expect([](auto& f) { f.on_link = 0; }, "datagrams", "no datagram", "IGMP snooping");
    expect([](auto& f) { f.on_link = 0, f.on_other_link = 5, f.other_interface = "eth2"; }, "IGMP", "arrive on eth2",
           "interface = \"eth2\"");
    expect([](auto& f) { f.at_socket = 0, f.rp_filter = 1, f.route_to_sender = "eth0"; }, "rp_filter", "leave by eth0",
           "net.ipv4.conf.eth1.rp_filter=0");
    expect([](auto& f) { f.at_socket = 0, f.rp_filter = 2, f.route_to_sender = ""; }, "rp_filter", "find no route",
           "rp_filter=0");
    expect([](auto& f) { f.at_socket = 0, f.dropping_rules = {"inet t / c: udp dport 51002 drop"}; }, "firewall",
           "udp dport 51002 drop", "nft insert rule inet t c udp dport 51002 accept");
    expect([](auto& f) { f.at_socket = 0; }, "socket", "do not reach a socket", "nft list ruleset");
    expect([](auto& f) { f.kernel_drops = 7; }, "socket buffer", "dropped 7", "rmem_max=2000000");
    expect([](auto& f) { f.decoded = 1, f.rejected = 2, f.first_error = "bad magic", f.first_rejected_hex = "dead"; },
           "decoder", "2 of 3 datagrams are not 'miax-tom': bad magic; the first one: dead",
           "format of [[feed]] 'miax'");
}

TEST(DoctorFeed, BesideAGatewayThatReportsHealthItsCountIsUsedForTheSocket) {
    auto facts = well();
    facts.gateway_queried = true;
    facts.socket_opened = false;
    facts.at_socket = 0;
    facts.gateway_received = 60;
    EXPECT_EQ(verdict(facts).level, Level::good);
    facts.gateway_received = 0;
    facts.dropping_rules = {"inet t / c: udp dport 51002 drop"};
    EXPECT_EQ(verdict(facts).check, "firewall");
    facts.kernel_drops = 60;  // drops show that the datagrams reached the socket
    EXPECT_EQ(verdict(facts).check, "socket buffer");
}

TEST(DoctorFeed, AGatewayWithoutHealthIsNamedAndTheDiagnosisContinues) {
    auto facts = well();
    facts.gateway_queried = true;
    facts.gateway_error = "127.0.0.1:9464: no answer";
    EXPECT_EQ(diagnose(facts).front().level, Level::bad);
    EXPECT_THAT(diagnose(facts).front().what, HasSubstr("no answer"));
    EXPECT_EQ(verdict(facts).check, "decoder");
    facts.gateway_runs = false;
    EXPECT_EQ(diagnose(facts).front().level, Level::advice);
    EXPECT_EQ(diagnose(facts).front().fix, "systemctl start millpond");
}

TEST(DoctorFeed, WhatTheGatewaySaysStandsBehindAWayThatIsWell) {
    const Finding reported{.check = "gap", .level = Level::bad, .what = "3 are missing", .fix = "ask"};
    auto facts = well();
    facts.gateway_findings = {reported};
    EXPECT_EQ(verdict(facts), reported);
    facts.carrier = false;
    EXPECT_EQ(verdict(facts).check, "link");
}

constexpr const char* kHealth = R"({"now":5000000000,"findings":[
    {"stage":"sink behind","severity":"error","of":"sink 'csv'","since":3000000000,"text":"9 events queued",
     "meaning":"late","advice":"Check its disk (`df -h`)."},
    {"stage":"gap","severity":"warning","of":"feed 'other'","since":1,"text":"3 sequence numbers are missing",
     "meaning":"missing","advice":"Look for drops."},
    {"stage":"halted","severity":"info","of":"feed 'f'","since":4000000000,"text":"the venue says: halted",
     "meaning":"halted","advice":"Wait for the venue."}],
    "feeds":[{"name":"other","ring":"main","packets":1},{"name":"f","ring":"main","packets":7}],
    "sinks":[{"name":"csv","ring":"main"},{"name":"tcp","ring":"second"}]})";

TEST(DoctorGatewayReport, HoldsWhatConcernsTheFeedItsRingAndTheSinksOfThat) {
    const auto report = parse_report(kHealth, "f");
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->datagrams, 7U);
    ASSERT_EQ(report->findings.size(), 2U);
    EXPECT_EQ(report->findings[0].level, Level::bad);
    EXPECT_EQ(report->findings[0].what, "the gateway reports for sink 'csv': 9 events queued (for 2.0 s)");
    EXPECT_EQ(report->findings[0].fix, "Check its disk (`df -h`).");
    EXPECT_EQ(
        report->findings[1],
        (Finding{"halted", Level::good, "the gateway reports for feed 'f': the venue says: halted (for 1.0 s)", ""}));
    EXPECT_EQ(parse_report(kHealth, "none"), std::nullopt);
    EXPECT_THROW(static_cast<void>(parse_report("<html>", "f")), std::runtime_error);
}

TEST(DoctorGatewayReport, IsWaitedForUntilItIsNewEnoughAndAnErrorSaysWhyThereIsNone) {
    int fetched = 0;
    const FetchHealth fetch = [&fetched]() -> std::string {
        if (++fetched == 3) throw std::runtime_error("connection refused");
        return replaced(kHealth, "5000000000", fetched == 1 ? "4000000000" : "6000000000");
    };
    const GatewayClient client{fetch, "f"};
    std::string error;
    EXPECT_EQ(client.query(6'000'000'000, error)->now_utc_ns, 6'000'000'000);
    EXPECT_EQ(fetched, 2);
    EXPECT_EQ(error, "");
    EXPECT_FALSE(client.query(0, error).has_value());
    EXPECT_EQ(error, "connection refused");
    EXPECT_FALSE(GatewayClient({}, "f").query(0, error).has_value());
}

TEST(DoctorFeed, WithoutTheRightToLookAtTheLinkTheSocketTells) {
    auto facts = well();
    facts.link_watched = false;
    facts.on_link = 0;
    EXPECT_EQ(verdict(facts).level, Level::good);
    facts.at_socket = facts.decoded = 0;
    EXPECT_THAT(verdict(facts).fix, HasSubstr("as root"));
}

}  // namespace
}  // namespace millpond::app::doctor
