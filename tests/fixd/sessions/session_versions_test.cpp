// Several application versions in one session: configured, over sockets.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "service/config_error.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using engine::RawClient;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// FIX Latest as an Orchestra repository: an order with ClOrdID and SelfMatchPreventionID.
constexpr const char* kLatest = R"(<?xml version="1.0"?>
<fixr:repository xmlns:fixr="http://fixprotocol.io/2020/orchestra/repository" name="FIX.Latest" version="FIX.Latest_EP303">
 <fixr:fields>
  <fixr:field id="11" name="ClOrdID" type="String"/><fixr:field id="2362" name="SelfMatchPreventionID" type="String"/>
 </fixr:fields>
 <fixr:messages><fixr:message name="NewOrderSingle" msgType="D"><fixr:structure>
  <fixr:fieldRef id="11" presence="required"/><fixr:fieldRef id="2362" presence="optional"/>
 </fixr:structure></fixr:message></fixr:messages>
</fixr:repository>)";

/// FIX 4.4 in QuickFIX's format: an order with ClOrdID and OrdType.
constexpr const char* kFix44 = R"(<fix type="FIX" major="4" minor="4"><header/><trailer/>
 <messages><message name="NewOrderSingle" msgtype="D" msgcat="app"><field name="ClOrdID" required="Y"/>
  <field name="OrdType" required="Y"/></message></messages>
 <fields><field number="11" name="ClOrdID" type="STRING"/><field number="40" name="OrdType" type="CHAR"/></fields></fix>)";

/// Records the version of each message, and answers in it.
class Noting final : public engine::Application {
public:
    Noting(std::mutex& lock, std::vector<std::string>& seen) : lock_(&lock), seen_(&seen) {}
    fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override {
        const auto version = link.session().application_versions().of(message);
        if (!version) return fix::Verdict::other;
        const auto id = message.text(fix::tag::kClOrdId).value_or("");
        static_cast<void>(link.send("8", [&](fix::Writer& writer) { writer.add<fix::tag::kClOrdId>(id); },
                                    {.appl_ver_id = fix::appl_ver_id(*version)}));
        const std::lock_guard guard{*lock_};
        seen_->push_back(std::string{id} + " " + std::string{name(*version)});
        return fix::Verdict::accepted;
    }

private:
    std::mutex* lock_;
    std::vector<std::string>* seen_;
};

class SessionVersions : public ::testing::Test {
protected:
    [[nodiscard]] std::string further() const {
        return "further_versions = ['FIX.4.4=" + fix44_.path() + "', 'FIX.Latest=" + latest_.path() + "']\n";
    }
    [[nodiscard]] std::string house() const {
        return "[[acceptor]]\nlisten = '127.0.0.1:0'\n[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\n"
               "version = 'FIX.5.0SP2'\n" +
               further();
    }
    [[nodiscard]] Applications noting() {
        return
            [this](const SessionSettings&, const fix::Dictionary*) { return std::make_unique<Noting>(lock_, seen_); };
    }
    [[nodiscard]] std::vector<std::string> seen() {
        const std::lock_guard guard{lock_};
        return seen_;
    }

    test::ScratchFile fix44_{test::scratch_name("fix44.xml"), kFix44};
    test::ScratchFile latest_{test::scratch_name("latest.xml"), kLatest};
    std::mutex lock_;
    std::vector<std::string> seen_;
};

TEST_F(SessionVersions, TheApplicationSeesTheVersionOfEachMessageAndAnswersInIt) {
    RunningEngine engine{house(), noting()};
    RawClient client{engine.port()};
    const auto give = [&](std::string_view type, std::uint64_t number, std::string_view body) {
        client.send(fix_text("FIXT.1.1", type, number, "DESK", "HOUSE", body));
    };
    give("A", 1, "98=0|108=30|384=1|372=D|385=S|1130=6|1410=Y|1137=10|");
    give("D", 2, "11=a|40=1|");
    give("D", 3, "1128=10|11=b|2362=x|");
    give("D", 4, "1128=9|11=c|9999=x|");
    give("D", 5, "1128=10|11=d|40=1|");
    give("D", 6, "1128=7|11=e|");
    give("E", 7, "11=f|");
    ASSERT_TRUE(comes_true([&] {
        return client.received().contains(
            "\x01"
            "34=7\x01");
    }));
    EXPECT_THAT(seen(), ElementsAre("a FIX.4.4", "b FIX.Latest", "c FIX.5.0SP2"));
    const auto received = client.received();
    EXPECT_THAT(received, HasSubstr("\x01"
                                    "1137=9\x01"));
    EXPECT_THAT(received, HasSubstr("\x01"
                                    "1128=6\x01"
                                    "11=a\x01"));
    EXPECT_THAT(received, HasSubstr("\x01"
                                    "1128=10\x01"
                                    "11=b\x01"));
    EXPECT_THAT(received, HasSubstr("45=5\x01"
                                    "58=Invalid tag number\x01"
                                    "371=40\x01"));
    EXPECT_THAT(received, HasSubstr("45=6\x01"
                                    "58=Invalid/Unsupported Application Version\x01"
                                    "371=1128\x01"));
    EXPECT_THAT(received, HasSubstr("45=7\x01"
                                    "58=Invalid MsgType\x01"));
}

