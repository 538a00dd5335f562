// Engines with standbys: refused configurations, health of both sides, reload and promotion.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/fix/utc_time.hpp>

#include "fixd/admin/admin_server.hpp"
#include "service/config_error.hpp"
#include "service/settings/value.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/descriptor_limit.hpp"

namespace millpond::fixd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kServer = "[standby]\nlisten = '127.0.0.1:0'\ntls_certificate = 'c'\ntls_key = 'k'\n";
constexpr const char* kDeskSession = "[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\nstore = 's'\n";
constexpr const char* kStandby = "[session.standby]\naddress = 'b.example:7100'\n";

std::string standby_error(const std::string& toml) {
    try {
        static_cast<void>(RunningEngine::config_of(toml));
    } catch (const service::ConfigError& error) {
        return error.what();
    }
    return "";
}

TEST(FixStandbyConfig, EveryKeyIsRead) {
    const auto config = RunningEngine::config_of(
        std::string{kServer} + "tls_authorities = 'p'\ntoken_env = 'T'\n" + kDeskSession + kStandby +
        "mode = 'none'\non_standby_loss = 'continue'\ntimeout_ms = 250\ntls_server_name = 'n'\ntls_authorities = 'p'\n"
        "tls_certificate = 'c'\ntls_key = 'k'\ntoken_file = 'f'\n");
    EXPECT_EQ(config.standby->listen.port(), 0);
    EXPECT_EQ(config.standby->tls.authorities, "p");
    const auto& standby = config.sessions.at(0).standby.value();
    EXPECT_EQ(standby.address, "b.example:7100");
    EXPECT_EQ(standby.options.mode, engine::StandbyMode::none);
    EXPECT_EQ(standby.options.on_loss, engine::OnStandbyLoss::go_on);
    EXPECT_EQ(standby.options.timeout, std::chrono::milliseconds{250});
    EXPECT_EQ(standby.token.file, "f");
}

TEST(FixStandbyConfig, InsecureOrImpossibleConfigurationsAreRefused) {
    const std::string session{kDeskSession};
    EXPECT_THAT(standby_error(std::string{kServer} + session), HasSubstr("any program could write into the stores"));
    EXPECT_THAT(standby_error("[standby]\nlisten = '127.0.0.1:1'\ntoken_env = 'T'\n" + session),
                HasSubstr("a standby has no plain connections"));
    EXPECT_THAT(standby_error("[standby]\ntoken_env = 'T'\n" + session),
                HasSubstr("[standby]: key 'listen' is missing"));
    EXPECT_THAT(
        standby_error("[standby]\nlisten = 5\nlisen = 'x'\nallow = []\n" + session),
        ::testing::AllOf(HasSubstr("key 'listen' of [standby] expects"), HasSubstr("unknown key 'lisen' of [standby]"),
                         HasSubstr("key 'allow' of [standby] was removed")));
    EXPECT_THAT(standby_error(session + "[session.standby]\n"), HasSubstr("key 'address' is missing"));
    EXPECT_THAT(standby_error(session + "[session.standby]\naddress = 'nowhere'\n"), HasSubstr("key 'address'"));
    EXPECT_THAT(standby_error(session + kStandby + "tls_key = 'k'\n"),
                HasSubstr("'tls_certificate' is required with 'tls_key'"));
    EXPECT_THAT(standby_error(session + kStandby + "mode = 'sometimes'\n"), HasSubstr("one of none, received"));
    EXPECT_THAT(standby_error(session + kStandby + "on_loss = 'stop'\n"), HasSubstr("on_loss"));
    EXPECT_THAT(standby_error(session + kStandby + "timeout_ms = 1\n"), HasSubstr("timeout_ms"));
    EXPECT_THAT(standby_error("[[session]]\nsender = 'HOUSE'\ntarget = '*'\n" + std::string{kStandby}),
                HasSubstr("target '*' has no standby"));
    EXPECT_THAT(
        standby_error("[[session]]\nsender = 'HOUSE'\ntarget = 'A'\nstore = 'memory'\n" + std::string{kStandby}),
        HasSubstr("a standby needs a store in a file"));
}

