#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/fix/file_store.hpp>

#include "fixd/admin/admin_server.hpp"
#include "tests/apps/http_page.hpp"
#include "tests/apps/program.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kOrders =
    "# two orders\n"
    "35=D|11=a|55=MSFT|54=1|38=100|40=2|44=10.5|60=20240102-03:04:05|\n"
    "8=FIX.4.4|9=1|35=D|34=77|49=X|56=Y|52=20240102-03:04:05|11=b|55=AAPL|54=2|38=7|40=1|60=20240102-03:04:05|10=000|"
    "\n";

/// Runs `millpond fix acceptor --fill` for any counterparty, and the commands that inspect it.
class FixEngineRun : public ::testing::Test {
protected:
    FixEngineRun() {
        if (!venue_.prints("metrics at http://")) throw std::runtime_error(venue_.wait().err);
        port_ = venue_.word_after("listening on 127.0.0.1:");
    }
    ~FixEngineRun() override {
        for (const auto& name : {admin_, raw_}) std::filesystem::remove(name);
    }

    /// Connects as DESK, sends the script and disconnects when its orders are filled.
    [[nodiscard]] Outcome trade(const std::string& script, const std::string& more = "") const {
        return run({"fix", "initiator", "--session", "sender=DESK,target=VENUE,hosts=127.0.0.1:" + port_ + more,
                    "--script", script, "--expect", "2"});
    }
    [[nodiscard]] Outcome sessions(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"fix", "sessions"});
        arguments.insert(arguments.end(), {"--admin", admin_});
        return run(arguments);
    }

    test::ScratchFile orders_{test::scratch_name("orders.txt"), kOrders};
    std::string admin_ = ::testing::TempDir() + test::scratch_name("fix.sock");
    std::string raw_ = ::testing::TempDir() + test::scratch_name("venue.log");
    Program venue_{{"fix", "acceptor", "--fill", "--port", "0", "--session", "sender=VENUE,target=DESK", "--session",
                    "sender=VENUE,target=*", "--admin", admin_, "--raw-log", raw_, "--metrics", "127.0.0.1:0"}};
    std::string port_;
};

TEST_F(FixEngineRun, OrdersOfAScriptAreSentAndTheirFillsPrinted) {
    const auto outcome = trade(orders_.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("FIX.4.4:DESK->VENUE logged on\n"));
    EXPECT_THAT(outcome.out, HasSubstr("FIX.4.4:DESK->VENUE 2 ExecutionReport AvgPx=10.5 ClOrdID=a CumQty=100"));
    EXPECT_THAT(outcome.out, HasSubstr("FIX.4.4:DESK->VENUE 3 ExecutionReport AvgPx=100 ClOrdID=b CumQty=7"));
    EXPECT_THAT(outcome.out, HasSubstr("FIX.4.4:DESK->VENUE logged out: Logout received\n"));
}

