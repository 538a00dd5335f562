#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fixd/settings/session_build.hpp"
#include "fixd/settings/start_check.hpp"
#include "tests/fixd/quickfix/imported.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/fix_dictionaries.hpp"
#include "tests/support/scratch_file.hpp"

// Settings files as used in practice: the result of the import passes the checks of `millpond fix config check`, and an
// engine starts with it in a folder that has nothing yet.

namespace millpond::fixd {
namespace {

struct UsualFile {
    const char* name;
    std::size_t sessions;
    const char* text;
};

constexpr UsualFile kUsualFiles[] = {
    {"one initiator", 1, R"([DEFAULT]
ConnectionType=initiator
ReconnectInterval=60
FileStorePath={dir}/store
FileLogPath={dir}/log
StartTime=00:00:00
EndTime=00:00:00
UseDataDictionary=Y
DataDictionary={xml}/FIX44.xml
[SESSION]
BeginString=FIX.4.4
SenderCompID=BANZAI
TargetCompID=EXEC
SocketConnectHost=127.0.0.1
SocketConnectPort=1
HeartBtInt=30
)"},
    {"defaults that sessions override, and both kinds of sessions", 4, R"(# comment
[DEFAULT]
ConnectionType=initiator
ReconnectInterval=5
SocketAcceptPort=0
SocketConnectPort=1
SenderCompID=TW
FileStorePath={dir}/a/b/store
FileLogPath={dir}/a/log/
HeartBtInt=20
StartTime=12:30:00
EndTime=21:30:00
ProxyUser=me
NeedClientAuth=Y
RejectInvalidMessage=N
UseDataDictionary=N
DataDictionary=/nonexistent/FIX42.xml

[SESSION]
BeginString=FIX.4.1
TargetCompID=ARCA
SocketConnectHost=localhost
# override
ReconnectInterval=30
HeartBtInt=30
HeartBtInt=40

[SESSION]
BeginString=FIX.4.0
TargetCompID=IS/LD
SocketConnectHost=[::1]
FileStorePath={dir}/other/
LogonTimeout=0

[SESSION]
ConnectionType=acceptor
BeginString=FIX.4.2
TargetCompID=INCA
AllowedRemoteAddresses=127.0.0.1,::1

[SESSION]
ConnectionType=acceptor
BeginString=FIX.4.2
TargetCompID=*
AcceptorTemplate=Y
AllowedRemoteAddresses=localhost
StartTime=09:00:00 America/New_York
EndTime=16:00:00 America/New_York
)"},
    {"FIXT with dictionaries of several versions", 2, R"([DEFAULT]
BeginString=FIXT.1.1
SenderCompID=A
ConnectionType=initiator
SocketConnectHost=127.0.0.1
SocketConnectPort=1
HeartBtInt=30
StartTime=00:00:00
EndTime=00:00:00
FileStorePath={dir}/fixt
TransportDataDictionary={xml}/FIXT11.xml
[SESSION]
TargetCompID=B
DefaultApplVerID=FIX.5.0SP2
AppDataDictionary={xml}/FIX50SP2.xml
AppDataDictionary.FIX.4.4={xml}/FIX44.xml
[SESSION]
TargetCompID=C
DefaultApplVerID=7
AppDataDictionary.FIX.5.0={xml}/FIX50.xml
ValidateIncomingMessage=N
)"},
    {"days and zones", 3, R"([DEFAULT]
BeginString=FIX.4.4
SenderCompID=A
ConnectionType=acceptor
SocketAcceptPort=0
StartTime=08:00:00
EndTime=17:00:00
TimeZone=Europe/Berlin
[SESSION]
TargetCompID=WEEK
StartDay=Sunday
EndDay=friday
[SESSION]
TargetCompID=DAYS
Weekdays=Mon, Tuesday,we
StartTime=22:00:00 US/Central
EndTime=04:00:00 US/Central
[SESSION]
TargetCompID=ALWAYS
NonStopSession=Y
)"},
    {"acceptors with TLS", 3, R"([DEFAULT]
BeginString=FIX.4.4
SenderCompID=HOUSE
ConnectionType=acceptor
ServerCertificateFile={certs}/ours-server.pem
ServerCertificateKeyFile={certs}/ours-server.key
StartTime=00:00:00
EndTime=00:00:00
[SESSION]
TargetCompID=ONE
SocketAcceptPort=0
SocketAcceptAddress=127.0.0.1
[SESSION]
TargetCompID=TWO
SocketAcceptPort=0
SocketAcceptAddress=::1
CertificateVerifyLevel=2
CertificationAuthoritiesFile={certs}/ours.pem
[SESSION]
TargetCompID=THREE
SocketAcceptPort=0
SocketAcceptAddress=0.0.0.0
CertificateVerifyLevel=1
CertificationAuthoritiesFile={certs}/ours.pem
)"},
    {"an initiator with TLS, several hosts and a proxy", 2, R"([DEFAULT]
BeginString=FIX.4.3
SenderCompID=DESK
ConnectionType=initiator
HeartBtInt=30
StartTime=00:00:00
EndTime=00:00:00
ReconnectInterval=3x1;5
ClientCertificateFile={certs}/ours-client.pem
ClientCertificateKeyFile={certs}/ours-client.key
[SESSION]
TargetCompID=FIRST
CertificationAuthoritiesFile={certs}/ours.pem
SocketConnectHost=127.0.0.1
SocketConnectPort=1
SocketConnectHost1=::1
SocketConnectPort1=1
SocketConnectHost3=127.0.0.1
SocketConnectPort3=1
SocketLocalHost=127.0.0.1
[SESSION]
TargetCompID=SECOND
ProxyType=socks
ProxyVersion=5
ProxyHost=127.0.0.1
ProxyPort=1
SocketConnectHost1=127.0.0.1
SocketConnectPort1=1
AllowUnknownMsgFields=Y
ValidateUserDefinedFields=N
PersistMessages=N
MillisecondsInTimeStamp=N
LogoutTimeout=9999
)"},
};

std::string with(std::string text, std::string_view name, std::string_view value) {
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name)) text.replace(at, name.size(), value);
    return text;
}