/// Two engines in one folder.
class FixStandbyPair : public testing::Test {
protected:
    void SetUp() override {
        if (!made_.made()) GTEST_SKIP() << "the program openssl is missing";
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        std::ofstream{folder_ / "token"} << "a-token-that-both-know\n";
        ::chmod((folder_ / "token").c_str(), 0600);
    }
    void TearDown() override {
        desk_.reset();
        a_.reset();
        b_.reset();
        std::filesystem::remove_all(folder_);
    }
    [[nodiscard]] std::string session(const std::string& store, const std::string& more = "") const {
        return fmt::format("[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\nstore = '{}'\n{}",
                           (folder_ / store).string(), more);
    }
    [[nodiscard]] std::string with_standby(const std::string& more = "") const { return copied_to(*b_, more); }
    [[nodiscard]] std::string copied_to(RunningEngine& engine, const std::string& more = "") const {
        return fmt::format(
            "[session.standby]\naddress = '{}'\ntls_server_name = '{}'\ntls_authorities = '{}'\n"
            "token_file = '{}'\ntimeout_ms = 200\n{}",
            engine.engine().standby_address(), test::Certificates::kServerName, made_.certificate("ours"),
            (folder_ / "token").string(), more);
    }
    /// The top of the configuration file of a standby.
    [[nodiscard]] std::string standing_by() const {
        return fmt::format(
            "[standby]\nlisten = '127.0.0.1:0'\ntls_certificate = '{}'\ntls_key = '{}'\ntoken_file = '{}'\n"
            "[[acceptor]]\nlisten = '127.0.0.1:0'\n",
            made_.certificate("ours-server"), made_.key("ours-server"), (folder_ / "token").string());
    }
    void start_b(const std::string& more = "") {
        b_ = std::make_unique<RunningEngine>(standing_by() + session("b.store") + more);
    }
    void start_a(const std::string& standby) {
        a_ = std::make_unique<RunningEngine>("[[acceptor]]\nlisten = '127.0.0.1:0'\n" + session("a.store", standby));
    }
    [[nodiscard]] static std::string health(RunningEngine& engine) {
        return std::string{engine.engine().page({.path = "/api/health"}).body};
    }
    /// Waits for a log line, which follows its counter.
    static void expect_said(RunningEngine& engine, const testing::Matcher<const std::string&>& text) {
        EXPECT_TRUE(comes_true([&] { return testing::Value(engine.said(), text); })) << engine.said();
    }
    [[nodiscard]] static bool shows(RunningEngine& engine, std::string_view text) {
        return health(engine).find(text) != std::string::npos;
    }

    [[nodiscard]] static std::uint16_t port_of(std::string_view address) {
        return static_cast<std::uint16_t>(std::stoi(std::string{address.substr(address.rfind(':') + 1)}));
    }
    /// The number of refusals that b counted.
    [[nodiscard]] int refusals(std::string_view reason) const {
        const auto metrics = b_->engine().page({.path = "/metrics"}).body;
        const auto line = fmt::format("millpond_fix_replica_refusals_total{{reason=\"{}\"}} ", reason);
        const auto at = metrics.find(line);
        return at == std::string::npos ? -1 : std::stoi(std::string{metrics.substr(at + line.size(), 12)});
    }

    test::Certificates made_;
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / fmt::format("millpond-fixd-standby-{}", getpid());
    std::unique_ptr<RunningEngine> b_;
    std::unique_ptr<RunningEngine> a_;
    std::unique_ptr<RunningEngine> desk_;
};

