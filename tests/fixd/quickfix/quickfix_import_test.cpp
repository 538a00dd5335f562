#include "fixd/quickfix/quickfix_import.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "fixd/quickfix/quickfix_keys.hpp"
#include "fixd/settings/engine_config.hpp"
#include "tests/fixd/quickfix/imported.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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
    EXPECT_EQ(config.raw_log.file, "log/raw.log");
    EXPECT_THAT(config.acceptors, IsEmpty());
    ASSERT_EQ(config.sessions.size(), 1U);
    const auto& session = config.sessions[0];
    EXPECT_EQ(application_version(session), fix::ApplicationVersion::fix42);
    EXPECT_EQ(session.config.sender_comp_id, "DESK");
    EXPECT_EQ(session.config.target_comp_id, "VENUE");
    EXPECT_THAT(session.hosts, ElementsAre("127.0.0.1:9823", "venue.example:9824"));
    EXPECT_EQ(session.reconnect.first.count(), 60'000);
    EXPECT_EQ(session.reconnect.max.count(), 60'000);
    EXPECT_EQ(session.config.heartbeat_seconds, 20);
    EXPECT_TRUE(session.config.reset_on_logon);
    EXPECT_EQ(session.config.max_latency_ns, 0);
    EXPECT_EQ(session.start, 12 * 3600 + 30 * 60);
    EXPECT_EQ(session.end, 23 * 3600 + 30 * 60);
    EXPECT_EQ(session.dictionary, "/etc/quickfix/FIX42.xml");
    EXPECT_EQ(session.store.file, "store/FIX.4.2-DESK+A%20%22quoted%22%20%5C%20trader-VENUE.store");
    EXPECT_EQ(session.config.sender_sub_id, R"(A "quoted" \ trader)");
    EXPECT_THAT(left_out_of(kInitiator), ElementsAre("10 HttpAcceptPort"));
}

TEST(QuickfixImport, AcceptorsShareAPortAndDifferByTheirSessions) {
    const auto config = imported(R"([DEFAULT]
ConnectionType=acceptor
SocketAcceptPort=5001
ServerCertificateFile=/etc/ssl/venue.pem
CertificationAuthoritiesFile=/etc/ssl/clients.pem
CertificateVerifyLevel=1
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
    EXPECT_TRUE(config.acceptors[0].tls.verify_peer);
    EXPECT_EQ(config.acceptors[1].listen.to_string(), "0.0.0.0:5002");
    ASSERT_EQ(config.sessions.size(), 3U);
    EXPECT_EQ(application_version(config.sessions[0]), fix::ApplicationVersion::fix50sp1);
    EXPECT_EQ(config.sessions[0].dictionary, "FIXT11.xml");
    EXPECT_EQ(config.sessions[0].application_dictionary, "FIX50SP1.xml");
    EXPECT_FALSE(config.sessions[0].start.has_value());
    EXPECT_EQ(config.sessions[1].config.target_comp_id, "*");
    EXPECT_EQ(config.sessions[1].store.file, "/var/lib/fix/FIX.4.4-VENUE");
    EXPECT_EQ(config.sessions[1].timezone, "Europe/Berlin");
    EXPECT_EQ(config.sessions[1].start, 8 * 3600);
    EXPECT_EQ(config.sessions[1].days, "mon+tue+fri");
    EXPECT_EQ(config.sessions[1].config.time_precision, fix::TimePrecision::micros);
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
    EXPECT_EQ(application_version(session), fix::ApplicationVersion::latest);
    EXPECT_EQ(session.dictionary, "FIXT11.xml");
    EXPECT_EQ(session.application_dictionary, "FIXLatest.xml");
    EXPECT_THAT(session.further_versions, ElementsAre(FurtherVersion{fix::ApplicationVersion::fix44, "FIX44.xml"},
                                                      FurtherVersion{fix::ApplicationVersion::fix50sp2, "own/50.xml"}));
    for (const auto* version : {"9", "FIX.5.0SP2"}) {
        const auto own = imported(std::string{kFixt} + "DefaultApplVerID=" + version +
                                  "\nAppDataDictionary.FIX.5.0SP2=FIX50SP2.xml\nAppDataDictionary.10=FIXLatest.xml\n");
        EXPECT_EQ(own.sessions.at(0).application_dictionary, "FIX50SP2.xml");
        EXPECT_THAT(own.sessions.at(0).further_versions,
                    ElementsAre(FurtherVersion{fix::ApplicationVersion::latest, "FIXLatest.xml"}));
    }
    const auto unchecked = imported(std::string{kFixt} +
                                    "DefaultApplVerID=10\nUseDataDictionary=N\n"
                                    "AppDataDictionary.FIX.4.2=FIX42.xml\n");
    EXPECT_EQ(application_version(unchecked.sessions.at(0)), fix::ApplicationVersion::latest);
    EXPECT_THAT(unchecked.sessions.at(0).further_versions,
                ElementsAre(FurtherVersion{fix::ApplicationVersion::fix42, ""}));
    EXPECT_THAT(left_out_of("[DEFAULT]\nAppDataDictionary.FIX.5.0=FIX50.xml\n[SESSION]\nConnectionType=initiator\n"
                            "BeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\nSocketConnectHost=h\n"
                            "SocketConnectPort=1\n"),
                IsEmpty());
    EXPECT_THAT(import_error(std::string{kFixt} + "DefaultApplVerID=9\nAppDataDictionary.FIX.9=x.xml\n"),
                HasSubstr("quickfix.cfg:10: AppDataDictionary.FIX.9: 'FIX.9' is not an application version"));
    EXPECT_THAT(import_error(std::string{kFixt} + "DefaultApplVerID=FIX.4.4\n"),
                HasSubstr("quickfix.cfg:9: DefaultApplVerID 'FIX.4.4': over FIXT.1.1 there are FIX.5.0, FIX.5.0SP1, "
                          "FIX.5.0SP2 and FIX.Latest"));
}

TEST(QuickfixImport, SettingsWithoutCounterpartAreListedOnceWithLineAndReason) {
    const std::string text = "[DEFAULT]\nSessionQualifier=Q\nCheckCompID=Y\nUseLocalTime=Y\nMyOwnKey=7\n";
    EXPECT_THAT(left_out_of(text + std::string{kImportedSession} +
                            "[SESSION]\nTargetCompID=C\nConnectionType=initiator\n"
                            "BeginString=FIX.4.4\nSenderCompID=A\nSocketConnectHost=h\n"
                            "SocketConnectPort=1\nPassword=secret\n"),
                ElementsAre("4 UseLocalTime", "5 MyOwnKey", "20 Password"));
    const auto import = import_quickfix(text + std::string{kImportedSession}, "quickfix.cfg");
    EXPECT_THAT(import.toml, HasSubstr("# line 5: MyOwnKey: not a known QuickFIX setting"));
}

TEST(QuickfixImport, AnAcceptorsTlsIsConvertedAndNeverTurnedOff) {
    EXPECT_THAT(left_out_of(acceptor_with("SocketUseSSL=Y\nServerCertificateFile=c.pem\n")), IsEmpty());
    EXPECT_THAT(left_out_of(acceptor_with("SSLEnable=Y\nServerCertificateFile=c.pem\nSSLProtocols=Tls12\n")),
                ElementsAre("9 SSLProtocols"));
    for (const auto* asks : {"SocketUseSSL=Y", "SSLEnable=Y", "CertificationAuthoritiesFile=ca.pem",
                             "CertificationAuthoritiesDirectory=ca", "ServerCertificateKeyFile=k.pem",
                             "CertificateVerifyLevel=1", "SSLProtocol=all -SSLv2"}) {
        const std::string line{asks};
        EXPECT_THAT(
            import_error(acceptor_with(line + "\nSocketKeyStore=k.jks\n")),
            HasSubstr("quickfix.cfg:7: " + line.substr(0, line.find('=')) + ": the acceptor would listen without TLS"))
            << line;
    }
    EXPECT_FALSE(import_quickfix(acceptor_with("SSLEnable=N\nSocketUseSSL=N\n"), "q.cfg").toml.empty());
}

TEST(QuickfixImport, AKeyThatAnyUserMayReadIsNamedWithTheCommandThatHelps) {
    const test::ScratchFile key{test::scratch_name("open.key"), "key"};
    const auto text = acceptor_with("ServerCertificateFile=c.pem\nServerCertificateKeyFile=" + key.path() + "\n");
    ASSERT_EQ(chmod(key.path().c_str(), 0644), 0);
    const auto import = import_quickfix(text, "quickfix.cfg");
    ASSERT_EQ(import.left_out.size(), 1U);
    EXPECT_EQ(import.left_out[0].key, "ServerCertificateKeyFile");
    EXPECT_THAT(import.left_out[0].reason, HasSubstr("chmod o-rw '" + key.path() + "'"));
    ASSERT_EQ(chmod(key.path().c_str(), 0640), 0);
    EXPECT_THAT(left_out_of(text), IsEmpty());
}

TEST(QuickfixImport, AnInitiatorsTlsIsNeverTurnedOff) {
    for (const auto* asks : {"SocketUseSSL=Y", "SSLEnable=Y", "CertificationAuthoritiesFile=ca.pem",
                             "CertificationAuthoritiesDirectory=ca", "ClientCertificateKeyFile=k.pem",
                             "SSLProtocol=all -SSLv2", "CertificateRevocationListFile=r.pem"}) {
        EXPECT_THAT(import_quickfix(initiator_with(std::string{asks} + "\n"), "q.cfg").toml, HasSubstr("tls = true"))
            << asks;
    }
    EXPECT_FALSE(imported(initiator_with("SSLEnable=N\n")).sessions.at(0).tls_on);
    EXPECT_FALSE(imported(initiator_with("CertificateVerifyLevel=1\n")).sessions.at(0).tls_on) << "of an acceptor";
}

TEST(QuickfixImport, SettingsThatDoNotMatterToASessionAreKnown) {
    EXPECT_THAT(left_out_of(initiator_with("DefaultApplVerID=9\nAllowPosDup=N\n")), IsEmpty());
    const auto toml = import_quickfix(initiator_with("LogonTag=553=u\nLogonTag1=554=p\nAllowPosDup=Y\n"
                                                     "SSLProtocols=Tls12\n"),
                                      "q.cfg")
                          .toml;
    EXPECT_EQ(toml.find("not a known QuickFIX setting"), std::string::npos) << toml;
    EXPECT_THAT(toml,
                HasSubstr("SSLProtocols: not converted: TLS 1.2 and 1.3 are always offered, earlier versions never"));
    EXPECT_THAT(toml, HasSubstr("LogonTag1: use [session.logon]"));
    EXPECT_THAT(toml, HasSubstr("AllowPosDup: the engine sets PossDupFlag and OrigSendingTime itself"));
}

TEST(QuickfixImport, ASectionMayBeFollowedByAComment) {
    auto text = "[DEFAULT]   # of all\n" + initiator_with("");
    text.replace(text.find("[SESSION]"), 9, "[session]\t#1");
    EXPECT_EQ(imported(text).sessions.size(), 1U);
    EXPECT_THAT(import_error("[DEFAULT] x\n" + initiator_with("")), HasSubstr("expected [DEFAULT] or [SESSION]"));
}

TEST(QuickfixImport, ChecksThatQuickFixCanRelaxAreRelaxed) {
    const auto relaxed =
        imported(initiator_with("AllowUnknownEnumValues=Y\nRequiresOrigSendingTime=N\n")).sessions.at(0);
    EXPECT_FALSE(relaxed.config.validation.values_are_known);
    EXPECT_FALSE(relaxed.config.requires_orig_sending_time);
    const auto strict =
        imported(initiator_with("AllowUnknownEnumValues=N\nRequiresOrigSendingTime=Y\n")).sessions.at(0);
    EXPECT_TRUE(strict.config.validation.values_are_known);
    EXPECT_TRUE(strict.config.requires_orig_sending_time);
}

TEST(QuickfixImport, ClientCertificatesAreRequiredWhereQuickFixRequiresThem) {
    struct Case {
        const char* lines;
        bool verify;
        std::size_t left_out;
    };
    for (const auto& [lines, verify, left_out] :
         {Case{"", false, 0}, Case{"CertificationAuthoritiesFile=ca.pem\n", false, 0},
          Case{"CertificationAuthoritiesFile=ca.pem\nCertificateVerifyLevel=0\n", false, 0},
          Case{"CertificationAuthoritiesFile=ca.pem\nCertificateVerifyLevel=1\n", true, 0},
          Case{"CertificationAuthoritiesFile=ca.pem\nCertificateVerifyLevel=2\n", false, 1},
          Case{"CertificationAuthoritiesFile=ca.pem\nCertificateVerifyLevel=3\n", false, 1},
          Case{"CertificationAuthoritiesDirectory=ca\nCertificateVerifyLevel=1\n", true, 1},
          Case{"CertificateVerifyLevel=1\n", false, 1}}) {
        const auto text = acceptor_with("ServerCertificateFile=c.pem\nServerCertificateKeyFile=c.key\n") + lines;
        EXPECT_EQ(imported(text).acceptors.at(0).tls.verify_peer, verify) << lines;
        EXPECT_EQ(left_out_of(text).size(), left_out) << lines;
    }
}

TEST(QuickfixImport, AServerThatQuickFixDoesNotVerifyIsListed) {
    EXPECT_THAT(left_out_of(initiator_with("ClientCertificateFile=c.pem\n")), ElementsAre("8 ClientCertificateFile"));
    EXPECT_THAT(left_out_of(initiator_with("ClientCertificateFile=c.pem\nCertificationAuthoritiesFile=ca.pem\n")),
                IsEmpty());
}

TEST(QuickfixImport, TheFileOfAStoreIsInItsFolderWhateverTheCompIds) {
    EXPECT_EQ(imported(initiator_with("FileStorePath=s\nSenderCompID=../A/B\n")).sessions.at(0).store.file,
              "s/FIX.4.4-..%2FA%2FB-B.store");
    EXPECT_EQ(imported(initiator_with("FileStorePath=/\n")).sessions.at(0).store.file, "//FIX.4.4-A-B.store");
    EXPECT_EQ(imported(acceptor_with("FileStorePath=s/\nSenderCompID=..\nTargetCompID=*\n")).sessions.at(0).store.file,
              "s/FIX.4.4-..");
}

TEST(QuickfixImport, TheLastValueOfARepeatedKeyCountsAsInQuickFix) {
    const auto text = initiator_with("senderCompID=C\nSenderCompID=D\n");
    EXPECT_EQ(imported(text).sessions.at(0).config.sender_comp_id, "D");
    EXPECT_THAT(left_out_of(text), ElementsAre("4 SenderCompID", "8 senderCompID"));
}

TEST(QuickfixImport, ANumberOutOfBoundsBecomesTheNearestAndIsListed) {
    const auto text = initiator_with(
        "LogonTimeout=0\nLogoutTimeout=4000\nMaxLatency=0\nHeartBtInt=99999999\nReconnectInterval=7200\n"
        "MaxMessagesInResendRequest=2147483647\n");
    const auto session = imported(text).sessions.at(0);
    EXPECT_EQ(session.config.logon_timeout_ns, 1'000'000'000);
    EXPECT_EQ(session.config.logout_timeout_ns, 3'600'000'000'000);
    EXPECT_EQ(session.config.max_latency_ns, 1'000'000'000);
    EXPECT_EQ(session.config.heartbeat_seconds, 86'400);
    EXPECT_EQ(session.reconnect.first.count(), 3'600'000);
    EXPECT_EQ(session.config.resend_request_chunk, 1'000'000U);
    EXPECT_THAT(left_out_of(text), ElementsAre("8 LogonTimeout", "9 LogoutTimeout", "10 MaxLatency", "11 HeartBtInt",
                                               "12 ReconnectInterval", "13 MaxMessagesInResendRequest"));
    EXPECT_THAT(import_quickfix(text, "q.cfg").toml,
                HasSubstr("# line 9: LogoutTimeout: 1 to 3600 is possible here, so 3600 is used\n"));
}

TEST(QuickfixImport, PausesOfQuickFixJBecomeTheFirstAndTheLast) {
    const auto text = initiator_with("ReconnectInterval=3x10;60\n");
    EXPECT_EQ(imported(text).sessions.at(0).reconnect.first.count(), 10'000);
    EXPECT_EQ(imported(text).sessions.at(0).reconnect.max.count(), 60'000);
    EXPECT_THAT(left_out_of(text), ElementsAre("8 ReconnectInterval"));
    EXPECT_THAT(import_error(initiator_with("ReconnectInterval=3x\n")), HasSubstr("quickfix.cfg:8: ReconnectInterval"));
}

TEST(QuickfixImport, AVariableOfQuickFixJIsRefusedWhereItsValueIsUsed) {
    EXPECT_EQ(import_error("[DEFAULT]\nuser=zz\n" + initiator_with("SenderCompID=desk-${user}\n")),
              "quickfix.cfg:10: SenderCompID: ${user} is a variable of QuickFIX/J; write its value in its place");
    EXPECT_THAT(import_error(initiator_with("SenderSubID=${sub}\n")), HasSubstr("quickfix.cfg:8: SenderSubID: ${sub}"));
    EXPECT_THAT(left_out_of(initiator_with("SLF4JLogEventCategory=${senderCompID}.events\n")),
                ElementsAre("8 SLF4JLogEventCategory"));
}

TEST(QuickfixImport, AnAddressIsOneOfThisMachineInEitherForm) {
    const auto listens = [](std::string_view address) {
        return imported(acceptor_with("SocketAcceptAddress=" + std::string{address} + "\n")).acceptors.at(0).listen;
    };
    EXPECT_EQ(listens("::1").to_string(), "[::1]:5001");
    EXPECT_EQ(listens("[::1]").to_string(), "[::1]:5001");
    EXPECT_EQ(listens("localhost").to_string(), "127.0.0.1:5001");
    EXPECT_EQ(import_error(acceptor_with("SocketAcceptAddress=*\n")),
              "quickfix.cfg:7: SocketAcceptAddress expects an address of this machine, found '*'; names are not looked "
              "up");
    EXPECT_THAT(import_error(acceptor_with("SocketAcceptPort=99999\n")),
                HasSubstr("quickfix.cfg:7: SocketAcceptPort expects a port, found '99999'"));
    EXPECT_EQ(imported(initiator_with("SocketConnectHost=[fd00::1]\nSocketLocalHost=localhost\n")).sessions.at(0).hosts,
              std::vector<std::string>{"[fd00::1]:1"});
}

TEST(QuickfixImport, SessionsOfOnePortKeepTheirOwnAddresses) {
    const auto text = acceptor_with("AllowedRemoteAddresses=10.0.0.1, localhost\n") +
                      acceptor_with("TargetCompID=C\nAllowedRemoteAddresses=::1\n") +
                      acceptor_with("TargetCompID=D\n") +
                      acceptor_with("TargetCompID=E\nSocketAcceptAddress=127.0.0.1\nAllowedRemoteAddresses=\n");
    const auto config = imported(text);
    EXPECT_THAT(config.sessions.at(0).allow, ElementsAre("10.0.0.1", "127.0.0.1"));
    EXPECT_THAT(config.sessions.at(1).allow, ElementsAre("::1"));
    EXPECT_THAT(config.sessions.at(2).allow, IsEmpty());
    EXPECT_THAT(config.sessions.at(3).allow, IsEmpty());
    ASSERT_EQ(config.acceptors.size(), 2U);
    EXPECT_THAT(config.acceptors[0].allow, IsEmpty());
    EXPECT_EQ(config.sessions.at(2).acceptor, "port 5001");
    EXPECT_EQ(config.sessions.at(3).acceptor, "127.0.0.1:5001");
    EXPECT_THAT(import_error(acceptor_with("AllowedRemoteAddresses=10.0.0.1,desk.example\n")),
                HasSubstr("quickfix.cfg:7: AllowedRemoteAddresses expects an address"));
    EXPECT_THAT(import_error(text + acceptor_with("TargetCompID=F\nServerCertificateFile=c.pem\n")),
                HasSubstr("the sessions of SocketAcceptPort 5001 differ in TLS"));
}

TEST(QuickfixImport, ALineThatIsNotUtf8IsNamed) {
    EXPECT_THAT(import_error(initiator_with("FileStorePath=st\xFCre\n")), HasSubstr("quickfix.cfg:8: expected UTF-8"));
    EXPECT_EQ(imported(initiator_with("# f\xFCr\nFileStorePath=st\u00FCre\n")).sessions.at(0).store.file,
              "st\u00FCre/FIX.4.4-A-B.store");
}

TEST(QuickfixImport, MessagesThatQuickfixDoesNotRejectAreNotChecked) {
    const auto fields = imported(initiator_with("AllowUnknownMsgFields=Y\n")).sessions.at(0);
    EXPECT_FALSE(fields.config.validation.message_fields_are_known);
    EXPECT_THAT(fields.config.validation.unchecked_types, IsEmpty());
    EXPECT_TRUE(imported(initiator_with("AllowUnknownMsgFields=N\n"))
                    .sessions.at(0)
                    .config.validation.message_fields_are_known);
    for (const std::string key : {"ValidateIncomingMessage", "RejectInvalidMessage"}) {
        EXPECT_THAT(imported(initiator_with(key + "=N\n")).sessions.at(0).config.validation.unchecked_types,
                    ElementsAre("*"));
        EXPECT_THAT(left_out_of(initiator_with(key + "=N\n")), ElementsAre("8 " + key));
        EXPECT_THAT(imported(initiator_with(key + "=Y\n")).sessions.at(0).config.validation.unchecked_types, IsEmpty());
        EXPECT_THAT(left_out_of(initiator_with(key + "=Y\n")), IsEmpty());
    }
}

TEST(QuickfixImport, DefaultsOfTheOtherKindOfSessionDoNotMatter) {
    const std::string defaults =
        "[DEFAULT]\nReconnectInterval=5\nSocketConnectHost1=h\nSocketConnectPort1=1\nSocketLocalHost=10.0.0.1\n"
        "ProxyUser=me\nClientCertificateFile=c.pem\nSocketAcceptPort=5001\nAllowedRemoteAddresses=10.0.0.1\n"
        "ServerCertificateFile=c.pem\nCertificateVerifyLevel=2\nCertificationAuthoritiesFile=ca.pem\n";
    EXPECT_THAT(left_out_of(defaults + initiator_with("")), IsEmpty());
    EXPECT_THAT(left_out_of(defaults + acceptor_with("CertificateVerifyLevel=1\n")), IsEmpty());
}

TEST(QuickfixImport, HostsAfterAMissingNumberAreListed) {
    const auto text =
        initiator_with("SocketConnectHost1=b\nSocketConnectPort1=2\nSocketConnectHost3=c\nSocketConnectPort3=3\n");
    EXPECT_THAT(imported(text).sessions.at(0).hosts, ElementsAre("h:1", "b:2"));
    EXPECT_THAT(left_out_of(text), ElementsAre("10 SocketConnectHost3", "11 SocketConnectPort3"));
    EXPECT_THAT(import_quickfix(text, "q.cfg").toml,
                HasSubstr("SocketConnectHost3: QuickFIX uses such hosts up to the first number that is missing"));
}

TEST(QuickfixImport, FoldersOfFurtherLogsAreListed) {
    const auto text = "[DEFAULT]\nFileLogPath=log\n" + initiator_with("FileLogPath=one/\n") +
                      initiator_with("TargetCompID=C\n") + initiator_with("TargetCompID=D\n");
    EXPECT_EQ(imported(text).raw_log.file, "one/raw.log");
    EXPECT_THAT(left_out_of(text), ElementsAre("2 FileLogPath", "15 TargetCompID", "23 TargetCompID"));
}

TEST(QuickfixImport, TextKeepsItsControlCharacters) {
    const auto import = import_quickfix(initiator_with("FileStorePath=a\tb\x01\nMy\x02Key=7\n"), "a\nb.cfg");
    EXPECT_EQ(config_of(import).sessions.at(0).store.file, "a\tb\x01/FIX.4.4-A-B.store");
    EXPECT_THAT(import.toml, HasSubstr("# line 9: My?Key: "));
}

TEST(QuickfixImport, MessagesThatAreNotToBeKeptAreListedAndTheNumbersKept) {
    const auto session = std::string{kImportedSession} + "PersistMessages=N\n";
    EXPECT_THAT(left_out_of(session), ElementsAre(HasSubstr(" PersistMessages")));
    EXPECT_THAT(left_out_of(session + "FileStorePath=s\n"), ElementsAre(HasSubstr(" PersistMessages")));
    EXPECT_EQ(imported(session + "FileStorePath=s\n").sessions.at(0).store.file, "s/FIX.4.4-A-B.store");
}

TEST(QuickfixImport, ATemplateWithAFixedTargetIsListed) {
    for (const char* key : {"DynamicSession", "AcceptorTemplate"}) {
        const auto line = std::string{key} + "=Y\n";
        EXPECT_THAT(left_out_of(std::string{kImportedSession} + line), ElementsAre(HasSubstr(key)));
        EXPECT_THAT(left_out_of("[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\n"
                                "TargetCompID=*\nSocketAcceptPort=5001\n" +
                                line),
                    IsEmpty());
    }
}

TEST(QuickfixImport, TheFirstOfAnAcceptorsSessionsThatDifferInTheirQualifierStays) {
    const auto text = std::string{kImportedAcceptor} + "SessionQualifier=ONE\n" + std::string{kImportedAcceptor} +
                      "SessionQualifier=TWO\n";
    const auto import = import_quickfix(text, "quickfix.cfg");
    EXPECT_EQ(config_of(import).sessions.size(), 1U);
    ASSERT_EQ(import.left_out.size(), 2U);
    EXPECT_EQ(import.left_out[0].key, "SessionQualifier");
    EXPECT_EQ(import.left_out[1].key, "[SESSION]");
    EXPECT_THAT(import.toml, HasSubstr("the session of line 1 has the same ids"));
}

TEST(QuickfixImport, SessionsThatDifferInOneIdOnlyAreDifferentSessions) {
    const std::string session{kImportedSession};
    std::string text = "[DEFAULT]\nFileStorePath=/s\n" + session;
    for (const auto* id : {"SenderSubID", "SenderLocationID", "TargetSubID", "TargetLocationID", "SessionQualifier"}) {
        text += session + id + "=X-1\n";
    }
    const auto import = import_quickfix(text, "quickfix.cfg");
    EXPECT_THAT(import.left_out, IsEmpty());
    const auto config = config_of(import);
    std::vector<std::string> stores;
    for (const auto& one : config.sessions) stores.push_back(one.store.file);
    EXPECT_THAT(stores,
                ElementsAre("/s/FIX.4.4-A-B.store", "/s/FIX.4.4-A+X%2D1-B.store", "/s/FIX.4.4-A++X%2D1-B.store",
                            "/s/FIX.4.4-A-B+X%2D1.store", "/s/FIX.4.4-A-B++X%2D1.store", "/s/FIX.4.4-A-B@X%2D1.store"));
    EXPECT_EQ(config.sessions[5].config.qualifier, "X-1");
    EXPECT_THAT(import_error(session + session), HasSubstr("[[session]] 'A' to 'B' is listed twice: FIX.4.4:A->B"));
}

TEST(QuickfixImport, AByteOrderMarkIsSkipped) {
    EXPECT_EQ(imported("\xEF\xBB\xBF" + std::string{kImportedSession}).sessions.size(), 1U);
}

TEST(QuickfixImport, EachPlainKeyIsAccepted) {
    for (const auto& plain : quickfix::kPlainKeys) {
        using enum quickfix::Kind;
        const auto* const value = plain.kind == number                           ? "7"
                                  : plain.kind == yes_no || plain.kind == no_yes ? "Y"
                                                                                 : "127.0.0.1";
        EXPECT_THAT(left_out_of(std::string{kImportedSession} + "ProxyType=http\nProxyHost=h\nProxyPort=1\n" +
                                std::string{plain.quickfix} + "=" + value + "\n"),
                    IsEmpty())
            << plain.quickfix;
    }
    EXPECT_THAT(left_out_of(std::string{kImportedSession} + "ResendRequestChunkSize=5\nMaxMessagesInResendRequest=9\n"),
                ElementsAre("8 ResendRequestChunkSize"));
}

TEST(QuickfixImport, AProxyIsOneKeyAndItsPasswordIsNotCopied) {
    const auto text = std::string{kImportedSession} +
                      "ProxyType=socks\nProxyHost=gate\nProxyPort=1080\nProxyUser=me\n"
                      "ProxyPassword=geheim\nProxyVersion=5\nSocketLocalHost=10.0.0.1\n";
    const auto import = import_quickfix(text, "quickfix.cfg");
    const auto config = config_of(import);
    EXPECT_EQ(config.sessions[0].proxy, "socks5://gate:1080");
    EXPECT_EQ(config.sessions[0].proxy_username, "me");
    EXPECT_THAT(import.toml, ::testing::Not(HasSubstr("geheim")));
    EXPECT_THAT(left_out_of(text), ElementsAre("12 ProxyPassword"));
    EXPECT_THAT(import_error(std::string{kImportedSession} + "ProxyType=other\n"),
                HasSubstr("quickfix.cfg:8: ProxyType expects"));
}

TEST(QuickfixImport, AMistakeIsNamedWithFileAndLine) {
    const std::string session{kImportedSession};
    EXPECT_THAT(import_error(""), HasSubstr("quickfix.cfg: there is no [SESSION]"));
    EXPECT_THAT(import_error("a=b\n"), HasSubstr("quickfix.cfg:1: a setting before"));
    EXPECT_THAT(import_error("[OTHER]\n"), HasSubstr("quickfix.cfg:1: expected [DEFAULT] or [SESSION]"));
    EXPECT_THAT(import_error(session + "HeartBtInt=ten\n"), HasSubstr("quickfix.cfg:8: HeartBtInt expects a number"));
    EXPECT_THAT(import_error(session + "ResetOnLogon=maybe\n"),
                HasSubstr("quickfix.cfg:8: ResetOnLogon expects Y or N"));
    EXPECT_THAT(import_error(session + "garbage\n"), HasSubstr("quickfix.cfg:8: expected KEY=VALUE"));
    EXPECT_THAT(import_error(session + "StartDay=noday\n"), HasSubstr("quickfix.cfg:8: StartDay expects a day"));
    EXPECT_THAT(
        import_error("[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\n"),
        HasSubstr("quickfix.cfg:1: the session has no SocketAcceptPort"));
}

TEST(QuickfixImport, AMistakeThatTheEngineFindsIsNamedByItsLineInTheFile) {
    const std::string session{kImportedSession};
    const auto error = [](const std::string& text) { return import_error("[DEFAULT]\nFileStorePath=/s\n\n" + text); };
    EXPECT_THAT(error(session + "SenderCompID=" + std::string(65, 'x') + "\n"),
                StartsWith("quickfix.cfg:11: key 'sender' of [[session]] expects"));
    EXPECT_THAT(error(session + "SenderSubID=\n"), StartsWith("quickfix.cfg:11: "));
    EXPECT_THAT(error(session + "BeginString=FIX.9\n"), StartsWith("quickfix.cfg:11: key 'version'"));
    EXPECT_THAT(error("ClientCertificateFile=\n" + session), StartsWith("quickfix.cfg:4: key 'tls_certificate'"));
    EXPECT_THAT(error(std::string{kImportedAcceptor} + "ServerCertificateFile=\n"), StartsWith("quickfix.cfg:10: "));
    // An error that involves several keys names the session.
    EXPECT_THAT(error(session + session), StartsWith("quickfix.cfg:11: [[session]] 'A' to 'B' is listed twice"));
    EXPECT_THAT(error(session + "TargetCompID=C\n" + session + "StartDay=mon\n"),
                StartsWith("quickfix.cfg:12: [[session]] 'A' to 'B': "));
}

}  // namespace
}  // namespace millpond::fixd
