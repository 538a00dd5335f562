#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include <millpond/files/pack_file.hpp>

#include "apps/millpond/fix/file_follower.hpp"
#include "fixd/print/message_finder.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/fix_dictionaries.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

/// Message with these fields; '|' is replaced by the delimiter.
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
    EXPECT_THAT(unwanted.err, HasSubstr("none of the 3 messages matches"));
}

TEST_F(FixPrint, SecretsAreHiddenAndMarkedAndMaskedMessagesAreNotReplayed) {
    const auto logon =
        message_of("35=A|34=1|49=A|52=20240102-03:04:05.000|56=B|98=0|108=30|95=5|96=a|b=c|553=me|554=secret|");
    const test::ScratchFile plain{test::scratch_name("plain.log"), logon + "\n"};
    const auto shown = run({"fix", "print", plain.path(), "--mask", "553"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("RawData=***** Username=** Password=****** [masked]\n"));
    const auto raw = run({"fix", "print", plain.path(), "--raw"});
    EXPECT_EQ(raw.out, "");
    EXPECT_EQ(raw.exit_code, 1);
    EXPECT_THAT(raw.err, HasSubstr("1 with secrets"));

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
    EXPECT_THAT(replayed.err, HasSubstr("1 with secrets"));
    const auto chosen = run({"fix", "print", log.path(), "--raw", "--mask", "11"});
    EXPECT_EQ(chosen.out, "") << "the order has a tag that was asked to be hidden";
    EXPECT_THAT(chosen.err, HasSubstr("2 with secrets"));
}

TEST_F(FixPrint, WhatIsNoMessageIsShownWithTheReasonAndExitCodeOne) {
    auto bad = kLogon;
    bad[bad.size() - 2] = bad[bad.size() - 2] == '0' ? '1' : '0';
    const test::ScratchFile text{test::scratch_name("bad.log"),
                                 bad + "\n" + kLogon.substr(0, 30) + "\n" + kLogon + "\n"};
    const auto outcome = run({"fix", "print", text.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("- - - byte 0: no message (bad CheckSum): 8=FIX.4.4|9="));
    EXPECT_THAT(outcome.out, HasSubstr("- - - byte " + std::to_string(bad.size() + 1) + ": no message ("));
    EXPECT_THAT(outcome.out, HasSubstr("1 Logon"));
    EXPECT_THAT(outcome.err, HasSubstr("2 that begin like a message are not one, the first at byte 0\n"));
}

TEST_F(FixPrint, TheByteOfABadMessageInARawLogCountsItsEscapes) {
    auto bad = kLogon;
    bad[bad.size() - 2] = bad[bad.size() - 2] == '0' ? '1' : '0';
    // kFill has a backslash and a line end, each two bytes in the log.
    const auto line = raw_line("20240102-03:04:05.000000001", '>', kFill + bad + kOrder);
    const test::ScratchFile log{test::scratch_name("raw.log"), "# a remark\n" + line};
    const auto place = std::string{"# a remark\n"}.size() + line.find("8=FIX", line.find("a\\\\b"));
    const auto outcome = run({"fix", "print", log.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("20240102-03:04:05.000000001 > FIX.4.4:HOUSE->CLIENT byte " +
                                       std::to_string(place) + ": no message (bad CheckSum)"));
    EXPECT_THAT(outcome.out, HasSubstr("2 NewOrderSingle"));
}

TEST_F(FixPrint, AFieldChoosesAlsoInAGroup) {
    EXPECT_THAT(print({"--field", "448=me"}).out, HasSubstr("NewOrderSingle"));
    EXPECT_THAT(print({"--field", "448=me"}).out, Not(HasSubstr("Logon")));
    EXPECT_EQ(print({"--field", "448=me", "--field", "55=IBM"}).exit_code, 1);
    EXPECT_EQ(print({"--field", "448=m"}).exit_code, 1);
    EXPECT_EQ(print({"--field", "58=a\\b\nc"}).exit_code, 0);
    for (const auto* wrong : {"55", "=1", "x=1", "0=1", "5 =1"}) {
        const auto outcome = print({"--field", wrong});
        EXPECT_EQ(outcome.exit_code, 2) << wrong;
        EXPECT_THAT(outcome.err, HasSubstr("expects TAG=VALUE")) << wrong;
    }
}

TEST_F(FixPrint, JsonIsTheEncodingOfTheFixTradingCommunity) {
    const auto outcome = print({"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out,
                ::testing::StartsWith(
                    R"({"Header":{"BeginString":"FIX.4.4","MsgType":"A","MsgSeqNum":"1","SenderCompID":"CLIENT",)"
                    R"("SendingTime":"20240102-03:04:05.000","TargetCompID":"HOUSE"},)"
                    R"("Body":{"EncryptMethod":"0","HeartBtInt":"30"},"Trailer":{}})"
                    "\n"));
    EXPECT_THAT(outcome.out, HasSubstr(R"("Text":"a\\b\u000ac")"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("lost")));  // remarks are not printed as objects
}

TEST_F(FixPrint, JsonHasGroupsAsArraysWithADictionary) {
    const auto folder = test::fix_dictionaries();
    if (folder.empty()) GTEST_SKIP() << "tools/fetch_fix_dictionaries could not get the dictionaries";
    // The user guide's sample, and a nested group.
    const auto sample = message_of(
        "35=W|34=4567|49=SENDER|52=20160802-21:14:38.717|56=TARGET|22=8|48=ESU6|262=789|268=2|"
        "269=0|270=1.50|271=75|273=21:14:38.688|269=1|270=1.75|271=25|273=21:14:38.688|");
    const auto nested = message_of(
        "35=D|34=2|49=CLIENT|52=20240102-03:04:06.000|56=HOUSE|11=a|453=2|448=me|447=D|452=1|802=2|523=s1|803=1|523=s2|"
        "803=2|448=you|447=D|452=3|9001=mine|55=MSFT|453=0|");
    const test::ScratchFile file{test::scratch_name("sample.log"), sample + nested};
    const auto outcome = run({"fix", "print", file.path(), "--json", "--dictionary", folder + "/FIX44.xml"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(
        outcome.out,
        R"({"Header":{"BeginString":"FIX.4.4","MsgType":"W","MsgSeqNum":"4567","SenderCompID":"SENDER",)"
        R"("SendingTime":"20160802-21:14:38.717","TargetCompID":"TARGET"},)"
        R"("Body":{"SecurityIDSource":"8","SecurityID":"ESU6","MDReqID":"789","NoMDEntries":[)"
        R"({"MDEntryType":"0","MDEntryPx":"1.50","MDEntrySize":"75","MDEntryTime":"21:14:38.688"},)"
        R"({"MDEntryType":"1","MDEntryPx":"1.75","MDEntrySize":"25","MDEntryTime":"21:14:38.688"}]},"Trailer":{}})"
        "\n"
        R"({"Header":{"BeginString":"FIX.4.4","MsgType":"D","MsgSeqNum":"2","SenderCompID":"CLIENT",)"
        R"("SendingTime":"20240102-03:04:06.000","TargetCompID":"HOUSE"},)"
        R"("Body":{"ClOrdID":"a","NoPartyIDs":[[{"PartyID":"me","PartyIDSource":"D","PartyRole":"1",)"
        R"("NoPartySubIDs":[{"PartySubID":"s1","PartySubIDType":"1"},{"PartySubID":"s2","PartySubIDType":"2"}]},)"
        R"({"PartyID":"you","PartyIDSource":"D","PartyRole":"3"}],[]],"9001":"mine","Symbol":"MSFT"},"Trailer":{}})"
        "\n");
}

TEST_F(FixPrint, JsonWithoutADictionaryLosesNoValueAndBadMessagesGoToTheOtherStream) {
    const auto repeated = message_of(
        "35=D|34=2|49=A|52=20240102-03:04:06.000|56=B|453=2|448=\"me\"|448=\xe9|95=3|96=x\x01y|554=secret|89=z|");
    const test::ScratchFile file{test::scratch_name("repeated.log"), repeated + "8=FIX.4.4|9=2|\n" + kLogon};
    const auto outcome = run({"fix", "print", file.path(), "--json"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, HasSubstr(R"("NoPartyIDs":"2","PartyID":["\"me\"","\u00e9"],"RawDataLength":"3",)"
                                       R"("RawData":"x\u0001y","Password":"******"},"Trailer":{"Signature":"z"}})"));
    EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 2);
    EXPECT_THAT(outcome.err, HasSubstr("- - - byte " + std::to_string(repeated.size()) + ": no message ("));
    EXPECT_EQ(print({"--json", "--raw"}).exit_code, 2);
    EXPECT_EQ(print({"--json", "--fields"}).exit_code, 2);
}

TEST_F(FixPrint, DelimitersOfManyKindsAreDetectedAndAValueMayHoldThem) {
    const auto order = message_of("35=D|34=2|49=CLIENT|52=20240102-03:04:06.000|56=HOUSE|11=a|58=x^y;z #1|");
    for (const std::string delimiter : {"\x01", "|", "^A", "^", "<SOH>", ";"}) {
        std::string text;
        for (const auto byte : order) text += byte == '\x01' ? delimiter : std::string{byte};
        const test::ScratchFile file{test::scratch_name("delimited.log"), text + "\n" + text};
        const auto outcome = run({"fix", "print", file.path()});
        EXPECT_EQ(outcome.exit_code, 0) << delimiter << outcome.err << outcome.out;
        EXPECT_EQ(outcome.out,
                  "20240102-03:04:06.000 - FIX.4.4:CLIENT->HOUSE 2 NewOrderSingle ClOrdID=a Text=x^y;z #1\n"
                  "20240102-03:04:06.000 - FIX.4.4:CLIENT->HOUSE 2 NewOrderSingle ClOrdID=a Text=x^y;z #1\n")
            << delimiter;
    }
}

TEST_F(FixPrint, ADataFieldMayHoldWhatLooksLikeAMessage) {
    const auto news = message_of(
        "35=B|34=2|49=A|52=20240102-03:04:06.000|56=B|95=19|96=8=FIX.4.4\x01"
        "9=5\x01"
        "35=0\x01|148=h|");
    const test::ScratchFile file{test::scratch_name("data.log"), news + kLogon};
    const auto outcome = run({"fix", "print", file.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 2) << outcome.out;
}

TEST_F(FixPrint, AValueOfAStreamMayHoldALineEndAndWhatIsWrittenRawIsReadAgain) {
    const auto text = message_of("35=B|34=2|49=A|52=20240102-03:04:06.000|56=B|148=two\nlines|");
    const auto data = message_of("35=B|34=3|49=A|52=20240102-03:04:06.000|56=B|95=4|96=\n\x01\n\n|148=h|");
    const test::ScratchFile stream{test::scratch_name("stream.log"), text + data + kLogon};
    const auto outcome = run({"fix", "print", stream.path(), "--raw"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.out, text + data + kLogon);
    // A log has one message in a line.
    const test::ScratchFile log{test::scratch_name("lines.log"), kLogon + "\n" + text + "\n" + data + "\n" + kOrder};
    EXPECT_EQ(run({"fix", "print", log.path(), "--raw"}).out, kLogon + text + data + kOrder);
}

TEST_F(FixPrint, AMessageThatWasCutOffHidesNoLaterLine) {
    const auto torn = kOrder.substr(0, kOrder.size() / 2) + "\n";
    const test::ScratchFile log{test::scratch_name("torn.log"),
                                torn + kLogon + "\n" + raw_line("20240102-03:04:07.000000002", '>', kFill) + torn};
    const auto outcome = run({"fix", "print", log.path()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("1 Logon "));
    EXPECT_THAT(outcome.out, HasSubstr("20240102-03:04:07.000000002 > FIX.4.4:HOUSE->CLIENT 2 ExecutionReport"));
}

TEST_F(FixPrint, EachCutOfTheTextIntoPiecesFindsTheSameMessages) {
    std::string bars = kFill;
    std::ranges::replace(bars, '\x01', '|');
    const auto two_lines = message_of("35=B|34=2|49=A|52=20240102-03:04:06.000|56=B|148=a\nb\n|");
    const std::string text = kLogon + two_lines + kOrder + "INFO " + bars + "\n8=FIX.4.4 torn\n" + two_lines + kLogon +
                             "\r\n# lost: 1\n" + kOrder.substr(0, 40) + "\n" + kLogon + "\n" +
                             raw_line("20240102-03:04:05.000000001", '<', kFill + kOrder) + kLogon;
    const auto found_in = [&](std::size_t piece) {
        std::string all;
        fixd::MessageFinder finder{[&](const fixd::FoundMessage& found) {
                                       all += std::to_string(found.at) + found.direction + found.session + found.bytes +
                                              "\n";
                                   },
                                   [&](std::string_view remark) { all.append("# ").append(remark); }};
        for (std::size_t at = 0; at < text.size(); at += piece) finder.append(std::string_view{text}.substr(at, piece));
        finder.finish();
        return all;
    };
    const auto whole = found_in(text.size());
    EXPECT_EQ(std::ranges::count(whole, '>'), 2);
    EXPECT_THAT(whole, HasSubstr("# lost: 1"));
    for (std::size_t piece = 1; piece < 90; ++piece) ASSERT_EQ(found_in(piece), whole) << piece;
}

TEST_F(FixPrint, EachMessageIsReadWithTheDictionaryOfItsApplicationVersion) {
    const auto dictionary = [](const std::string& major, const std::string& minor, const std::string& pack,
                               const std::string& name) {
        return "<fix type='FIX' major='" + major + "' minor='" + minor + "'" + pack +
               "><header/><trailer/><messages><message name='" + name + "' msgtype='D' msgcat='app'><field name='Of" +
               name + "' required='N'/></message></messages><fields>" + "<field number='7001' name='Of" + name +
               "' type='STRING'/></fields></fix>";
    };
    const test::ScratchFile fix44{test::scratch_name("44.xml"), dictionary("4", "4", "", "Order44")};
    const test::ScratchFile sp2{test::scratch_name("50sp2.xml"),
                                dictionary("5", "0", " servicepack='2'", "Order50SP2")};
    const test::ScratchFile fix42{test::scratch_name("42.xml"), dictionary("4", "2", "", "Order42")};
    const test::ScratchFile log{
        test::scratch_name("versions.log"),
        "8=FIXT.1.1|9=5|35=D|34=1|49=A|56=B|1128=6|7001=own|10=000|\n"
        "8=FIXT.1.1|9=5|35=A|34=2|49=A|56=B|98=0|108=30|384=1|372=D|385=S|1130=4|1410=Y|1137=9|10=000|\n"
        "8=FIXT.1.1|9=5|35=D|34=3|49=A|56=B|7001=by type|10=000|\n"
        "8=FIXT.1.1|9=5|35=A|34=1|49=B|56=A|98=0|108=30|1137=9|10=000|\n"
        "8=FIXT.1.1|9=5|35=D|34=2|49=B|56=A|7001=by default|10=000|\n"
        "8=FIX.4.4|9=5|35=D|34=9|49=X|56=Y|7001=by BeginString|10=000|\n"};
    // Corrects BodyLength and CheckSum.
    std::string text;
    std::ifstream lines{log.path()};
    for (std::string line; std::getline(lines, line);) {
        const auto begin = line.find("|35=") + 1;
        const auto end = line.find("10=000|");
        const auto front = line.substr(0, line.find("|9=") + 1);
        auto message = front + "9=" + std::to_string(end - begin) + "|" + line.substr(begin, end - begin);
        unsigned sum = 0;
        for (const auto c : message) sum += c == '|' ? 1U : static_cast<unsigned char>(c);
        auto check = std::to_string(sum % 256);
        check.insert(0, 3 - check.size(), '0');
        text += message + "10=" + check + "|\n";
    }
    const test::ScratchFile whole{test::scratch_name("whole.log"), text};
    const auto outcome = run({"fix", "print", whole.path(), "--type", "D", "--dictionary", sp2.path(), "--dictionary",
                              fix44.path(), "--dictionary", fix42.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("Order44 ApplVerID=6 OfOrder44=own"));
    EXPECT_THAT(outcome.out, HasSubstr("Order42 OfOrder42=by type"));
    EXPECT_THAT(outcome.out, HasSubstr("Order50SP2 OfOrder50SP2=by default"));
    EXPECT_THAT(outcome.out, HasSubstr("Order44 OfOrder44=by BeginString"));
}

/// A file that is rotated and truncated while it is followed; `read_` collects what the follower reports.
class Followed : public ::testing::Test {
protected:
    test::ScratchFile file_{test::scratch_name("followed.log"), ""};
    std::string read_;
    FileFollower follower_{file_.path()};

    void SetUp() override { std::filesystem::remove(file_.path()); }
    void TearDown() override {
        for (int number = 1; number < 10; ++number) {
            std::filesystem::remove(renamed(number));
            std::filesystem::remove(renamed(number) + ".zst");
        }
    }
    [[nodiscard]] std::string renamed(int number) const { return file_.path() + "." + std::to_string(number); }
    void rotate(int number) const { std::filesystem::rename(file_.path(), renamed(number)); }
    void poll_all() {
        while (poll()) {
        }
    }
    void append(const std::string& text) const { std::ofstream{file_.path(), std::ios::app} << text; }
    bool poll() {
        return follower_.poll([this](std::string_view bytes) { read_ += bytes; },
                              [this](FileFollower::Event event) {
                                  read_ += event == FileFollower::Event::missing    ? "[missing]"
                                           : event == FileFollower::Event::replaced ? "[replaced]"
                                           : event == FileFollower::Event::skipped  ? "[skipped]"
                                                                                    : "[truncated]";
                              });
    }
};

TEST_F(Followed, AFileThatComesLaterIsReadFromItsBeginning) {
    EXPECT_FALSE(poll());
    EXPECT_FALSE(poll());
    EXPECT_EQ(read_, "[missing]");  // reported once
    append("one");
    EXPECT_TRUE(poll());
    EXPECT_FALSE(poll());
    append("two");
    EXPECT_TRUE(poll());
    EXPECT_EQ(read_, "[missing]onetwo");
}

TEST_F(Followed, ARotationLosesNothingThatIsStillWrittenToTheOldFile) {
    append("one");
    poll();
    const auto old = file_.path() + ".1";
    std::filesystem::rename(file_.path(), old);
    std::ofstream{old, std::ios::app} << "two";
    poll();
    EXPECT_EQ(read_, "onetwo");
    std::ofstream{old, std::ios::app} << "three";
    append("new");
    while (poll()) {
    }
    EXPECT_EQ(read_, "onetwothree[replaced]new");
    std::filesystem::remove(old);
}

TEST_F(Followed, FilesThatCameAndWentBetweenTwoLooksAreReadInOrder) {
    append("of before");
    rotate(1);
    append("one");
    poll_all();
    append("+");
    rotate(2);
    for (int number = 3; number <= 5; ++number) {
        append("file " + std::to_string(number));
        rotate(number);
    }
    append("new");
    poll_all();
    EXPECT_EQ(read_, "one+[replaced]file 3[replaced]file 4[replaced]file 5[replaced]new");
    rotate(6);
    append("newer");
    poll_all();
    EXPECT_THAT(read_, EndsWith("new[replaced]newer"));
}

TEST_F(Followed, CompressedOnesAreReadTooAndRemovedOnesAreNamed) {
    if (!files::can_pack()) GTEST_SKIP() << "this build has no zstd";
    append("one");
    poll_all();
    rotate(1);
    for (int number = 2; number <= 4; ++number) {
        append("file " + std::to_string(number));
        rotate(number);
    }
    append("new");
    const std::atomic<bool> stop{false};
    EXPECT_FALSE(files::pack_file(renamed(1), 0640, stop));
    EXPECT_FALSE(files::pack_file(renamed(2), 0640, stop));
    std::filesystem::remove(renamed(3));
    poll_all();
    EXPECT_EQ(read_, "one[replaced]file 2[replaced][skipped][replaced]file 4[replaced]new");
    // The minimum is one renamed file; the file itself does not count.
    rotate(5);
    append("lost");
    rotate(6);
    append("file 7");
    rotate(7);
    append("last");
    std::filesystem::remove(renamed(5));
    std::filesystem::remove(renamed(6));
    poll_all();
    EXPECT_THAT(read_, EndsWith("new[replaced][skipped][replaced]file 7[replaced]last"));
}

TEST_F(Followed, WhereAHigherNumberIsAnOlderFileNothingIsReadTwice) {
    append("oldest");
    rotate(2);
    append("older");
    rotate(1);
    append("one");
    poll_all();
    // Renames all files to the next number, twice, like logrotate.
    for (const std::string text : {"two", "three"}) {
        for (int number = 4; number > 0; --number) {
            if (std::filesystem::exists(renamed(number))) std::filesystem::rename(renamed(number), renamed(number + 1));
        }
        rotate(1);
        append(text);
    }
    poll_all();
    EXPECT_EQ(read_, "one[replaced]three");
}

TEST_F(Followed, ATruncatedFileIsReadFromItsBeginning) {
    append("one two three");
    poll();
    std::filesystem::resize_file(file_.path(), 0);
    append("four");
    while (poll()) {
    }
    EXPECT_EQ(read_, "one two three[truncated]four");
}

TEST_F(Followed, AFileThatGoesAndComesAgainIsAnotherOne) {
    append("one");
    poll();
    std::filesystem::remove(file_.path());
    EXPECT_FALSE(poll());
    append("two");
    while (poll()) {
    }
    EXPECT_EQ(read_, "one[replaced]two");
}

TEST_F(Followed, AFolderOrAPipeIsRefusedWithoutWaiting) {
    ASSERT_EQ(::mkfifo(file_.path().c_str(), 0600), 0);
    EXPECT_THROW(poll(), std::runtime_error);
    FileFollower folder{"/tmp"};
    EXPECT_THROW(static_cast<void>(folder.poll([](std::string_view) {}, [](FileFollower::Event) {})),
                 std::runtime_error);
}

TEST_F(Followed, TheProgramPrintsWhatIsAppendedAndEndsWithASignal) {
    Program print{{"fix", "print", file_.path(), "--follow", "--type", "D,8"}};
    ASSERT_TRUE(print.prints("waiting for "));
    append(kLogon + kOrder.substr(0, 40));
    append(kOrder.substr(40));  // printed although it has no line end
    ASSERT_TRUE(print.prints("2 NewOrderSingle"));
    std::filesystem::rename(file_.path(), file_.path() + ".1");
    append("8=FIX.4.4|9=5|35=D|\n" + raw_line("20240102-03:04:05.000000001", '>', kFill));
    ASSERT_TRUE(print.prints("2 ExecutionReport"));
    print.signal(SIGINT);
    const auto outcome = print.wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("was replaced"));
    EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 2) << outcome.out;
    std::filesystem::remove(file_.path() + ".1");
}

TEST_F(FixPrint, ACompressedLogIsReadAsThePlainOneIsAndOneThatIsCutOffIsAnError) {
    if (!files::can_pack()) GTEST_SKIP() << "this build has no zstd";
    std::string text;
    for (int i = 0; i < 2'000; ++i) text += raw_line("20240102-03:04:06.000000000", '<', kOrder);
    const test::ScratchFile plain{test::scratch_name("plain.raw"), text};
    const test::ScratchFile packed{test::scratch_name("packed.raw"), text};
    const std::atomic<bool> stop{false};
    ASSERT_FALSE(files::pack_file(packed.path(), 0640, stop));
    const auto file = packed.path() + ".zst";
    EXPECT_LT(std::filesystem::file_size(file), text.size() / 10);
    const auto outcome = run({"fix", "print", file});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, run({"fix", "print", plain.path()}).out);
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    const auto cut = run({"fix", "print", file});
    EXPECT_EQ(cut.exit_code, 1);
    EXPECT_THAT(cut.err, HasSubstr("the file ends within its compressed data"));
    std::filesystem::remove(file);
}

TEST_F(FixPrint, AMissingFileIsOneLineAndExitCodeOne) {
    const auto outcome = run({"fix", "print", "/nonexistent/raw.log"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "millpond: cannot read '/nonexistent/raw.log': No such file or directory\n");
}

}  // namespace
}  // namespace millpond::app