TEST_F(FixStandbyPair, HealthShowsBothSidesAndTheirFindings) {
    start_b();
    EXPECT_TRUE(shows(*b_, "\"stage\":\"standby_gaps\""));
    EXPECT_TRUE(shows(*b_, "\"stage\":\"no_primary\""));
    EXPECT_TRUE(b_->engine().sessions().empty());
    start_a(with_standby());
    ASSERT_TRUE(comes_true([&] { return shows(*a_, "\"standby\":{\"state\":\"attached\""); })) << health(*a_);
    ASSERT_TRUE(comes_true([&] { return shows(*b_, "\"findings\":[]"); })) << health(*b_);
    EXPECT_TRUE(shows(*b_, "\"whole\":true"));
    desk_ = std::make_unique<RunningEngine>(connects("DESK", *a_));
    ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE"); }));
    EXPECT_THAT(a_->engine().page({.path = "/metrics"}).body,
                HasSubstr("millpond_fix_standby_state{session=\"FIX.4.4:HOUSE->DESK\"} 3"));
    EXPECT_THAT(b_->engine().page({.path = "/metrics"}).body, HasSubstr("millpond_fix_replicas_whole 1"));
    // Without the standby the session stops, and /health says so.
    const auto reload = with_standby("on_standby_loss = 'continue'\n");
    b_.reset();
    ASSERT_TRUE(comes_true([&] { return shows(*a_, "\"stage\":\"standby_stopped\""); })) << health(*a_);
    ASSERT_TRUE(comes_true([&] { return !desk_->is_active("HOUSE"); }));
    EXPECT_FALSE(a_->engine().page({.path = "/health"}).good);
    ASSERT_TRUE(comes_true([&] {
        a_->engine().watch();
        return a_->said().find("the standby is lost") != std::string::npos;
    }));
    EXPECT_THAT(a_->said(), HasSubstr("the session stops until it is back (losses since startup: 1)"));
    // A reload lets the session continue.
    const auto result = a_->reload("[[acceptor]]\nlisten = '127.0.0.1:0'\n" + session("a.store", reload));
    EXPECT_THAT(result.done, ::testing::ElementsAre("session FIX.4.4:HOUSE->DESK is changed"));
    ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE"); }));
    ASSERT_TRUE(comes_true([&] { return shows(*a_, "\"stage\":\"standby_lost\""); })) << health(*a_);
    EXPECT_TRUE(a_->engine().page({.path = "/health"}).good);
}

TEST_F(FixStandbyPair, ASessionThatWaitsForItsPromotionIsNotControlledThere) {
    const auto admin = (folder_ / "b.sock").string();
    b_ = std::make_unique<RunningEngine>(fmt::format("admin = '{}'\n", admin) + standing_by() + session("b.store"));
    for (const char* request : {"logout\tDESK\tx", "logon\tDESK", "reset\tDESK", "set-seq\tDESK\t2\t2"}) {
        EXPECT_THAT(ask_engine(admin, request),
                    HasSubstr("FIX.4.4:HOUSE->DESK does not run here: this engine is its standby"));
    }
}

TEST_F(FixStandbyPair, APromotionRunsTheSessionThereAndEndsItHere) {
    start_b();
    EXPECT_THAT(b_->engine().promote("FIX.4.4:HOUSE->DESK", false), HasSubstr("it was never whole"));
    EXPECT_THAT(b_->engine().promote("FIX.4.4:HOUSE->NO", false), HasSubstr("there is no session"));
    start_a(with_standby());
    ASSERT_TRUE(comes_true([&] { return shows(*b_, "\"whole\":true"); })) << health(*a_);
    EXPECT_EQ(b_->engine().promote("FIX.4.4:HOUSE->DESK", false), "");
    EXPECT_EQ(b_->engine().promote("FIX.4.4:HOUSE->DESK", false), "") << "a second time changes nothing";
    ASSERT_TRUE(comes_true([&] { return shows(*a_, "\"stage\":\"superseded\""); })) << health(*a_);
    EXPECT_FALSE(a_->engine().page({.path = "/health"}).good);
    desk_ = std::make_unique<RunningEngine>(connects("DESK", *b_));
    ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE"); }));
    EXPECT_EQ(b_->status("HOUSE").standby.state, engine::StandbyStatus::State::off);
    // The old primary takes the session back on request.
    EXPECT_THAT(a_->engine().promote("FIX.4.4:HOUSE->DESK", false), HasSubstr("another machine has taken over"));
    EXPECT_EQ(a_->engine().promote("FIX.4.4:HOUSE->DESK", true), "");
    ASSERT_TRUE(comes_true([&] { return shows(*b_, "\"stage\":\"superseded\""); })) << health(*b_);
    ASSERT_TRUE(comes_true([&] { return !desk_->is_active("HOUSE"); }));
}

