// The FIX commands beyond a session: accepted peers, configurations refused at startup, generated code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/apps/http_page.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOneOrder = "35=D|11=a|55=MSFT|54=1|38=100|40=2|44=10.5|60=20240102-03:04:05|\n";

/// A venue with three acceptors from a file, each with a session template: one with TLS, one for addresses that no
/// client here has, one for all addresses.
class FixVenue : public ::testing::Test {
protected:
    void SetUp() override {
        if (!certificates_.made()) GTEST_SKIP() << "the program openssl is missing";
        if (!venue_.prints("metrics at http://")) FAIL() << venue_.wait().err;
        const std::string mark = "listening on 127.0.0.1:";
        std::string before = mark;
        for (auto& port : ports_) {
            port = venue_.word_after(before);
            before += port + "\n" + mark;
        }
    }
    enum Entrance : std::size_t { tls, closed, open };
    static constexpr const char* kNames[] = {"TLS", "CLOSED", "OPEN"};

    [[nodiscard]] std::vector<std::string> desk(Entrance entrance, const std::string& more) const {
        return {"fix",
                "initiator",
                "--session",
                "sender=DESK,target=" + std::string{kNames[entrance]} +
                    ",reconnect_ms=10,hosts=127.0.0.1:" + ports_[entrance] + more,
                "--script",
                orders_.path(),
                "--expect",
                "1"};
    }
    [[nodiscard]] std::string with_tls(const std::string& authority) const {
        return ",tls=true,tls_server_name=" + std::string{test::Certificates::kServerName} +
               ",tls_authorities=" + certificates_.certificate(authority);
    }
    /// Waits until the venue's counter with this prefix is not 0 and returns it; "" if the venue has ended.
    [[nodiscard]] std::string count_of(const std::string& counter) const {
        const auto port = static_cast<std::uint16_t>(std::stoi(venue_.word_after("metrics at http://127.0.0.1:")));
        for (;;) {
            const auto page = page_of(port, "/metrics");
            const auto at = page.find("\n" + counter + " ");
            if (at == std::string::npos) return "";
            const auto value = at + counter.size() + 2;
            const auto text = page.substr(value, page.find('\n', value) - value);
            if (text != "0") return text;
        }
    }
    [[nodiscard]] std::string turned_away(Entrance entrance, const std::string& reason) const {
        return "millpond_fix_turned_away_total{port=\"" + ports_[entrance] + "\",reason=\"" + reason + "\"}";
    }

    test::Certificates certificates_;
    test::ScratchFile orders_{test::scratch_name("orders.txt"), kOneOrder};
    test::ScratchFile file_{test::scratch_name("venue.toml"), R"(
        metrics = "127.0.0.1:0"
        [[acceptor]]
        name = "tls"
        listen = "127.0.0.1:0"
        allow = ["127.0.0.0/8"]
        tls_certificate = ")" + certificates_.certificate("ours-server") +
                                                                  R"("
        tls_key = ")" + certificates_.key("ours-server") +
                                                                  R"("
        tls_authorities = ")" + certificates_.certificate("ours") +
                                                                  R"("
        [[acceptor]]
        name = "closed"
        listen = "127.0.0.1:0"
        allow = ["10.0.0.0/8", "fd00::/8"]
        [[acceptor]]
        name = "open"
        listen = "127.0.0.1:0"
        [[session]]
        sender = "TLS"
        target = "*"
        acceptor = "tls"
        store = "memory"
        [[session]]
        sender = "CLOSED"
        target = "*"
        acceptor = "closed"
        store = "memory"
        [[session]]
        sender = "OPEN"
        target = "*"
        acceptor = "open"
        store = "memory"
        max_dynamic = 1)"};
    Program venue_{{"fix", "acceptor", "--fill", "--config", file_.path()}};
    std::string ports_[3];
};

TEST_F(FixVenue, OrdersAndFillsGoByTlsBetweenPartiesWithCertificates) {
    const auto client = with_tls("ours") + ",tls_certificate=" + certificates_.certificate("ours-client") +
                        ",tls_key=" + certificates_.key("ours-client");
    const auto outcome = run(desk(tls, client));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("FIX.4.4:DESK->TLS 2 ExecutionReport AvgPx=10.5 ClOrdID=a CumQty=100"));
}

TEST_F(FixVenue, AClientWithoutACertificateIsTurnedAwayFromTls) {
    Program client{desk(tls, with_tls("ours"))};
    EXPECT_NE(count_of(turned_away(tls, "handshake")), "");
    client.signal(SIGKILL);  // the client would retry for ten more seconds
    EXPECT_THAT(client.wait().out, ::testing::Not(HasSubstr("ExecutionReport")));
}

