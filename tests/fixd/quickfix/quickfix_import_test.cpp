#include "fixd/quickfix/quickfix_import.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "fixd/engine_config.hpp"
#include "fixd/quickfix/quickfix_keys.hpp"
#include "service/settings/value.hpp"

namespace millpond::fixd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

EngineConfig config_of(const QuickfixImport& import) {
    EngineConfig config;
    read_engine_toml(import.toml, "import", config);
    complete(config);
    return config;
}

EngineConfig imported(std::string_view text) { return config_of(import_quickfix(text, "quickfix.cfg")); }

std::string error_of(std::string_view text) {
    try {
        static_cast<void>(import_quickfix(text, "quickfix.cfg"));
    } catch (const settings::ConfigError& error) {
        return error.what();
    }
    return "accepted";
}

std::vector<std::string> left_out_of(std::string_view text) {
    std::vector<std::string> keys;
    for (const auto& one : import_quickfix(text, "quickfix.cfg").left_out) {
        keys.push_back(std::to_string(one.line) + " " + one.key);
        EXPECT_FALSE(one.reason.empty()) << one.key;
    }
    return keys;
}

constexpr std::string_view kInitiator = R"([DEFAULT]
ConnectionType=initiator
ReconnectInterval=60
FileStorePath=store
FileLogPath=log
StartTime=12:30:00
EndTime=23:30:00
UseDataDictionary=Y
DataDictionary=/etc/quickfix/FIX42.xml
HttpAcceptPort=9911
# a comment
[SESSION]
BeginString=FIX.4.2
SenderCompID=DESK
SenderSubID=A "quoted" \ trader
TargetCompID=VENUE
SocketConnectHost=127.0.0.1
SocketConnectPort=9823
SocketConnectHost1=venue.example
SocketConnectPort1=9824
HeartBtInt=20
resetonlogon=y
CheckLatency=N
MaxLatency=30
)";