TEST_F(FixStandbyPair, MachinesPromotedBeforeTheyMetRefuseEachOtherAndNameTheRemedy) {
    start_b();
    a_ = std::make_unique<RunningEngine>(standing_by() + session("a.store", with_standby()));
    ASSERT_EQ(b_->engine().promote("FIX.4.4:HOUSE->DESK", true), "");
    ASSERT_EQ(a_->engine().promote("FIX.4.4:HOUSE->DESK", true), "");
    ASSERT_TRUE(comes_true([&] { return shows(*a_, "both machines run the session with epoch 1: stop one"); }))
        << health(*a_);
    EXPECT_EQ(a_->status("DESK").standby.epoch, 1U);
}

TEST_F(FixStandbyPair, AMachineThatWasTakenOverBecomesTheStandbyAutomatically) {
    start_b();
    a_ = std::make_unique<RunningEngine>(standing_by() + session("a.store", with_standby()));
    ASSERT_EQ(a_->engine().promote("FIX.4.4:HOUSE->DESK", true), "");
    ASSERT_TRUE(comes_true([&] { return shows(*b_, "\"whole\":true"); })) << health(*a_);
    EXPECT_THAT(b_->reload(standing_by() + session("b.store", copied_to(*a_))).refused, ::testing::IsEmpty());
    for (int turn = 0; turn < 4; ++turn) {
        auto& next = turn % 2 == 0 ? *b_ : *a_;
        auto& former = turn % 2 == 0 ? *a_ : *b_;
        ASSERT_TRUE(comes_true([&] { return shows(next, "\"whole\":true"); })) << health(next);
        ASSERT_EQ(next.engine().promote("FIX.4.4:HOUSE->DESK", false), "");
        desk_ = std::make_unique<RunningEngine>(connects("DESK", next));
        ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE"); })) << turn << health(next);
        ASSERT_TRUE(comes_true([&] {
            former.engine().watch();
            return former.engine().sessions().empty() && shows(former, "\"whole\":true");
        })) << turn
            << health(former) << health(next);
        EXPECT_THAT(former.said(), HasSubstr("FIX.4.4:HOUSE->DESK: this engine is its standby"));
        EXPECT_TRUE(former.engine().page({.path = "/health"}).good);
        ASSERT_TRUE(
            comes_true([&] { return next.status("DESK").standby.state == engine::StandbyStatus::State::attached; }));
        desk_.reset();
    }
}

TEST_F(FixStandbyPair, AReloadAddsAndRemovesCopiesAndKeepsTheOthers) {
    const auto more = fmt::format("[[session]]\nsender = 'HOUSE'\ntarget = 'OTHER'\nstore = '{}'\n",
                                  (folder_ / "other.store").string());
    start_b();
    start_a(with_standby());
    ASSERT_TRUE(comes_true([&] { return shows(*b_, "\"whole\":true"); }));
    const auto top = standing_by();
    EXPECT_THAT(b_->reload(top + session("b.store") + more).done,
                ::testing::ElementsAre("session FIX.4.4:HOUSE->OTHER is added"));
    EXPECT_TRUE(shows(*b_, "HOUSE->OTHER"));
    EXPECT_THAT(b_->reload(top + session("b.store", "heartbeat_seconds = 7\n")).done,
                ::testing::UnorderedElementsAre("session FIX.4.4:HOUSE->OTHER is removed",
                                                "session FIX.4.4:HOUSE->DESK is changed"));
    EXPECT_FALSE(shows(*b_, "HOUSE->OTHER"));
    ASSERT_TRUE(comes_true([&] { return shows(*a_, "\"state\":\"attached\""); })) << health(*a_);
    EXPECT_EQ(b_->engine().promote("FIX.4.4:HOUSE->DESK", false), "");
}

