// Checks the alerts and dashboards of deploy/ against the metrics of a gateway and of a FIX engine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <unistd.h>

#include <millpond/memory/block_pool.hpp>
#include <millpond/metrics/pool_metrics.hpp>
#include <millpond/metrics/registry.hpp>
#include <millpond/net/socket_address.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/http_page.hpp"
#include "tests/apps/program.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path kDeploy{MILLPOND_DEPLOY};

std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

/// Words in a text that match a pattern.
std::set<std::string> words_in(const std::string& text, const std::regex& form) {
    std::set<std::string> found;
    for (std::sregex_iterator at{text.begin(), text.end(), form}, end; at != end; ++at) found.insert(at->str(1));
    return found;
}

std::set<std::string> metrics_in(const std::string& text) {
    return words_in(text, std::regex{R"(\b(millpond_[a-z0-9_]+))"});
}

std::set<std::string> alerts_in(const std::string& rules) { return words_in(rules, std::regex{R"(alert: (\w+))"}); }

/// All metrics of a gateway with every kind of sink and feed, and those of a pool.
const std::set<std::string>& shown() {
    static const auto names = [] {
        const auto folder = std::filesystem::temp_directory_path() / unique_ring("watched");
        std::filesystem::create_directories(folder);
        GatewayRun gateway{
            {.ring = unique_ring("watched"),
             .format = "itch",
             .more = {"--tcp", "listen=127.0.0.1:0", "--csv", "path=" + (folder / "x.csv").string(), "--udp",
                      "to=127.0.0.1:9", "--mqtt", "broker=127.0.0.1:1", "--capture", (folder / "capture").string()}}};
        const memory::BlockPool pool{64, 64, {.name = "orders"}};
        metrics::Registry registry;
        const auto listed = metrics::add_pool(registry, pool);
        auto result = metrics_in(gateway.page("/metrics") + registry.prometheus_text());
        gateway.end();
        std::filesystem::remove_all(folder);
        return result;
    }();
    return names;
}

/// All metrics of a FIX engine with a session.
const std::set<std::string>& shown_by_fix() {
    static const auto names = [] {
        Program engine{{"fix", "acceptor", "--metrics", "127.0.0.1:0", "--acceptor", "listen=127.0.0.1:0", "--session",
                        "sender=VENUE,target=DESK"}};
        EXPECT_TRUE(engine.prints("/metrics\n")) << engine.output();
        const auto url = engine.word_after("metrics at http://");
        const auto slash = url.find('/');
        auto result = metrics_in(page_of(net::SocketAddress::parse(url.substr(0, slash)).port(), url.substr(slash)));
        engine.signal(SIGTERM);
        EXPECT_EQ(engine.wait().exit_code, 0);
        return result;
    }();
    return names;
}

std::set<std::string> unknown_in(const std::string& text, const std::set<std::string>& known) {
    std::set<std::string> unknown;
    for (const auto& name : metrics_in(text)) {
        if (!known.contains(name)) unknown.insert(name);
    }
    return unknown;
}

TEST(Watching, EveryMetricThatAnAlertNamesIsShown) {
    const auto rules = text_of(kDeploy / "prometheus/millpond.rules.yml");
    ASSERT_GE(metrics_in(rules).size(), 12U);
    EXPECT_THAT(unknown_in(rules, shown()), IsEmpty());
    EXPECT_THAT(unknown_in(text_of(kDeploy / "prometheus/millpond-fix.rules.yml"), shown_by_fix()), IsEmpty());
}

TEST(Watching, EveryMetricOfTheDashboardIsShown) {
    const auto dashboard = text_of(kDeploy / "grafana/millpond.json");
    ASSERT_GE(metrics_in(dashboard).size(), 20U);
    EXPECT_THAT(unknown_in(dashboard, shown()), IsEmpty());
    const auto fix = text_of(kDeploy / "grafana/millpond-fix.json");
    ASSERT_GE(metrics_in(fix).size(), 15U);
    EXPECT_THAT(unknown_in(fix, shown_by_fix()), IsEmpty());
}

TEST(Watching, EachAlertFiresWhenItShouldAndNotBefore) {
    if (std::system("command -v promtool >/dev/null") != 0) GTEST_SKIP() << "needs promtool (Debian: prometheus)";
    const auto test = [](const std::string& what) {
        return std::system(("cd '" + (kDeploy / "prometheus").string() + "' && promtool " + what).c_str());
    };
    std::string rules;
    std::string proofs;
    for (const std::string name : {"millpond", "millpond-fix"}) {
        EXPECT_EQ(test("check rules " + name + ".rules.yml"), 0);
        EXPECT_EQ(test("test rules " + name + ".rules.test.yml"), 0);
        rules += text_of(kDeploy / "prometheus" / (name + ".rules.yml"));
        proofs += text_of(kDeploy / "prometheus" / (name + ".rules.test.yml"));
    }
    for (const auto& alert : alerts_in(rules)) {
        const auto begin = proofs.find("name: " + alert + "\n");
        ASSERT_NE(begin, std::string::npos) << alert << " has no proof";
        const auto proof = proofs.substr(begin, proofs.find("- name: ", begin) - begin);
        EXPECT_THAT(proof, HasSubstr("alertname: " + alert + ", eval_time: ")) << "one line: when it does not fire";
        EXPECT_THAT(proof, HasSubstr("exp_alerts: []")) << alert << " is never silent";
        EXPECT_THAT(proof, HasSubstr("exp_labels: ")) << alert << " never fires";
    }
}

TEST(Watching, TheOperatorsPageSaysWhatToDoFirstForEachAlertAndKnowsNoOther) {
    const auto alerts = alerts_in(text_of(kDeploy / "prometheus/millpond.rules.yml") +
                                  text_of(kDeploy / "prometheus/millpond-fix.rules.yml"));
    ASSERT_GE(alerts.size(), 10U);
    // Rows of the runbook's table: "| AlertOne, AlertTwo | what to do |".
    const std::regex row{R"(\n\| (Millpond\w+(?:, Millpond\w+)*) \| \S)"};
    std::set<std::string> told;
    for (const auto& names : words_in(text_of(std::filesystem::path{MILLPOND_DOCS} / "guides/operate.md"), row)) {
        told.merge(words_in(names, std::regex{R"((\w+))"}));
    }
    EXPECT_EQ(told, alerts);
}

}  // namespace
}  // namespace millpond::app
