#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/apps/program.hpp"
#include "tests/support/fix_dictionaries.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The message with these fields; '|' stands for the delimiter.
std::string message_of(std::string_view fields) {
    std::string body{fields};
    std::ranges::replace(body, '|', '\x01');
    std::string message =
        "8=FIX.4.4\x01"
        "9=" +
        std::to_string(body.size()) + "\x01" + body;
    std::uint32_t sum = 0;
    for (const auto byte : message) sum += static_cast<unsigned char>(byte);
    auto check = std::to_string(1000 + sum % 256).substr(1);
    return message + "10=" + check + "\x01";
}

const std::string kLogon = message_of("35=A|34=1|49=CLIENT|52=20240102-03:04:05.000|56=HOUSE|98=0|108=30|");
const std::string kOrder = message_of(
    "35=D|34=2|49=CLIENT|52=20240102-03:04:06.000|56=HOUSE|11=a|40=2|44=10.5|54=1|55=MSFT|38=100|60=20240102-03:04:06|"
    "453=1|448=me|447=D|452=1|");
const std::string kFill =
    message_of("35=8|34=2|49=HOUSE|52=20240102-03:04:07.000|56=CLIENT|37=o|17=e|39=2|150=F|58=a\\b\nc|");

std::string raw_line(std::string_view time, char direction, std::string bytes) {
    for (std::size_t at = 0; (at = bytes.find_first_of("\\\n", at)) != std::string::npos; at += 2) {
        bytes.replace(at, 1, bytes[at] == '\n' ? "\\n" : "\\\\");
    }
    return std::string{time} + " " + direction + " FIX.4.4:HOUSE->CLIENT " + bytes + "\n";
}

class FixPrint : public ::testing::Test {
protected:
    test::ScratchFile log_{test::scratch_name("raw.log"),
                           raw_line("20240102-03:04:05.000000001", '<', kLogon + kOrder) +
                               "# lost: 3 pieces, 615 bytes\n" + raw_line("20240102-03:04:07.000000002", '>', kFill)};

    [[nodiscard]] Outcome print(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"fix", "print", log_.path()});
        return run(arguments);
    }
};

TEST_F(FixPrint, EachMessageOfARawLogIsALineWithTimeDirectionNumberAndNames) {
    const auto outcome = print({});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "20240102-03:04:05.000000001 < FIX.4.4:HOUSE->CLIENT 1 Logon EncryptMethod=0 HeartBtInt=30\n"
              "20240102-03:04:05.000000001 < FIX.4.4:HOUSE->CLIENT 2 NewOrderSingle ClOrdID=a OrdType=2 Price=10.5 "
              "Side=1 Symbol=MSFT OrderQty=100 TransactTime=20240102-03:04:06 NoPartyIDs=1 PartyID=me PartyIDSource=D "
              "PartyRole=1\n"
              "# lost: 3 pieces, 615 bytes\n"
              "20240102-03:04:07.000000002 > FIX.4.4:HOUSE->CLIENT 2 ExecutionReport OrderID=o ExecID=e OrdStatus=2 "
              "ExecType=F Text=a\\b?c\n");
}

TEST_F(FixPrint, FieldsHaveNamesAndMeaningsWithoutADictionary) {
    const auto outcome = print({"--fields", "--type", "D"});
    EXPECT_THAT(outcome.out, HasSubstr("   35 MsgType                  D  (NewOrderSingle)\n"));
    EXPECT_THAT(outcome.out, HasSubstr("   54 Side                     1  (Buy)\n"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("Logon")));
}