TEST_F(FixStandbyPair, ASessionThatAReloadRemovesLeavesItsCopyWhichIsFilledWhenItIsAddedAgain) {
    const std::string listen = "[[acceptor]]\nlisten = '127.0.0.1:0'\n";
    start_b();
    start_a(with_standby());
    desk_ = std::make_unique<RunningEngine>(connects("DESK", *a_));
    ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE") && shows(*b_, "\"whole\":true"); }));
    const auto whole = listen + session("a.store", with_standby());
    EXPECT_THAT(a_->reload(listen).done, ::testing::ElementsAre("session FIX.4.4:HOUSE->DESK is removed"));
    ASSERT_TRUE(comes_true([&] { return shows(*b_, "\"stage\":\"no_primary\"") && !desk_->is_active("HOUSE"); }));
    EXPECT_THAT(a_->engine().page({.path = "/metrics"}).body, ::testing::Not(HasSubstr("millpond_fix_standby_state{")));
    EXPECT_THAT(a_->reload(whole).done, ::testing::ElementsAre("session FIX.4.4:HOUSE->DESK is added"));
    ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE"); })) << health(*a_);
    ASSERT_TRUE(comes_true([&] { return shows(*b_, "\"findings\":[]"); })) << health(*b_);
    EXPECT_EQ(b_->engine().promote("FIX.4.4:HOUSE->DESK", false), "");
    EXPECT_GE(b_->status("DESK").next_target, 3U) << "a Logon before the reload and one after it";
}

TEST_F(FixStandbyPair, AReloadWithStandbyFilesThatCannotBeReadChangesNothing) {
    start_b();
    const std::string listen = "[[acceptor]]\nlisten = '127.0.0.1:0'\n";
    start_a("");
    desk_ = std::make_unique<RunningEngine>(connects("DESK", *a_));
    ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE"); }));
    for (const char* wrong : {"tls_certificate = '/nonexistent.pem'\ntls_key = '/nonexistent.pem'\n", ""}) {
        auto standby = with_standby(wrong);
        if (*wrong == '\0') standby.replace(standby.find("token_file"), 10, "token_env");  // not set
        EXPECT_ANY_THROW(a_->reload(listen + session("a.store", "heartbeat_seconds = 7\n" + standby)));
    }
    EXPECT_EQ(a_->status("DESK").connections, 1U);
    EXPECT_TRUE(desk_->is_active("HOUSE"));
}