/// Sends an order without ApplVerID after each logon.
class Ordering final : public engine::Application {
public:
    void on_logon(engine::SessionLink& link) override {
        static_cast<void>(
            link.send("D", [](fix::Writer& writer) { writer.add<fix::tag::kClOrdId>("a").add<40>('1'); }));
    }
    fix::Verdict on_message(engine::SessionLink&, const fix::Message&) override { return fix::Verdict::accepted; }
};

TEST_F(SessionVersions, OurLogonNamesMessageTypesAndThePeerReadsThemSo) {
    RunningEngine engine{house(), noting()};
    const std::string types = "logon_types = ['send:D=FIX.4.4:default', 'receive:8=FIX.5.0SP2', 'send:AE']\n";
    {
        RunningEngine desk{connects("DESK", engine, "version = 'FIX.5.0SP2'\nfurther_versions = ['FIX.4.4']\n" + types),
                           [](const SessionSettings&, const fix::Dictionary*) { return std::make_unique<Ordering>(); }};
        EXPECT_TRUE(comes_true([&] { return !seen().empty(); }));
        EXPECT_THAT(seen(), ElementsAre("a FIX.4.4"));  // not the default version of either side
    }
    RunningEngine other{
        "[[acceptor]]\nlisten = '127.0.0.1:0'\n[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\n"
        "version = 'FIX.5.0SP2'\nfurther_versions = ['FIX.4.4']\n" +
        types};
    RawClient client{other.port()};
    client.send(fix_text("FIXT.1.1", "A", 1, "DESK", "HOUSE", "98=0|108=30|1137=9|"));
    ASSERT_TRUE(comes_true([&] { return client.received().contains("35=A"); }));
    auto text = client.received();
    for (auto& c : text) c = c == '\x01' ? '|' : c;
    EXPECT_THAT(text, HasSubstr("|384=3|372=D|385=S|1130=6|1410=Y|372=8|385=R|1130=9|372=AE|385=S|1137=9|"));
}

TEST_F(SessionVersions, MessageTypesThatCannotBeNamedAreRefused) {
    const auto error_of = [](const std::string& more) -> std::string {
        try {
            static_cast<void>(RunningEngine::config_of("[[session]]\nsender = 'A'\ntarget = 'B'\n" + more));
        } catch (const service::ConfigError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(error_of("logon_types = ['send:D', 'receive:8']\n"), "");
    for (const auto* bad :
         {"D", "send:", "both:D", "send:D=FIX.9", "send:D=", "send:D:default", "send:D=FIX.4.4:usual"}) {
        EXPECT_THAT(error_of(std::string{"logon_types = ['"} + bad + "']\n"), HasSubstr("send:MSGTYPE")) << bad;
    }
    EXPECT_THAT(error_of("logon_types = ['send:D=FIX.4.2']\n"), HasSubstr("does not carry FIX.4.2 of 'D'"));
    EXPECT_THAT(error_of("version = 'FIX.5.0'\nlogon_types = ['send:D=FIX.4.2']\n"),
                HasSubstr("does not carry FIX.4.2 of 'D'"));
    EXPECT_THAT(error_of("version = 'FIX.4.1'\nlogon_types = ['send:D']\n"), HasSubstr("came with FIX.4.2"));
    std::string many;
    for (int i = 0; i < 13; ++i) many += (i == 0 ? "'send:U" : ", 'send:U") + std::to_string(i) + "'";
    EXPECT_THAT(error_of("logon_types = [" + many + "]\n"), HasSubstr("12 message types at most, found 13"));
}

TEST_F(SessionVersions, SidesWithDifferentDefaultsLogOnIfEachSupportsTheOthers) {
    RunningEngine engine{house(), noting()};
    {
        RunningEngine desk{connects("DESK", engine, "version = 'FIX.Latest'\nfurther_versions = ['FIX.5.0SP2']\n")};
        EXPECT_TRUE(comes_true([&] { return desk.counts().logons.load() == 1; }));
    }
    RunningEngine stranger{connects("DESK", engine, "version = 'FIX.5.0SP1'\nfurther_versions = ['FIX.5.0SP2']\n")};
    EXPECT_TRUE(comes_true([&] { return engine.said().contains("DefaultApplVerID is not 6 or 9 or 10"); }));
    EXPECT_EQ(stranger.counts().logons.load(), 0);
}

}  // namespace
}  // namespace millpond::fixd