/// Line ends and encoding of files from Windows.
std::string from_windows(const std::string& text) {
    std::string out{"\xEF\xBB\xBF"};
    for (const char c : text) {
        if (c == '\n') out += '\r';
        out += c;
    }
    return out;
}

TEST(QuickfixStart, AnEngineStartsWithWhatTheImportWrites) {
    const auto dictionaries = test::fix_dictionaries();
    const test::Certificates certificates;
    if (dictionaries.empty() || !certificates.made()) GTEST_SKIP() << "needs QuickFIX's dictionaries and openssl";
    const auto folder = ::testing::TempDir() + test::scratch_name("quickfix_start");
    for (const auto& [name, sessions, text] : kUsualFiles) {
        const auto certificate = certificates.certificate("ours");
        auto file = with(with(text, "{dir}", folder), "{xml}", dictionaries);
        file = with(file, "{certs}", certificate.substr(0, certificate.rfind('/')));
        SCOPED_TRACE(name);
        const auto import = import_quickfix(file, "quickfix.cfg");
        EXPECT_EQ(import_quickfix(from_windows(file), "quickfix.cfg").toml, import.toml);
        const auto config = config_of(import);
        EXPECT_EQ(config.sessions.size(), sessions);
        EXPECT_TRUE(check_users(config).empty());
        Dictionaries loaded{config.dictionaries};
        for (const auto& session : config.sessions) check_files(session, session_options(session, loaded));
        EXPECT_NO_THROW(RunningEngine{import.toml});
        std::filesystem::remove_all(folder);
    }
}

}  // namespace
}  // namespace millpond::fixd