TEST_F(FixStandbyPair, ACopyWhosePrimaryContinuesWithoutItReportsItsAge) {
    start_b();
    EXPECT_TRUE(shows(*b_, "no primary was ever connected"));
    start_a(with_standby());
    desk_ = std::make_unique<RunningEngine>(connects("DESK", *a_));
    ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE") && shows(*b_, "\"whole\":true"); }));
    const auto before = core::utc_nanos() / 1'000'000'000;
    static_cast<void>(a_->reload("[[acceptor]]\nlisten = '127.0.0.1:0'\n" + session("a.store")));
    ASSERT_TRUE(comes_true([&] { return shows(*b_, "no primary is connected, the copy is of 20"); })) << health(*b_);
    b_.reset();
    start_b();
    const auto text = health(*b_);
    const auto at = text.find("the copy is of ");
    ASSERT_NE(at, std::string::npos) << text;
    const auto time = fix::parse_utc_timestamp(std::string_view{text}.substr(at + 15, 17));
    ASSERT_TRUE(time.has_value()) << text;
    EXPECT_NEAR(static_cast<double>(*time / 1'000'000'000), static_cast<double>(before), 60);
}

TEST_F(FixStandbyPair, ReloadsWhileTheCopyFillsLoseNothingOfIt) {
    const std::string listen = "[[acceptor]]\nlisten = '127.0.0.1:0'\n";
    constexpr std::uint64_t kOrders = 10'000;
    start_b();
    a_ = std::make_unique<RunningEngine>(listen + session("a.store"), filling());
    engine::RawClient desk{a_->port()};
    desk.send(fix44("A", 1, "DESK", "HOUSE", "98=0|108=30|"));
    std::string orders;
    for (std::uint64_t i = 2; i < kOrders; ++i) {
        orders +=
            fix44("D", i, "DESK", "HOUSE", fmt::format("11={}|55=MSFT|54=1|38=1|40=2|44=1|60=20240102-03:04:05|", i));
        if (i % 100 != 0) continue;
        desk.send(orders);
        orders.clear();
        ASSERT_TRUE(comes_true([&] { return desk.receive(), a_->status("DESK").next_target > i; }));
        desk.forget();
    }
    const auto next_sender = a_->status("DESK").next_sender;
    for (int i = 0; i < 10; ++i) {
        const auto seconds = fmt::format("heartbeat_seconds = {}\n", 30 + i);
        const auto result =
            a_->reload(listen + session("a.store", seconds + with_standby("on_standby_loss = 'continue'\n")));
        EXPECT_THAT(result.done, ::testing::ElementsAre("session FIX.4.4:HOUSE->DESK is changed")) << i;
    }
    ASSERT_TRUE(comes_true([&] { return shows(*b_, "\"whole\":true"); })) << health(*b_);
    const auto last = a_->status("DESK").next_sender;
    EXPECT_GE(last, next_sender);
    ASSERT_TRUE(comes_true([&] { return shows(*b_, fmt::format("\"next_sender\":{}", last)); })) << health(*b_);
    a_.reset();
    EXPECT_EQ(b_->engine().promote("FIX.4.4:HOUSE->DESK", false), "");
    EXPECT_EQ(b_->status("DESK").next_sender, last);
}

TEST_F(FixStandbyPair, ANewTokenIsUsedForTheNextConnectionAfterAReload) {
    start_b();
    const auto standby = with_standby();
    start_a(standby);
    const auto is_copied = [&] { return shows(*b_, "\"replicas\":[{") && !shows(*b_, "\"stage\":\"no_primary\""); };
    ASSERT_TRUE(comes_true(is_copied)) << health(*b_);
    std::ofstream{folder_ / "token"} << "another-token-of-the-pair\n";
    const auto file = standing_by() + session("b.store");
    EXPECT_THAT(b_->reload(file).done, testing::ElementsAre("[standby] has read its token and certificates"));
    EXPECT_THAT(b_->reload(file).done, testing::IsEmpty());
    ::chmod((folder_ / "token").c_str(), 0644);
    EXPECT_THROW(b_->reload(file), service::ConfigError);
    ::chmod((folder_ / "token").c_str(), 0640);
    EXPECT_THAT(b_->reload(file).done, testing::IsEmpty());
    const auto of_a = "[[acceptor]]\nlisten = '127.0.0.1:0'\n" + session("a.store", standby);
    EXPECT_THAT(a_->reload(of_a).done, testing::ElementsAre("session FIX.4.4:HOUSE->DESK is changed"));
    EXPECT_TRUE(comes_true(is_copied)) << health(*b_);
    EXPECT_EQ(refusals("wrong_token"), 0);
    // The old token is refused now.
    std::ofstream{folder_ / "token"} << "a-token-that-both-know\n";
    static_cast<void>(a_->reload(of_a));
    EXPECT_TRUE(comes_true([&] { return refusals("wrong_token") > 0; }));
}

TEST_F(FixStandbyPair, AWrongTokenIsAFindingWithItsReason) {
    start_b();
    const auto standby = with_standby();
    std::ofstream{folder_ / "token"} << "a-token-that-only-one-knows\n";
    start_a(standby);
    ASSERT_TRUE(comes_true([&] { return shows(*a_, "the standby refuses: the token is wrong"); })) << health(*a_);
    EXPECT_TRUE(shows(*b_, "\"records\":0"));
    EXPECT_TRUE(shows(*b_, "\"stage\":\"no_primary\""));
    expect_said(*b_, HasSubstr("refused for FIX.4.4:HOUSE->DESK: wrong token: the token is wrong"));
    EXPECT_GT(refusals("wrong_token"), 0);
}

TEST_F(FixStandbyPair, ARejectedPrimaryIsLoggedAndCountedWithTheReason) {
    const auto secure = fmt::format(
        "[standby]\nlisten = '127.0.0.1:0'\ntls_certificate = '{}'\ntls_key = '{}'\ntls_authorities = '{}'\n",
        made_.certificate("ours-server"), made_.key("ours-server"), made_.certificate("ours"));
    const std::string listen = "[[acceptor]]\nlisten = '127.0.0.1:0'\n";
    b_ = std::make_unique<RunningEngine>(secure + listen + session("b.store"));
    start_a(with_standby());
    ASSERT_TRUE(comes_true([&] { return refusals("TLS_handshake_failed") > 0; })) << b_->said();
    expect_said(*b_, ::testing::ContainsRegex("standby: primary 127.0.0.1:[0-9]+ refused: TLS handshake failed"));
    ASSERT_TRUE(comes_true([&] { return shows(*a_, "certificate required"); })) << health(*a_);
    a_.reset();
    b_.reset();
    start_b();
    start_a(with_standby());
    desk_ = std::make_unique<RunningEngine>(connects("DESK", *a_));
    ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE") && shows(*b_, "\"whole\":true"); }));
    desk_.reset();
    a_.reset();
    a_ = std::make_unique<RunningEngine>(listen + session("other.store", with_standby()));
    ASSERT_TRUE(comes_true([&] { return shows(*a_, "it holds the copy of another store"); })) << health(*a_);
    EXPECT_GT(refusals("store"), 0);
    a_ = std::make_unique<RunningEngine>(listen +
                                         fmt::format("[[session]]\nsender = 'OTHER'\ntarget = 'DESK'\nstore = '{}'\n{}",
                                                     (folder_ / "third.store").string(), with_standby()));
    ASSERT_TRUE(comes_true([&] { return refusals("unknown_session") > 0; }));
    expect_said(*b_, HasSubstr("refused for FIX.4.4:OTHER->DESK: unknown session"));
    engine::RawClient stranger{port_of(b_->engine().standby_address())};
    stranger.send("GET / HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(comes_true([&] { return refusals("TLS_handshake_failed") > 0; }));
}

TEST_F(FixStandbyPair, WithoutDescriptorsAStandbyReportsItAndRecoversWhenThereAreSome) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "UBSan's vptr check needs a descriptor";
#endif
    start_b();
    const core::Descriptor waiting{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    {
        const test::NoMoreDescriptors none;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port_of(b_->engine().standby_address()));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ASSERT_EQ(::connect(waiting.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        ASSERT_TRUE(comes_true([&] { return refusals("too_many_connections") > 0; }));
    }
    expect_said(*b_, HasSubstr("standby: primary refused: too many connections: Too many open files"));
    start_a(with_standby());
    desk_ = std::make_unique<RunningEngine>(connects("DESK", *a_));
    ASSERT_TRUE(comes_true([&] { return desk_->is_active("HOUSE") && shows(*b_, "\"whole\":true"); })) << health(*b_);
    constexpr std::string_view kNoHello = "GET / HTTP/1.1\r\n\r\n";
    ASSERT_GT(::send(waiting.get(), kNoHello.data(), kNoHello.size(), MSG_NOSIGNAL), 0);
    EXPECT_TRUE(comes_true([&] { return refusals("TLS_handshake_failed") > 0; })) << "it was not accepted later";
}

}  // namespace
}  // namespace millpond::fixd