TEST_F(FixPrint, ADictionaryGivesAllNamesAndIndentsGroups) {
    const auto folder = test::fix_dictionaries();
    if (folder.empty()) GTEST_SKIP() << "tools/fetch_fix_dictionaries could not get the dictionaries";
    const auto outcome = print({"--fields", "--type", "D", "--dictionary", folder + "/FIX44.xml"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("\n  453 NoPartyIDs               1\n      448 PartyID                  me\n"));
    EXPECT_THAT(outcome.out, HasSubstr("  447 PartyIDSource            D  (PROPRIETARY)\n"));
}

TEST_F(FixPrint, SessionTypeTimeAndDirectionChoose) {
    EXPECT_EQ(print({"--session", "OTHER"}).out, "# lost: 3 pieces, 615 bytes\n");
    EXPECT_THAT(print({"--session", "HOUSE->CLIENT", "--type", "A,8"}).out, Not(HasSubstr("NewOrderSingle")));
    EXPECT_THAT(print({"--from", "20240102-03:04:06"}).out, Not(HasSubstr("Logon")));
    EXPECT_THAT(print({"--to", "20240102-03:04:06"}).out, Not(HasSubstr("ExecutionReport")));
    EXPECT_THAT(print({"--direction", "out"}).out, Not(HasSubstr("Logon")));
    EXPECT_EQ(print({"--from", "noon"}).exit_code, 2);
}

TEST_F(FixPrint, RawGivesTheBytesAsTheyWereForAReplay) {
    EXPECT_EQ(print({"--raw"}).out, kLogon + kOrder + kFill);
    EXPECT_EQ(print({"--raw", "--direction", "in"}).out, kLogon + kOrder);
}

TEST_F(FixPrint, TextOfOthersIsReadWhateverItsDelimiter) {
    auto bars = kLogon;
    std::ranges::replace(bars, '\x01', '|');
    std::string carets;
    for (const auto byte : kLogon) carets += byte == '\x01' ? std::string{"^A"} : std::string{byte};
    const test::ScratchFile text{test::scratch_name("text.log"), "20240102-03:04:05.000 : " + bars + "\nINFO sent [" +
                                                                     carets + "]\n" + kLogon + kLogon + "\n"};
    const auto outcome = run({"fix", "print", text.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string line = "20240102-03:04:05.000 - FIX.4.4:CLIENT->HOUSE 1 Logon EncryptMethod=0 HeartBtInt=30\n";
    EXPECT_EQ(outcome.out, line + line + line + line);
}

TEST_F(FixPrint, SemicolonsBlanksAndOtherDelimitersAreDetected) {
    const auto order = message_of("35=D|34=2|49=CLIENT|52=20240102-03:04:06.000|56=HOUSE|11=a|58=two words|");
    for (const std::string delimiter : {";", " ", " | ", "<SOH>", "\\001", "\t"}) {
        std::string text;
        for (const auto byte : order) text += byte == '\x01' ? delimiter : std::string{byte};
        const test::ScratchFile file{test::scratch_name("delimited.log"), "INFO " + text + "\n"};
        const auto outcome = run({"fix", "print", file.path()});
        EXPECT_EQ(outcome.exit_code, 0) << delimiter << outcome.err;
        EXPECT_THAT(outcome.out, HasSubstr("2 NewOrderSingle ClOrdID=a Text=two words\n")) << delimiter;
    }
}

TEST_F(FixPrint, NothingThatIsPrintedIsExitCodeOne) {
    const test::ScratchFile none{test::scratch_name("none.log"), "no message here\n"};
    const auto outcome = run({"fix", "print", none.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("no FIX message found"));
    const test::ScratchFile odd{test::scratch_name("odd.log"), "8=FIX.4.4 and no more\n"};
    EXPECT_EQ(run({"fix", "print", odd.path()}).exit_code, 1);
    const auto unwanted = print({"--type", "ZZ"});
    EXPECT_EQ(unwanted.exit_code, 1);
    EXPECT_THAT(unwanted.err, HasSubstr("none of the 3 messages is wanted"));
}

TEST_F(FixPrint, SecretsAreHiddenAndMarkedAndMaskedMessagesAreNotReplayed) {
    const auto logon =
        message_of("35=A|34=1|49=A|52=20240102-03:04:05.000|56=B|98=0|108=30|95=5|96=a|b=c|553=me|554=secret|");
    const test::ScratchFile plain{test::scratch_name("plain.log"), logon + "\n"};
    const auto shown = run({"fix", "print", plain.path(), "--mask", "553"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("RawData=***** Username=** Password=****** [masked]\n"));
    EXPECT_EQ(run({"fix", "print", plain.path(), "--raw"}).out, logon);

    auto masked = logon;
    masked.replace(masked.find("secret"), 6, "******");
    const test::ScratchFile log{test::scratch_name("masked.log"), masked + kOrder + "\n"};
    const auto marked = run({"fix", "print", log.path()});
    EXPECT_EQ(marked.exit_code, 0) << marked.err;
    EXPECT_THAT(marked.out, HasSubstr("1 Logon EncryptMethod=0"));
    EXPECT_THAT(marked.out, HasSubstr("[masked]\n"));
    EXPECT_THAT(run({"fix", "print", log.path(), "--fields"}).out, HasSubstr("[masked]\n"));
    const auto replayed = run({"fix", "print", log.path(), "--raw"});
    EXPECT_EQ(replayed.exit_code, 1);
    EXPECT_EQ(replayed.out, kOrder);
    EXPECT_THAT(replayed.err, HasSubstr("1 masked"));
}

TEST_F(FixPrint, WhatIsNoMessageIsShownWithTheReasonAndExitCodeOne) {
    auto bad = kLogon;
    bad[bad.size() - 2] = bad[bad.size() - 2] == '0' ? '1' : '0';
    const test::ScratchFile text{test::scratch_name("bad.log"),
                                 bad + "\n" + kLogon.substr(0, 30) + "\n" + kLogon + "\n"};
    const auto outcome = run({"fix", "print", text.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("no message (bad CheckSum): 8=FIX.4.4|9="));
    EXPECT_THAT(outcome.out, HasSubstr("1 Logon"));
    EXPECT_THAT(outcome.err, HasSubstr("2 that begin like a message are none"));
}

TEST_F(FixPrint, AMissingFileIsOneLineAndExitCodeOne) {
    const auto outcome = run({"fix", "print", "/nonexistent/raw.log"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: cannot read /nonexistent/raw.log\n");
}

}  // namespace
}  // namespace millpond::app