TEST_F(FixVenue, AnAddressThatIsNotOnTheListIsTurnedAway) {
    Program client{desk(closed, "")};
    EXPECT_NE(count_of(turned_away(closed, "not_allowed")), "");
    client.signal(SIGKILL);  // the client would retry for ten more seconds
    EXPECT_THAT(client.wait().out, ::testing::Not(HasSubstr("ExecutionReport")));
}

TEST_F(FixVenue, SessionsByTemplateAreAsManyAsTheFileSays) {
    EXPECT_EQ(run(desk(open, "")).exit_code, 0);
    Program second{{"fix", "initiator", "--stay", "--script", "/dev/null", "--session",
                    "sender=SECOND,target=OPEN,reconnect_ms=10,hosts=127.0.0.1:" + ports_[open]}};
    EXPECT_NE(count_of(turned_away(open, "full")), "");
    second.signal(SIGTERM);
    EXPECT_EQ(second.wait().exit_code, 0);
}

TEST(FixRefusal, AProcessorThatIsNotThereIsNamed) {
    for (const auto* command : {"acceptor", "initiator"}) {
        const auto outcome =
            run({"fix", command, "--pin", "1000", "--session",
                 "sender=A,target=B" + std::string{command == std::string{"acceptor"} ? "" : ",hosts=127.0.0.1:1"}});
        EXPECT_EQ(outcome.exit_code, 1) << command;
        EXPECT_THAT(outcome.err, HasSubstr("may not run on processor 1000")) << command;
    }
}

TEST(FixRefusal, RealtimeWithoutTheCapabilityIsNamed) {
    const auto outcome =
        run_without_realtime({"fix", "acceptor", "--realtime", "50", "--port", "0", "--session", "sender=A,target=B"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("SCHED_FIFO priority 50 was refused; grant CAP_SYS_NICE"));
}

constexpr const char* kDictionary = R"(<fix major="4" minor="4">
  <header><field name="MsgType" required="Y"/></header>
  <trailer><field name="CheckSum" required="Y"/></trailer>
  <messages>
    <message name="NewOrderSingle" msgtype="D" msgcat="app">
      <field name="ClOrdID" required="Y"/><field name="Price" required="N"/>
      <group name="NoPartyIDs" required="N"><field name="PartyID" required="N"/></group>
    </message>
    <message name="OrderCancelRequest" msgtype="F" msgcat="app"><field name="ClOrdID" required="Y"/></message>
  </messages>
  <components/>
  <fields>
    <field number="10" name="CheckSum" type="STRING"/><field number="11" name="ClOrdID" type="STRING"/>
    <field number="35" name="MsgType" type="STRING"/><field number="44" name="Price" type="PRICE"/>
    <field number="448" name="PartyID" type="STRING"/><field number="453" name="NoPartyIDs" type="NUMINGROUP"/>
  </fields>
</fix>)";

TEST(FixGenerate, ADictionaryBecomesAHeaderThatCompilesAndReads) {
    const test::ScratchFile dictionary{test::scratch_name("small.xml"), kDictionary};
    const auto outcome = run({"fix", "generate", dictionary.path(), "--namespace", "house", "--message", "D"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("namespace house"));
    EXPECT_THAT(outcome.out, HasSubstr("class NewOrderSingle"));
    EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("class OrderCancelRequest")));
    const test::ScratchFile source{test::scratch_name("small.cpp"), outcome.out + R"(
#include <string_view>
std::string_view read(const millpond::fix::Message& message) {
    const house::NewOrderSingle order{message};
    for (const auto& party : order.no_party_ids()) return party.party_id().value_or("");
    return order.price() ? order.cl_ord_id().value_or("") : "";
}
)"};
    const auto compiled = Program{
        MILLPOND_COMPILER,
        {"-std=c++23", "-fsyntax-only", "-Wall", "-Wextra", "-I" MILLPOND_INCLUDE,
         source.path()}}.wait();
    EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
}