TEST_F(FixEngineRun, AnErrorOfTheEngineIsPrintedWithoutControlCharacters) {
    const auto outcome = sessions({"disable", "a\\\"\x1b[2Jb"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: there is no session 'a\\\"?[2Jb'\n");
}

TEST_F(FixEngineRun, ALineThatIsNotAMessageIsReportedWithItsNumber) {
    const test::ScratchFile script{test::scratch_name("bad.txt"), "35=D|nonsense|\n55=MSFT|\n" + std::string{kOrders}};
    const auto outcome = trade(script.path());
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("millpond: line 1: expects TAG=VALUE, found 'nonsense'\n"));
    EXPECT_THAT(outcome.err, HasSubstr("millpond: line 2: MsgType(35) is missing\n"));
    EXPECT_THAT(outcome.out, HasSubstr("ClOrdID=b"));
}

TEST_F(FixEngineRun, AScriptThatCannotBeReadIsAnError) {
    const auto outcome = run({"fix", "initiator", "--session", "sender=DESK,target=VENUE,hosts=127.0.0.1:" + port_,
                              "--script", "/usr", "--linger", "0"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("millpond: cannot read the script: Is a directory\n"));
}

TEST_F(FixEngineRun, SessionsAreListedAndSteeredWhileItRuns) {
    ASSERT_EQ(trade(orders_.path()).exit_code, 0);
    EXPECT_THAT(sessions({"list"}).out, HasSubstr("FIX.4.4:VENUE->DESK"));
    EXPECT_THAT(sessions({"list", "--json"}).out, HasSubstr("\"name\":\"FIX.4.4:VENUE->DESK\",\"role\":\"acceptor\""));
    EXPECT_EQ(sessions({"set-seq", "DESK", "--next-in", "7", "--next-out", "9"}).exit_code, 0);
    EXPECT_THAT(sessions({"list", "--json"}).out, HasSubstr("\"next_sender\":9,\"next_target\":7"));
    EXPECT_EQ(sessions({"reset", "DESK"}).exit_code, 0);
    // The command takes effect asynchronously.
    while (sessions({"list", "--json"}).out.find("\"next_sender\":1,\"next_target\":1") == std::string::npos) {
    }
    const auto unknown = sessions({"logout", "UNKNOWN"});
    EXPECT_EQ(unknown.exit_code, 1);
    EXPECT_EQ(unknown.err, "millpond: there is no session 'UNKNOWN'\n");
    EXPECT_EQ(sessions({"set-seq", "DESK"}).exit_code, 2);
    for (const auto* number : {"-1", "0", "99999999999999999999", "9007199254740992", "010", "1x"}) {
        for (const auto* option : {"--next-out", "--next-in"}) {
            const auto refused = sessions({"set-seq", "DESK", std::string{option} + "=" + number});
            EXPECT_EQ(refused.exit_code, 2) << option << number;
            EXPECT_THAT(refused.err + refused.out, HasSubstr("from 1 to 9007199254740991")) << number;
            const auto field =
                std::string{option} == "--next-out" ? std::string{number} + "\t-" : "-\t" + std::string{number};
            if (std::string{number} == "010") continue;  // CLI11 alone reads it as octal
            EXPECT_THAT(fixd::ask_engine(admin_, "set-seq\tDESK\t" + field), HasSubstr("from 1 to 9007199254740991"));
        }
    }
    EXPECT_THAT(sessions({"list", "--json"}).out, HasSubstr("\"next_sender\":1,\"next_target\":1"));
    EXPECT_EQ(sessions({"set-seq", "DESK", "--next-out", "9007199254740991"}).exit_code, 0);
}

TEST_F(FixEngineRun, ASessionThatIsLoggedOnIsLoggedOutWithTheReason) {
    Program desk{{"fix", "initiator", "--stay", "--script", "/dev/null", "--session",
                  "sender=DESK,target=VENUE,hosts=127.0.0.1:" + port_}};
    ASSERT_TRUE(desk.prints("logged on"));
    const auto connected = sessions({"set-seq", "DESK", "--next-in", "7"});
    EXPECT_EQ(connected.exit_code, 1);
    EXPECT_THAT(connected.err, HasSubstr("the session is connected: log it out first"));
    EXPECT_EQ(sessions({"logout", "VENUE->DESK", "--reason", "end of day"}).exit_code, 0);
    EXPECT_TRUE(desk.prints("logged out: end of day")) << desk.wait().out;
    desk.signal(SIGTERM);
    EXPECT_EQ(desk.wait().exit_code, 0);
}

TEST_F(FixEngineRun, ARequestOfTheOperatorThatCannotBeDoneSaysWhy) {
    for (const auto& [reason, fault] :
         std::vector<std::pair<std::string, std::string>>{{"", "the reason is empty"},
                                                          {"a\x01"
                                                           "58=b",
                                                           "control character 0x01 at position 2"},
                                                          {"a\nb", "control character 0x0a at position 2"},
                                                          {"a\tb", "control character 0x09 at position 2"},
                                                          {std::string(300, 'x'), "300 bytes, at most 256 are sent"}}) {
        const auto refused = sessions({"logout", "DESK", "--reason", reason});
        EXPECT_EQ(refused.exit_code, 2) << reason;
        EXPECT_THAT(refused.err, HasSubstr(fault));
    }
    const auto answer = [&](const std::string& request) { return fixd::ask_engine(admin_, request); };
    EXPECT_EQ(answer("logout"), "{\"error\":\"logout: SESSION is missing\"}");
    EXPECT_EQ(answer("logout\tDESK"), "{\"error\":\"logout: REASON is missing\"}");
    EXPECT_EQ(answer("logout\tDESK\t"), "{\"error\":\"the reason is empty\"}");
    EXPECT_EQ(answer("logout\tDESK\ta\x01"), "{\"error\":\"the reason has the control character 0x01 at position 2\"}");
    EXPECT_EQ(answer("logout\tDESK\ta\tb"), "{\"error\":\"logout: 3 fields, expected 2\"}");
    EXPECT_EQ(answer("set-seq\tDESK\t5"), "{\"error\":\"set-seq: NEXT_TARGET is missing\"}");
    EXPECT_EQ(answer("list\tDESK"), "{\"error\":\"list: 1 fields, expected 0\"}");
    EXPECT_EQ(answer("stop"), "{\"error\":\"unknown request 'stop'\"}");
}

TEST_F(FixEngineRun, AnInitiatorLogsWhyItDidNotLogOn) {
    ASSERT_EQ(sessions({"logout", "VENUE->DESK"}).exit_code, 0);
    Program desk{{"fix", "initiator", "--stay", "--script", "/dev/null", "--log-format", "json", "--session",
                  "sender=DESK,target=VENUE,reconnect_ms=10,hosts=127.0.0.1:" + port_}};
    EXPECT_TRUE(desk.prints("\"level\":\"warning\",\"message\":\"FIX.4.4:DESK->VENUE: not logged on: 127.0.0.1:" +
                            port_ + ": Logon refused: session is disabled"));
    desk.signal(SIGTERM);
    EXPECT_EQ(desk.wait().exit_code, 0);
    EXPECT_TRUE(venue_.prints("FIX.4.4:VENUE->DESK: not logged on: 127.0.0.1:"));
}

TEST_F(FixEngineRun, CounterpartiesComeByTemplate) {
    const auto outcome = run({"fix", "initiator", "--session", "sender=GUEST,target=VENUE,hosts=127.0.0.1:" + port_,
                              "--script", orders_.path(), "--expect", "2"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("FIX.4.4:GUEST->VENUE 2 ExecutionReport"));
}

TEST_F(FixEngineRun, TheSocketIsForItsOwnerOnlyAndOneEngine) {
    struct stat status{};
    ASSERT_EQ(stat(admin_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    const auto second = run({"fix", "acceptor", "--port", "0", "--session", "sender=A,target=B", "--admin", admin_});
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.err, HasSubstr("another engine uses it"));
    venue_.signal(SIGKILL);
    static_cast<void>(venue_.wait());
    EXPECT_THAT(sessions({"list"}).err, HasSubstr("no engine responds at " + admin_));
    // Replaces the socket that the killed process left.
    Program third{{"fix", "acceptor", "--port", "0", "--session", "sender=A,target=B", "--admin", admin_}};
    EXPECT_TRUE(third.prints("listening on"));
    EXPECT_THAT(sessions({"list"}).out, HasSubstr("FIX.4.4:A->B"));
    third.signal(SIGTERM);
    EXPECT_EQ(third.wait().exit_code, 0);
}

TEST_F(FixEngineRun, MetricsTellOfSessionsAndTheRawLogOfEveryByte) {
    ASSERT_EQ(trade(orders_.path()).exit_code, 0);
    const auto url = venue_.word_after("metrics at http://127.0.0.1:");
    const auto page = page_of(static_cast<std::uint16_t>(std::stoi(url)), "/metrics");
    EXPECT_THAT(page, HasSubstr("millpond_fix_logons_total{session=\"FIX.4.4:VENUE->DESK\"} 1\n"));
    EXPECT_THAT(page, HasSubstr("millpond_fix_raw_log_lost_total{thread=\"fix-io-0\"} 0\n"));
    venue_.signal(SIGTERM);
    EXPECT_EQ(venue_.wait().exit_code, 0);
    const auto printed = run({"fix", "print", raw_, "--type", "D,8"});
    EXPECT_EQ(printed.exit_code, 0) << printed.err;
    EXPECT_THAT(printed.out, HasSubstr(" < FIX.4.4:VENUE->DESK 2 NewOrderSingle ClOrdID=a"));
    EXPECT_THAT(printed.out, HasSubstr(" > FIX.4.4:VENUE->DESK 3 ExecutionReport AvgPx=100 ClOrdID=b"));
}

TEST(FixInitiator, AHostThatCannotBeReachedIsALineOfTheLog) {
    Program desk{{"fix", "initiator", "--stay", "--script", "/dev/null", "--session",
                  "sender=DESK,target=VENUE,hosts=127.0.0.1:1+no-such-host.invalid:5001"}};
    EXPECT_TRUE(desk.prints("FIX.4.4:DESK->VENUE: not logged on: 127.0.0.1:1: cannot connect: Connection refused"));
    EXPECT_TRUE(desk.prints("FIX.4.4:DESK->VENUE: not logged on: cannot connect: no-such-host.invalid:5001: "));
    desk.signal(SIGTERM);
    EXPECT_EQ(desk.wait().exit_code, 0);
}

TEST(FixEngineFill, OrderIdsAreNewAfterARestart) {
    const test::ScratchFile orders{test::scratch_name("orders.txt"), kOrders};
    std::set<std::string> ids;
    for (int run_number = 0; run_number < 3; ++run_number) {
        Program venue{{"fix", "acceptor", "--fill", "--port", "0", "--session", "sender=VENUE,target=DESK"}};
        ASSERT_TRUE(venue.prints("listening on"));
        const auto port = venue.word_after("listening on 127.0.0.1:");
        const auto outcome = run({"fix", "initiator", "--session", "sender=DESK,target=VENUE,hosts=127.0.0.1:" + port,
                                  "--script", orders.path(), "--expect", "2"});
        for (auto at = outcome.out.find(" OrderID="); at != std::string::npos;
             at = outcome.out.find(" OrderID=", at + 1)) {
            ids.insert(outcome.out.substr(at + 9, outcome.out.find(' ', at + 9) - at - 9));
        }
        venue.signal(SIGTERM);
        EXPECT_EQ(venue.wait().exit_code, 0);
    }
    EXPECT_EQ(ids.size(), 6U);
}

TEST(FixEngineStore, TheFileOfAnotherSessionIsRefusedByName) {
    const auto store = ::testing::TempDir() + test::scratch_name("bound.store");
    const auto acceptor = [&](const std::string& target) {
        return std::vector<std::string>{"fix", "acceptor",  "--port",
                                        "0",   "--session", "sender=V,target=" + target + ",store=" + store};
    };
    {
        Program first{acceptor("A")};
        ASSERT_TRUE(first.prints("listening on"));
        first.signal(SIGTERM);
        EXPECT_EQ(first.wait().exit_code, 0);
    }
    const auto other = run(acceptor("OTHER"));
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_THAT(other.err,
                HasSubstr(store + " is the message store of the session FIX.4.4:V->A, not of FIX.4.4:V->OTHER"));
    EXPECT_THAT(run({"fix", "store", store}).out, HasSubstr("session FIX.4.4:V->A\n"));
    for (const auto number : fix::FileStore::segment_numbers(store)) {
        std::filesystem::remove(fix::FileStore::segment_path(store, number));
    }
}

TEST(FixEngineStore, LostHistoryIsALogLineAMetricAndALineOfTheSessions) {
    const auto admin = ::testing::TempDir() + test::scratch_name("lost.sock");
    Program venue{{"fix", "acceptor", "--fill", "--port", "0", "--session", "sender=VENUE,target=DESK", "--admin",
                   admin, "--metrics", "127.0.0.1:0"}};
    ASSERT_TRUE(venue.prints("metrics at http://")) << venue.wait().err;
    EXPECT_TRUE(venue.prints("VENUE->DESK: no store file: about the newest 29127 messages of 256 bytes can be resent"));
    const auto port = venue.word_after("listening on 127.0.0.1:");
    // Five times 2.4 MB of fills exceed the store's 8 MiB; 2.4 MB alone do not make a slow consumer.
    const std::string long_id(3'900, 'x');
    std::string orders;
    for (int i = 0; i < 600; ++i) {
        orders += "35=D|11=" + long_id + std::to_string(i) + "|55=MSFT|54=1|38=100|40=1|60=20240102-03:04:05|\n";
    }
    const test::ScratchFile script{test::scratch_name("many.txt"), orders};
    const test::ScratchFile one{test::scratch_name("one.txt"),
                                "35=D|11=x|55=MSFT|54=1|38=100|40=1|60=20240102-03:04:05|\n"};
    const std::string desk = "sender=DESK,target=VENUE,hosts=127.0.0.1:" + port;
    const auto store = ::testing::TempDir() + test::scratch_name("desk.store");
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(run({"fix", "initiator", "--session", desk + ",store=" + store, "--script", script.path(), "--expect",
                       "600"})
                      .exit_code,
                  0);
    }
    for (const auto number : fix::FileStore::segment_numbers(store)) {
        std::filesystem::remove(fix::FileStore::segment_path(store, number));
    }
    // The desk has lost its state: it expects number 1 and requests all messages again.
    ASSERT_EQ(run({"fix", "sessions", "set-seq", "DESK", "--next-in", "1", "--admin", admin}).exit_code, 0);
    static_cast<void>(run({"fix", "initiator", "--session", desk, "--script", one.path(), "--expect", "100"}));
    EXPECT_TRUE(venue.prints("history lost: of the messages 1 to ")) << venue.wait().err;
    EXPECT_TRUE(venue.prints(" in their place (since the start: "));
    EXPECT_THAT(run({"fix", "sessions", "list", "--admin", admin}).out, HasSubstr("! history lost: "));
    const auto page =
        page_of(static_cast<std::uint16_t>(std::stoi(venue.word_after("metrics at http://127.0.0.1:"))), "/metrics");
    EXPECT_THAT(page, HasSubstr("millpond_fix_history_lost_fills_total{session=\"FIX.4.4:VENUE->DESK\"} 1\n"));
    venue.signal(SIGTERM);
    EXPECT_EQ(venue.wait().exit_code, 0);
}

TEST(FixEngineRawLog, PasswordsAreInNeitherTheRawLogNorTheOutput) {
    const auto raw = ::testing::TempDir() + test::scratch_name("secret.raw");
    const test::ScratchFile password{test::scratch_name("password"), "hunter2hunter2\n"};
    std::filesystem::permissions(password.path(), std::filesystem::perms{0600});
    const test::ScratchFile orders{test::scratch_name("secret.txt"), kOrders};
    Program venue{{"fix", "acceptor", "--fill", "--port", "0", "--session", "sender=VENUE,target=DESK", "--raw-log",
                   raw, "--mask-tags", "553"}};
    ASSERT_TRUE(venue.prints("listening on"));
    const auto desk = run({"fix", "initiator", "--session",
                           "sender=DESK,target=VENUE,username=trader,password_file=" + password.path() +
                               ",hosts=127.0.0.1:" + venue.word_after("listening on 127.0.0.1:"),
                           "--script", orders.path(), "--expect", "2"});
    EXPECT_EQ(desk.exit_code, 0) << desk.err;
    venue.signal(SIGTERM);
    const auto end = venue.wait();
    std::ifstream in{raw};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    EXPECT_THAT(text, HasSubstr("\x01"
                                "553=******\x01"
                                "554=**************\x01"));
    for (const auto& printed : {text, end.out, end.err, desk.out, desk.err}) {
        EXPECT_THAT(printed, Not(HasSubstr("hunter2")));
        EXPECT_THAT(printed, Not(HasSubstr("trader")));
    }
    const auto printed = run({"fix", "print", raw});
    EXPECT_EQ(printed.exit_code, 0) << printed.err;
    EXPECT_THAT(printed.out, HasSubstr("Password=************** [masked]\n"));
    EXPECT_EQ(run({"fix", "print", raw, "--raw"}).exit_code, 1);
    std::filesystem::remove(raw);
}

TEST(FixEngineRawLog, AValueFromAFileIsHiddenInAnyField) {
    const auto raw = ::testing::TempDir() + test::scratch_name("key.raw");
    const test::ScratchFile key{test::scratch_name("key"), "hunter2key\n"};
    std::filesystem::permissions(key.path(), std::filesystem::perms{0600});
    const test::ScratchFile orders{test::scratch_name("key.txt"), kOrders};
    Program venue{{"fix", "acceptor", "--fill", "--port", "0", "--session",
                   "sender=VENUE,target=DESK,user_fields_are_known=false"}};
    ASSERT_TRUE(venue.prints("listening on"));
    const test::ScratchFile config{test::scratch_name("key.toml"),
                                   "raw_log = '" + raw +
                                       "'\n[[session]]\nsender = 'DESK'\ntarget = 'VENUE'\nhosts = ['127.0.0.1:" +
                                       venue.word_after("listening on 127.0.0.1:") +
                                       "']\n[session.logon]\n9407 = { file = '" + key.path() + "' }\n"};
    const auto desk = run({"fix", "initiator", "--config", config.path(), "--script", orders.path(), "--expect", "2"});
    EXPECT_EQ(desk.exit_code, 0) << desk.err;
    std::ifstream in{raw};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    EXPECT_THAT(text, HasSubstr("\x01"
                                "9407=**********\x01"));
    EXPECT_THAT(text, Not(HasSubstr("hunter2")));
    std::filesystem::remove(raw);
}

TEST(FixEngineStore, ARestartGoesOnWithTheNumbersOfItsFile) {
    const auto store = ::testing::TempDir() + test::scratch_name("desk.store");
    const test::ScratchFile orders{test::scratch_name("orders.txt"), kOrders};
    for (const auto* sequence : {"2", "6"}) {
        Program venue{
            {"fix", "acceptor", "--fill", "--port", "0", "--session", "sender=VENUE,target=DESK,store=" + store}};
        ASSERT_TRUE(venue.prints("listening on"));
        const auto port = venue.word_after("listening on 127.0.0.1:");
        const auto outcome = run({"fix", "initiator", "--session",
                                  "sender=DESK,target=VENUE,store=" + store + ".desk,hosts=127.0.0.1:" + port,
                                  "--script", orders.path(), "--expect", "2"});
        EXPECT_THAT(outcome.out, HasSubstr(std::string{"DESK->VENUE "} + sequence + " ExecutionReport")) << outcome.err;
        venue.signal(SIGTERM);
        EXPECT_EQ(venue.wait().exit_code, 0);
    }
    for (const auto& entry : std::filesystem::directory_iterator(::testing::TempDir())) {
        if (entry.path().string().starts_with(store)) std::filesystem::remove(entry.path());
    }
}

/// Replaces '|' by SOH, and adds BodyLength and CheckSum.
std::string framed(std::string body) {
    std::ranges::replace(body, '|', '\x01');
    auto text =
        "8=FIX.4.4\x01"
        "9=" +
        std::to_string(body.size()) + '\x01' + body;
    unsigned sum = 0;
    for (const char c : text) sum += static_cast<unsigned char>(c);
    return text + fmt::format("10={:03}\x01", sum % 256);
}

TEST(FixEngineStore, WithAFolderForStateAKilledVenueGoesOnWithItsNumbers) {
    const auto state = ::testing::TempDir() + test::scratch_name("state");
    const test::ScratchFile orders{test::scratch_name("orders.txt"), kOrders};
    for (const auto* sequence : {"2", "6"}) {
        Program venue{{"fix", "acceptor", "--fill", "--port", "0", "--state", state + "/venue", "--session",
                       "sender=VENUE,target=DESK"}};
        ASSERT_TRUE(venue.prints("listening on"));
        const auto port = venue.word_after("listening on 127.0.0.1:");
        const auto outcome =
            run({"fix", "initiator", "--state", state + "/desk", "--session",
                 "sender=DESK,target=VENUE,hosts=127.0.0.1:" + port, "--script", orders.path(), "--expect", "2"});
        EXPECT_THAT(outcome.out, HasSubstr(std::string{"DESK->VENUE "} + sequence + " ExecutionReport")) << outcome.err;
        venue.signal(SIGKILL);
        static_cast<void>(venue.wait());
    }
    EXPECT_TRUE(std::filesystem::exists(state + "/venue/FIX.4.4-VENUE-DESK.store"));
    EXPECT_EQ(std::filesystem::status(state + "/venue").permissions(), std::filesystem::perms{0750});
    EXPECT_THAT(run({"fix", "store", state + "/desk/FIX.4.4-DESK-VENUE.store"}).out,
                HasSubstr("session FIX.4.4:DESK->VENUE\n"));
    std::filesystem::remove_all(state);
}

TEST(FixEngineStore, WithAConfigurationFileTheUsersFolderForStateHasThem) {
    const test::ScratchFile config{
        test::scratch_name("desk.toml"),
        "[[session]]\nsender = 'DESK'\ntarget = 'VENUE'\nhosts = ['127.0.0.1:1']\nreconnect_ms = 10\n"};
    Program desk{{"fix", "initiator", "--stay", "--script", "/dev/null", "--config", config.path()}};
    ASSERT_TRUE(desk.prints("cannot connect")) << desk.wait().err;
    desk.signal(SIGTERM);
    EXPECT_EQ(desk.wait().exit_code, 0);
    // A temporary state folder instead of the user's home: the next test would resume state from there.
    const std::string store = std::string{std::getenv("XDG_STATE_HOME")} + "/millpond/FIX.4.4-DESK-VENUE.store";
    ASSERT_THAT(store, HasSubstr(::testing::TempDir()));
    EXPECT_THAT(run({"fix", "store", store}).out, HasSubstr("session FIX.4.4:DESK->VENUE\n"));
}

TEST(FixEngineStore, OrdersThatAreTooOldAreFilledAndOtherMessagesAreResent) {
    const auto store = ::testing::TempDir() + test::scratch_name("old.store");
    {
        // Messages that an initiator has sent long ago.
        const fix::StoreIdentity desk{.begin_string = "FIX.4.4", .sender_comp_id = "DESK", .target_comp_id = "VENUE"};
        fix::FileStore old{store, 0, {.data_bytes = std::size_t{8} << 20U, .identity = desk}};
        const std::string header = "|49=DESK|52=20240102-03:04:05|56=VENUE|";
        for (const auto& fields : {"35=A|34=1" + header + "98=0|108=30|", "35=D|34=2" + header + "11=a|55=MSFT|",
                                   "35=8|34=3" + header + "37=x|", "35=D|34=4" + header + "11=b|55=MSFT|"}) {
            ASSERT_TRUE(old.store(framed(fields)));
        }
    }
    Program venue{{"fix", "acceptor", "--port", "0", "--session", "sender=VENUE,target=DESK"}};
    ASSERT_TRUE(venue.prints("listening on"));
    Program desk{{"fix", "initiator", "--stay", "--script", "/dev/null", "--session",
                  "sender=DESK,target=VENUE,resend_max_age_seconds=60,store=" + store +
                      ",hosts=127.0.0.1:" + venue.word_after("listening on 127.0.0.1:")}};
    EXPECT_TRUE(desk.prints("not resent: message 2 and others are older than 60 s"));
    EXPECT_TRUE(venue.prints("VENUE->DESK 3 ExecutionReport"));
    desk.signal(SIGTERM);
    EXPECT_EQ(desk.wait().exit_code, 0);
    venue.signal(SIGTERM);
    EXPECT_THAT(venue.wait().out, Not(HasSubstr("NewOrderSingle")));
    for (const auto number : fix::FileStore::segment_numbers(store)) {
        std::filesystem::remove(fix::FileStore::segment_path(store, number));
    }
}

TEST(FixEcho, AnOrderComesBackAndRepliesAreThoseOfQuickFix) {
    std::string fields;
    for (const auto& [number, name] : std::vector<std::pair<int, std::string>>{{8, "BeginString"},
                                                                               {9, "BodyLength"},
                                                                               {10, "CheckSum"},
                                                                               {11, "ClOrdID"},
                                                                               {34, "MsgSeqNum"},
                                                                               {35, "MsgType"},
                                                                               {49, "SenderCompID"},
                                                                               {52, "SendingTime"},
                                                                               {56, "TargetCompID"},
                                                                               {98, "EncryptMethod"},
                                                                               {108, "HeartBtInt"}}) {
        fields += fmt::format("<field number='{}' name='{}' type='STRING'/>", number, name);
    }
    const test::ScratchFile dictionary{
        test::scratch_name("echo.xml"),
        "<fix type='FIX' major='4' minor='4'><header>"
        "<field name='BeginString' required='Y'/><field name='BodyLength' required='Y'/>"
        "<field name='MsgType' required='Y'/><field name='SenderCompID' required='Y'/>"
        "<field name='TargetCompID' required='Y'/><field name='MsgSeqNum' required='Y'/>"
        "<field name='SendingTime' required='Y'/></header>"
        "<trailer><field name='CheckSum' required='Y'/></trailer><messages>"
        "<message name='Logon' msgtype='A' msgcat='admin'>"
        "<field name='EncryptMethod' required='Y'/>"
        "<field name='HeartBtInt' required='Y'/></message>"
        "<message name='Heartbeat' msgtype='0' msgcat='admin'/>"
        "<message name='NewOrderSingle' msgtype='D' "
        "msgcat='app'><field name='ClOrdID' required='Y'/></message></messages><components/><fields>" +
            fields + "</fields></fix>"};
    Program acceptor{{"fix", "acceptor", "--echo", "--port", "0", "--session",
                      "sender=V,target=D,max_latency_seconds=0,dictionary=" + dictionary.path()}};
    ASSERT_TRUE(acceptor.prints("listening on 127.0.0.1:")) << acceptor.wait().err;
    engine::RawClient client{static_cast<std::uint16_t>(std::stoi(acceptor.word_after("listening on 127.0.0.1:")))};
    const std::string ids = "|49=D|56=V|52=20240102-03:04:05|";
    client.send(framed("35=A|34=1" + ids + "98=0|108=30|") + framed("35=D|34=2" + ids + "11=one|") +
                framed("35=0|34=3|49=D|56=W|52=20240102-03:04:05|"));
    const auto deadline = core::monotonic_nanos() + 10'000'000'000;
    while (!client.received().contains("\x01"
                                       "35=5\x01") &&
           !client.over() && core::monotonic_nanos() < deadline) {
        usleep(1'000);
    }
    client.end();
    auto answers = client.received();
    std::ranges::replace(answers, '\x01', '|');
    EXPECT_THAT(answers, HasSubstr("|35=D|"));
    EXPECT_THAT(answers, HasSubstr("|11=one|"));
    ASSERT_THAT(answers, HasSubstr("|35=3|"));
    ASSERT_THAT(answers, HasSubstr("|35=5|"));
    const auto reject = answers.substr(answers.find("|35=3|"));
    EXPECT_THAT(reject, HasSubstr("|58=CompID problem|"));
    EXPECT_FALSE(reject.contains("|371=56|")) << reject;
    EXPECT_FALSE(reject.substr(reject.find("|35=5|")).contains("|58=CompID problem|")) << reject;
    acceptor.signal(SIGTERM);
    EXPECT_EQ(acceptor.wait().exit_code, 0);
}

TEST(FixCommands, MisuseExitsWithTwoAndSaysWhatToGive) {
    EXPECT_THAT(run({"fix", "acceptor"}).err, HasSubstr("give --config with a [[session]], --session or --echo"));
    EXPECT_EQ(run({"fix", "acceptor", "--echo", "--fill"}).exit_code, 2);
    EXPECT_EQ(run({"fix", "acceptor", "--session", "sendr=A"}).exit_code, 2);
    EXPECT_EQ(run({"fix", "initiator", "--session", "sender=A,target=B"}).exit_code, 2);
    for (const auto* command : {"acceptor", "initiator", "sessions", "print", "dictionary"}) {
        const auto help = run({"fix", command, "--help"});
        EXPECT_EQ(help.exit_code, 0);
        EXPECT_THAT(help.out, HasSubstr(std::string{"millpond fix "} + command)) << command;
    }
}

}  // namespace
}  // namespace millpond::app