TEST(QuickfixImport, AnInitiatorsSettingsKeepTheirMeaning) {
    const auto config = imported(kInitiator);
    EXPECT_EQ(config.raw_log, "log/raw.log");
    EXPECT_THAT(config.acceptors, IsEmpty());
    ASSERT_EQ(config.sessions.size(), 1U);
    const auto& session = config.sessions[0];
    EXPECT_EQ(session.version, FixVersion::fix42);
    EXPECT_EQ(session.sender, "DESK");
    EXPECT_EQ(session.target, "VENUE");
    EXPECT_THAT(session.hosts, ElementsAre("127.0.0.1:9823", "venue.example:9824"));
    EXPECT_EQ(session.reconnect_ms, 60'000U);
    EXPECT_EQ(session.reconnect_longest_ms, 60'000U);
    EXPECT_EQ(session.heartbeat_seconds, 20U);
    EXPECT_TRUE(session.reset_on_logon);
    EXPECT_EQ(session.max_latency_seconds, 0U);
    EXPECT_EQ(session.start, 12 * 3600 + 30 * 60);
    EXPECT_EQ(session.end, 23 * 3600 + 30 * 60);
    EXPECT_EQ(session.dictionary, "/etc/quickfix/FIX42.xml");
    EXPECT_EQ(session.store, "store/FIX.4.2-DESK-VENUE.store");
    ASSERT_EQ(session.header.size(), 1U);
    EXPECT_EQ(session.header[0].tag, 50U);
    EXPECT_EQ(session.header[0].value, R"(A "quoted" \ trader)");
    EXPECT_THAT(left_out_of(kInitiator), ElementsAre("10 HttpAcceptPort"));
}

TEST(QuickfixImport, AcceptorsShareAPortAndDifferInWhatTheirSessionsSay) {
    const auto config = imported(R"([DEFAULT]
ConnectionType=acceptor
SocketAcceptPort=5001
ServerCertificateFile=/etc/ssl/venue.pem
CertificationAuthoritiesFile=/etc/ssl/clients.pem
CertificateVerifyLevel=2
SenderCompID=VENUE
PersistMessages=Y
[SESSION]
BeginString=FIXT.1.1
DefaultApplVerID=8
TargetCompID=ONE
TransportDataDictionary=FIXT11.xml
AppDataDictionary=FIX50SP1.xml
NonStopSession=Y
StartTime=00:00:00
EndTime=00:00:00
[SESSION]
BeginString=FIX.4.4
TargetCompID=*
AcceptorTemplate=Y
FileStorePath=/var/lib/fix/
StartTime=08:00:00 Europe/Berlin
EndTime=22:00:00 Europe/Berlin
Weekdays=Mon,Tuesday, fr
TimeStampPrecision=MICROS
[SESSION]
BeginString=FIX.4.4
TargetCompID=WEEK
SocketAcceptPort=5002
StartDay=sunday
EndDay=fr
StartTime=17:00:00
EndTime=17:00:00
)");
    ASSERT_EQ(config.acceptors.size(), 2U);
    EXPECT_EQ(config.acceptors[0].listen.to_string(), "0.0.0.0:5001");
    EXPECT_EQ(config.acceptors[0].tls.certificate, "/etc/ssl/venue.pem");
    EXPECT_EQ(config.acceptors[0].tls.key, "/etc/ssl/venue.pem");
    EXPECT_EQ(config.acceptors[0].tls.authorities, "/etc/ssl/clients.pem");
    EXPECT_TRUE(config.acceptors[0].tls.verify);
    EXPECT_EQ(config.acceptors[1].listen.to_string(), "0.0.0.0:5002");
    ASSERT_EQ(config.sessions.size(), 3U);
    EXPECT_EQ(config.sessions[0].version, FixVersion::fix50sp1);
    EXPECT_EQ(config.sessions[0].dictionary, "FIXT11.xml");
    EXPECT_EQ(config.sessions[0].application_dictionary, "FIX50SP1.xml");
    EXPECT_FALSE(config.sessions[0].start.has_value());
    EXPECT_EQ(config.sessions[1].target, "*");
    EXPECT_EQ(config.sessions[1].store, "/var/lib/fix/VENUE");
    EXPECT_EQ(config.sessions[1].timezone, "Europe/Berlin");
    EXPECT_EQ(config.sessions[1].start, 8 * 3600);
    EXPECT_EQ(config.sessions[1].days, "mon+tue+fri");
    EXPECT_EQ(config.sessions[1].time_precision, fix::TimePrecision::micros);
    EXPECT_EQ(config.sessions[2].acceptor, "port 5002");
    EXPECT_EQ(config.sessions[2].start_day, "sun");
    EXPECT_EQ(config.sessions[2].end_day, "fri");
}

constexpr std::string_view kFixt =
    "[SESSION]\nConnectionType=initiator\nBeginString=FIXT.1.1\nSenderCompID=A\nTargetCompID=B\n"
    "SocketConnectHost=h\nSocketConnectPort=1\nTransportDataDictionary=FIXT11.xml\n";

TEST(QuickfixImport, ADictionaryForEachVersionIsAFurtherVersion) {
    const auto config = imported(std::string{kFixt} +
                                 "DefaultApplVerID=FIXLatest\nAppDataDictionary=FIXLatest.xml\n"
                                 "AppDataDictionary.FIX.4.4=FIX44.xml\nAppDataDictionary.FIX.5.0SP2=own/50.xml\n");
    const auto& session = config.sessions.at(0);
    EXPECT_EQ(session.version, FixVersion::fix_latest);
    EXPECT_EQ(session.dictionary, "FIXT11.xml");
    EXPECT_EQ(session.application_dictionary, "FIXLatest.xml");
    EXPECT_THAT(session.further_versions, ElementsAre(FurtherVersion{FixVersion::fix44, "FIX44.xml"},
                                                      FurtherVersion{FixVersion::fix50sp2, "own/50.xml"}));
    for (const auto* version : {"9", "FIX.5.0SP2"}) {
        const auto own = imported(std::string{kFixt} + "DefaultApplVerID=" + version +
                                  "\nAppDataDictionary.FIX.5.0SP2=FIX50SP2.xml\nAppDataDictionary.10=FIXLatest.xml\n");
        EXPECT_EQ(own.sessions.at(0).application_dictionary, "FIX50SP2.xml");
        EXPECT_THAT(own.sessions.at(0).further_versions,
                    ElementsAre(FurtherVersion{FixVersion::fix_latest, "FIXLatest.xml"}));
    }
    const auto unchecked = imported(std::string{kFixt} +
                                    "DefaultApplVerID=10\nUseDataDictionary=N\n"
                                    "AppDataDictionary.FIX.4.2=FIX42.xml\n");
    EXPECT_EQ(unchecked.sessions.at(0).version, FixVersion::fix_latest);
    EXPECT_THAT(unchecked.sessions.at(0).further_versions, ElementsAre(FurtherVersion{FixVersion::fix42, ""}));
    EXPECT_THAT(left_out_of("[DEFAULT]\nAppDataDictionary.FIX.5.0=FIX50.xml\n[SESSION]\nConnectionType=initiator\n"
                            "BeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\nSocketConnectHost=h\n"
                            "SocketConnectPort=1\n"),
                IsEmpty());
    EXPECT_THAT(error_of(std::string{kFixt} + "DefaultApplVerID=9\nAppDataDictionary.FIX.9=x.xml\n"),
                HasSubstr("quickfix.cfg:10: AppDataDictionary.FIX.9: 'FIX.9' is not an application version"));
    EXPECT_THAT(error_of(std::string{kFixt} + "DefaultApplVerID=FIX.4.4\n"),
                HasSubstr("quickfix.cfg:9: DefaultApplVerID 'FIX.4.4': over FIXT.1.1 there are FIX.5.0, FIX.5.0SP1, "
                          "FIX.5.0SP2 and FIX.Latest"));
}

constexpr std::string_view kSession =
    "[SESSION]\nConnectionType=initiator\nBeginString=FIX.4.4\nSenderCompID=A\n"
    "TargetCompID=B\nSocketConnectHost=h\nSocketConnectPort=1\n";

TEST(QuickfixImport, WhatHasNoCounterpartIsListedOnceWithItsLineAndReason) {
    const std::string text = "[DEFAULT]\nSessionQualifier=Q\nCheckCompID=Y\nUseLocalTime=Y\nMyOwnKey=7\n";
    EXPECT_THAT(left_out_of(text + std::string{kSession} +
                            "[SESSION]\nTargetCompID=C\nConnectionType=initiator\n"
                            "BeginString=FIX.4.4\nSenderCompID=A\nSocketConnectHost=h\n"
                            "SocketConnectPort=1\nPassword=secret\n"),
                ElementsAre("2 SessionQualifier", "4 UseLocalTime", "5 MyOwnKey", "20 Password"));
    const auto import = import_quickfix(text + std::string{kSession}, "quickfix.cfg");
    EXPECT_THAT(import.toml, HasSubstr("# line 5: MyOwnKey: not a known QuickFIX setting"));
}

TEST(QuickfixImport, AnAcceptorsTlsIsConvertedOrListed) {
    const std::string acceptor =
        "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\n"
        "SocketAcceptPort=5001\nSocketUseSSL=Y\n";
    EXPECT_THAT(left_out_of(acceptor + "SocketKeyStore=k.jks\nSocketKeyStorePassword=p\nKeyStoreType=JKS\n"),
                ElementsAre("7 SocketUseSSL", "8 SocketKeyStore", "9 SocketKeyStorePassword", "10 KeyStoreType"));
    EXPECT_THAT(import_quickfix(acceptor, "q.cfg").toml, HasSubstr("would listen WITHOUT TLS"));
    EXPECT_THAT(left_out_of(acceptor + "ServerCertificateFile=c.pem\n"), IsEmpty());
}

TEST(QuickfixImport, MessagesThatAreNotToBeKeptAreListedAndTheNumbersKept) {
    const auto session = std::string{kSession} + "PersistMessages=N\n";
    EXPECT_THAT(left_out_of(session), ElementsAre(HasSubstr(" PersistMessages")));
    EXPECT_THAT(left_out_of(session + "FileStorePath=s\n"), ElementsAre(HasSubstr(" PersistMessages")));
    EXPECT_EQ(imported(session + "FileStorePath=s\n").sessions.at(0).store, "s/FIX.4.4-A-B.store");
}

TEST(QuickfixImport, ATemplateWithAFixedTargetIsListed) {
    for (const char* key : {"DynamicSession", "AcceptorTemplate"}) {
        const auto line = std::string{key} + "=Y\n";
        EXPECT_THAT(left_out_of(std::string{kSession} + line), ElementsAre(HasSubstr(key)));
        EXPECT_THAT(left_out_of("[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\n"
                                "TargetCompID=*\nSocketAcceptPort=5001\n" +
                                line),
                    IsEmpty());
    }
}

TEST(QuickfixImport, OfSessionsThatDifferInTheirQualifierTheFirstStays) {
    const auto text =
        std::string{kSession} + "SessionQualifier=ONE\n" + std::string{kSession} + "SessionQualifier=TWO\n";
    const auto import = import_quickfix(text, "quickfix.cfg");
    EXPECT_EQ(config_of(import).sessions.size(), 1U);
    ASSERT_EQ(import.left_out.size(), 2U);
    EXPECT_EQ(import.left_out[0].key, "SessionQualifier");
    EXPECT_EQ(import.left_out[1].key, "[SESSION]");
    EXPECT_THAT(import.toml, HasSubstr("that of line 1 has the same ids"));
    EXPECT_THAT(error_of(std::string{kSession} + std::string{kSession}), HasSubstr("twice"));
}

TEST(QuickfixImport, AByteOrderMarkIsNoPartOfTheFile) {
    EXPECT_EQ(imported("\xEF\xBB\xBF" + std::string{kSession}).sessions.size(), 1U);
}

TEST(QuickfixImport, EachPlainKeyIsAccepted) {
    for (const auto& plain : quickfix::kPlainKeys) {
        const auto* const value = plain.kind == quickfix::Kind::number   ? "7"
                                  : plain.kind == quickfix::Kind::yes_no ? "Y"
                                                                         : "127.0.0.1";
        EXPECT_THAT(left_out_of(std::string{kSession} + "ProxyType=http\nProxyHost=h\nProxyPort=1\n" +
                                std::string{plain.quickfix} + "=" + value + "\n"),
                    IsEmpty())
            << plain.quickfix;
    }
    EXPECT_THAT(left_out_of(std::string{kSession} + "ResendRequestChunkSize=5\nMaxMessagesInResendRequest=9\n"),
                ElementsAre("8 ResendRequestChunkSize"));
}

TEST(QuickfixImport, AProxyIsOneKeyAndItsPasswordIsNotCopied) {
    const auto text = std::string{kSession} +
                      "ProxyType=socks\nProxyHost=gate\nProxyPort=1080\nProxyUser=me\n"
                      "ProxyPassword=geheim\nProxyVersion=5\nSocketLocalHost=10.0.0.1\n";
    const auto import = import_quickfix(text, "quickfix.cfg");
    const auto config = config_of(import);
    EXPECT_EQ(config.sessions[0].proxy, "socks5://gate:1080");
    EXPECT_EQ(config.sessions[0].proxy_username, "me");
    EXPECT_THAT(import.toml, ::testing::Not(HasSubstr("geheim")));
    EXPECT_THAT(left_out_of(text), ElementsAre("12 ProxyPassword"));
    EXPECT_THAT(error_of(std::string{kSession} + "ProxyType=other\n"), HasSubstr("quickfix.cfg:8: ProxyType expects"));
}

TEST(QuickfixImport, AMistakeIsNamedWithFileAndLine) {
    const std::string session{kSession};
    EXPECT_THAT(error_of(""), HasSubstr("quickfix.cfg: there is no [SESSION]"));
    EXPECT_THAT(error_of("a=b\n"), HasSubstr("quickfix.cfg:1: a setting before"));
    EXPECT_THAT(error_of("[OTHER]\n"), HasSubstr("quickfix.cfg:1: expected [DEFAULT] or [SESSION]"));
    EXPECT_THAT(error_of(session + "HeartBtInt=ten\n"), HasSubstr("quickfix.cfg:8: HeartBtInt expects a number"));
    EXPECT_THAT(error_of(session + "ResetOnLogon=maybe\n"), HasSubstr("quickfix.cfg:8: ResetOnLogon expects Y or N"));
    EXPECT_THAT(error_of(session + "garbage\n"), HasSubstr("quickfix.cfg:8: expected KEY=VALUE"));
    EXPECT_THAT(error_of(session + "BeginString=FIX.4.4\n"),
                HasSubstr("quickfix.cfg:8: key 'BeginString' is listed twice"));
    EXPECT_THAT(error_of(session + "StartDay=noday\n"), HasSubstr("quickfix.cfg:8: StartDay expects a day"));
    EXPECT_THAT(error_of("[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\n"),
                HasSubstr("quickfix.cfg:1: the session has no SocketAcceptPort"));
    EXPECT_THAT(error_of(session + "HeartBtInt=99999999\n"), HasSubstr("what quickfix.cfg becomes:"));
    EXPECT_THAT(error_of(session + session), HasSubstr("what quickfix.cfg becomes: [[session]] "));
    EXPECT_THAT(error_of(session + session), HasSubstr("is listed twice"));
}

}  // namespace
}  // namespace millpond::fixd