// Includes the headers first that declare the macros, functions and namespaces with the names of fields and messages.
TEST(FixGenerate, AnyNamesInADictionaryMakeAHeaderThatCompiles) {
    std::string fields;
    std::string members;
    int number = 20'000;
    for (const auto* name :
         {"Class",    "Class_",  "class",  "Errno",   "errno", "Stdin", "Linux",   "Time",     "time",  "Message",
          "Message_", "message", "Fields", "Fields_", "Is",    "Fix",   "Group",   "Tag",      "Std",   "A-B",
          "A_B",      "A B",     "1st",    "F1st",    "_X",    "EOF",   "NoLegs2", "MsgType2", "kTime", "INT_MAX"}) {
        const auto quoted = " name='" + std::string{name} + "'";
        fields += "<field number='" + std::to_string(++number) + "'" + quoted + " type='STRING'/>";
        members += "<field" + quoted + " required='N'/>";
    }
    std::string groups;
    std::string messages;
    for (const auto* name : {"NoLegs", "errno2", "NULL", "fix"}) {
        fields += "<field number='" + std::to_string(++number) + "' name='" + name + "' type='NUMINGROUP'/>";
        groups += "<group name='" + std::string{name} + "' required='N'>" + members + "</group>";
    }
    int type = 0;
    for (const auto* name : {"class", "Time", "time", "fix", "group", "tag", "Tag", "EOF", "A-B", "A_B", "message",
                             "x\\", "two&#10;lines", "std"}) {
        messages += "<message name='" + std::string{name} + "' msgtype='&quot;\\" + std::to_string(++type) +
                    "' msgcat='app'>" + members + groups + "</message>";
    }
    // Adds a second group of the same name with different members.
    messages +=
        "<message name='Last' msgtype='Z' msgcat='app'><group name='NoLegs' required='N'>"
        "<field name='Tag' required='N'/></group></message>";
    const test::ScratchFile xml{test::scratch_name("names.xml"),
                                "<fix type='FIX' major='4' minor='4'><header/><trailer/><messages>" + messages +
                                    "</messages><components/><fields>" + fields + "</fields></fix>"};
    for (const auto* name : {"fix", "tag", "group", "desk::time", "house"}) {
        const auto outcome = run({"fix", "generate", xml.path(), "--namespace", name});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        const auto text =
            "#include <cassert>\n#include <cerrno>\n#include <climits>\n#include <cmath>\n#include <cstdio>\n"
            "#include <ctime>\n#include <sys/stat.h>\n#include <unistd.h>\n" +
            outcome.out + "auto read_of(const millpond::fix::Message& message) { return " + name +
            "::Class{message}.time(); }\n";
        const test::ScratchFile source{test::scratch_name("names.cpp"), text};
        const auto compiled = Program{
            MILLPOND_COMPILER,
            {"-std=gnu++23", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-pragma-once-outside-header",
             "-I" MILLPOND_INCLUDE,
             source.path()}}.wait();
        EXPECT_EQ(compiled.exit_code, 0) << name << compiled.err;
    }
}

TEST(FixGenerate, ANamespaceThatCppCannotHaveIsRefused) {
    const test::ScratchFile xml{
        test::scratch_name("small.xml"),
        "<fix type='FIX' major='4' minor='4'><header/><trailer/><messages/><components/><fields/></fix>"};
    for (const auto* name :
         {"class",  "a::class", "co_await", "and",     "std",      "1a",     "a::",      "::a",   "a b",
          "a__b",   "_A",       "",         "errno",   "NULL",     "assert", "offsetof", "stdin", "EINVAL",
          "SIGINT", "INT_MAX",  "INT8_C",   "FLT_DIG", "a::errno", "time",   "tm",       "index", "read",
          "size_t", "stat",     "isnan",    "time::a", "FILE",     "main",   "millpond", "posix", "std2"}) {
        const auto outcome = run({"fix", "generate", xml.path(), "--namespace", name});
        EXPECT_NE(outcome.exit_code, 0) << name;
        EXPECT_EQ(outcome.out, "") << name;
        EXPECT_THAT(outcome.err, HasSubstr("'" + std::string{name} + "' cannot be a namespace")) << name;
    }
    for (const auto* name : {"desk::fix44", "desk::time", "timer", "FIX44", "EUREX", "ERR", "NULLS", "ORDER_V2"}) {
        EXPECT_EQ(run({"fix", "generate", xml.path(), "--namespace", name}).exit_code, 0) << name;
    }
}

TEST(FixGenerate, AFileThatIsNoDictionaryIsOneLineAndExitCodeOne) {
    const test::ScratchFile text{test::scratch_name("not.xml"), "8=FIX.4.4"};
    for (const auto& file : {text.path(), std::string{"/nonexistent.xml"}, std::string{"/usr"}}) {
        const auto outcome = run({"fix", "generate", file});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(outcome.err.find('\n') + 1, outcome.err.size()) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(file));
    }
}

}  // namespace
}  // namespace millpond::app
