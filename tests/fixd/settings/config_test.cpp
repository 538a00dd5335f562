#include "fixd/settings/engine_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "fixd/settings/host_text.hpp"
#include "fixd/settings/session_build.hpp"
#include "fixd/settings/weekdays.hpp"
#include "service/config_error.hpp"
#include "service/settings/schema.hpp"
#include "service/settings/value.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

EngineConfig from_toml(std::string_view text) {
    EngineConfig config;
    read_engine_toml(text, "fix.toml", config);
    complete(config);
    return config;
}

std::string error_of(std::string_view text) {
    try {
        from_toml(text);
    } catch (const service::ConfigError& error) {
        return error.what();
    }
    return "";
}

/// A session with these further lines.
std::string session(std::string_view lines) {
    return "[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\n" + std::string{lines};
}

TEST(FixEngineConfig, AllErrorsAreThrownAtOnce) {
    const auto errors = error_of(session("start = '08:00'\nacceptor = 'none'\n") +
                                 "[[session]]\nsender = 'HOUSE'\ntarget = 'B'\nthread = 7\n"
                                 "[[session]]\nsender = 'HOUSE'\ntarget = 'B'\n");
    EXPECT_EQ(errors,
              "[[session]] 'HOUSE' to 'DESK': acceptor 'none' does not exist\n"
              "[[session]] 'HOUSE' to 'DESK': 'start' and 'end' are required together\n"
              "[[session]] 'HOUSE' to 'B': key 'thread' is 7, and there are 1 threads");
    EXPECT_THAT(error_of("[[acceptor]]\nallow = ['zz']\ntls_key = 'k'\n[[acceptor]]\nlisten = '127.0.0.1:5002'\n"),
                ::testing::AllOf(HasSubstr("key 'allow'"), HasSubstr("'tls_certificate' is required with 'tls_key'"),
                                 HasSubstr("name 'acceptor' is used twice")));
    EXPECT_EQ(error_of(session("") + "[[drop_copy]]\ntarget = 'HOUSE->X'\nsources = ['*']\n[[drop_copy]]\n"),
              "[[drop_copy]] to 'HOUSE->X': there is no session 'HOUSE->X'\n[[drop_copy]]: key 'target' is missing");
    const auto two = error_of(session("") + "[[session]]\nsender = 'HOUSE'\ntarget = 'B'\n" +
                              "[[drop_copy]]\ntarget = 'HOUSE->DESK'\nsources = ['HOUSE->X']\n" +
                              "[[drop_copy]]\ntarget = 'HOUSE->B'\nsources = ['HOUSE->B']\n");
    EXPECT_THAT(two, ::testing::AllOf(HasSubstr("there is no session 'HOUSE->X'"), HasSubstr("would copy itself")));
}

TEST(FixEngineConfig, EverythingHasAPlaceInTheFile) {
    const auto config = from_toml(R"(
        log_level = "warning"
        log_format = "json"
        file_mode = "0600"
        metrics = "127.0.0.1:9470"
        admin = "/run/fix.sock"
        threads = 2
        pin = 3
        [[acceptor]]
        name = "lan"
        listen = "0.0.0.0:5002"
        allow = ["10.0.0.0/8", "fd00::/8"]
        [[session]]
        version = "FIX.5.0SP2"
        sender = "HOUSE"
        target = "DESK"
        hosts = ["a.example:5001", "[fd00::1]:5001"]
        reset_on_logon = true
        keep_bytes = "64MiB"
        durability = "interval"
        start = "22:00"
        end = "21:45:30"
        days = "sun-thu"
        timezone = "America/New_York"
        messages_per_second = 500)");
    EXPECT_EQ(config.log_level, service::Severity::warning);
    EXPECT_EQ(config.log_format, service::LogFormat::json);
    EXPECT_EQ(config.file_mode, 0600U);
    EXPECT_EQ(config.acceptors.at(0).listen.to_string(), "0.0.0.0:5002");
    EXPECT_THAT(config.acceptors.at(0).allow, ElementsAre("10.0.0.0/8", "fd00::/8"));
    const auto& read = config.sessions.at(0);
    EXPECT_EQ(application_version(read), fix::ApplicationVersion::fix50sp2);
    EXPECT_THAT(read.hosts, ElementsAre("a.example:5001", "[fd00::1]:5001"));
    EXPECT_EQ(read.start, 22 * 3600);
    EXPECT_EQ(read.end, 21 * 3600 + 45 * 60 + 30);
    EXPECT_EQ(read.store.bytes, 64ULL << 20U);
    Dictionaries dictionaries{""};
    const auto options = session_options(read, dictionaries);
    EXPECT_EQ(options.config.version, fix::Version::fixt11);
    EXPECT_EQ(options.config.default_appl_ver_id, "9");
    EXPECT_EQ(options.config.role, fix::Role::initiator);
    EXPECT_EQ(options.limits.messages_per_second, 500U);
    EXPECT_EQ(options.limits.burst, 500U);
    ASSERT_TRUE(options.config.schedule);
    // Friday 2026-11-20 12:00 in New York is 17:00 UTC: Thursday's run is still open; Saturday's noon is not.
    constexpr std::int64_t kFridayNoon = 1'795'194'000'000'000'000;
    EXPECT_TRUE(options.config.schedule->is_open(kFridayNoon));
    EXPECT_FALSE(options.config.schedule->is_open(kFridayNoon + 86'400'000'000'000));
}

TEST(FixEngineConfig, AFaultNamesFileLineKeyAndBound) {
    EXPECT_EQ(error_of("threads = 65"),
              "fix.toml:1: key 'threads' of the top level expects an integer from 1 to 64, found the integer 65");
    EXPECT_EQ(error_of("[[sesion]]"), "fix.toml:1: unknown table 'sesion'; did you mean 'session'?");
    EXPECT_EQ(error_of(session("hartbeat_seconds = 3")),
              "fix.toml:4: unknown key 'hartbeat_seconds' of [[session]]; did you mean 'heartbeat_seconds'?");
    EXPECT_EQ(error_of("raw_log_ring = 5"),
              "fix.toml:1: key 'raw_log_ring' of the top level was removed; it is fixed to: 16 MiB");
    EXPECT_EQ(error_of(session("burst = 3")),
              "fix.toml:4: key 'burst' of [[session]] was removed; it is fixed to: 'messages_per_second'");
    EXPECT_EQ(error_of(session("start = '25:00'\n")),
              "fix.toml:4: key 'start' of [[session]] expects a time of day like 08:30 or 08:30:15, found '25:00'");
    EXPECT_EQ(
        error_of(session("hosts = 'a:1'")),
        "fix.toml:4: key 'hosts' of [[session]] expects a list of strings like ['a', 'b'], found the string 'a:1'");
    EXPECT_EQ(error_of(session("version = 'FIX.6.0'")),
              "fix.toml:4: key 'version' of [[session]] expects one of FIX.4.0, FIX.4.1, FIX.4.2, FIX.4.3, FIX.4.4, "
              "FIX.5.0, FIX.5.0SP1, FIX.5.0SP2, FIX.Latest, found 'FIX.6.0'");
}

TEST(FixEngineConfig, FurtherVersionsHaveTheirDictionaries) {
    const auto config =
        from_toml(session("version = 'FIX.Latest'\nfurther_versions = ['FIX.4.4', 'FIX.5.0SP2=/etc/own.xml']\n"));
    const auto& read = config.sessions.at(0);
    EXPECT_THAT(read.further_versions, ElementsAre(FurtherVersion{fix::ApplicationVersion::fix44, ""},
                                                   FurtherVersion{fix::ApplicationVersion::fix50sp2, "/etc/own.xml"}));
    EngineConfig flags;
    read_engine_table("session", "sender=A,target=B,version=FIX.5.0,further_versions=FIX.4.4+FIX.Latest=/l.xml", flags);
    EXPECT_THAT(flags.sessions.at(0).further_versions,
                ElementsAre(FurtherVersion{fix::ApplicationVersion::fix44, ""},
                            FurtherVersion{fix::ApplicationVersion::latest, "/l.xml"}));
    Dictionaries dictionaries{""};
    auto settings = read;
    settings.further_versions.pop_back();
    const auto built = session_options(settings, dictionaries).config;
    EXPECT_EQ(built.default_appl_ver_id, "10");
    ASSERT_EQ(built.further_versions.size(), 1U);
    EXPECT_EQ(built.further_versions[0].version, fix::ApplicationVersion::fix44);
    EXPECT_EQ(built.further_versions[0].dictionary, nullptr);  // there is no folder
    const auto fault = [&](const SessionSettings& of, const std::string& folder) -> std::string {
        Dictionaries files{folder};
        try {
            static_cast<void>(session_options(of, files));
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(fault(read, ""), "cannot read /etc/own.xml: No such file or directory");
    EXPECT_EQ(fault(settings, "/nowhere"), "cannot read /nowhere/FIXT11.xml: No such file or directory");
}

TEST(FixEngineConfig, WrongFurtherVersionsAreNamed) {
    const std::string key = "fix.toml:4: key 'further_versions' of [[session]] expects ";
    EXPECT_EQ(error_of(session("further_versions = ['FIX.6.0']")),
              key +
                  "FIX.4.0 to FIX.5.0SP2 or FIX.Latest, with =FILE for its own dictionary file, found "
                  "'FIX.6.0'");
    EXPECT_EQ(error_of(session("further_versions = ['FIX.4.4=']")), key + "a file after the '=', found 'FIX.4.4='");
    const std::string who = "[[session]] 'HOUSE' to 'DESK': ";
    EXPECT_EQ(error_of(session("further_versions = ['FIX.4.2']")),
              who + "'further_versions' needs FIX.5.0 or later: FIX.4.4 supports no other version");
    EXPECT_EQ(error_of(session("version = 'FIX.5.0'\nfurther_versions = ['FIX.5.0']")),
              who + "key 'further_versions': FIX.5.0 is the key 'version'");
    EXPECT_EQ(error_of(session("version = 'FIX.5.0'\nfurther_versions = ['FIX.4.4', 'FIX.4.4=a.xml']")),
              who + "key 'further_versions': FIX.4.4 is listed twice");
}

TEST(FixEngineConfig, AnEmptyTextIsNotAMissingValueOrTheDefault) {
    constexpr std::string_view kWhy = "expects one character or more (leave the key out for its default), found ''";
    EXPECT_EQ(error_of("[[web]]\ntoken_file = ''"), "fix.toml:2: key 'token_file' of [[web]] " + std::string{kWhy});
    EXPECT_THAT(error_of("[[acceptor]]\ntls_certificate = ''"), HasSubstr(std::string{kWhy}));
    EXPECT_THAT(error_of("user_file = ''"), HasSubstr(std::string{kWhy}));
}

TEST(FixEngineConfig, CombinationsOfKeysAreCheckedToo) {
    EXPECT_EQ(error_of("[[session]]\ntarget = 'DESK'"), "[[session]]: key 'sender' is missing");
    const std::string who = "[[session]] 'HOUSE' to 'DESK'";
    EXPECT_EQ(error_of(session("acceptor = 'wan'")), who + ": acceptor 'wan' does not exist");
    EXPECT_EQ(error_of(session("hosts = ['nowhere']")), who + ": key 'hosts': expects HOST:PORT, found 'nowhere'");
    EXPECT_EQ(error_of(session("start = '08:00'")), who + ": 'start' and 'end' are required together");
    EXPECT_EQ(error_of(session("days = 'mon-fri'")), who + ": days need 'start' and 'end'");
    EXPECT_THAT(error_of(session("start = '08:00'\nend = '09:00'\ndays = 'mon-fry'")), HasSubstr("found 'fry'"));
    EXPECT_THAT(error_of(session("timezone = 'Mars/Base'")), HasSubstr("'Mars/Base' is not in the zone database"));
    EXPECT_THAT(error_of(session("tls_key = 'k'")), HasSubstr("'tls_certificate' is required with 'tls_key'"));
    EXPECT_THAT(error_of(session("thread = 1")), HasSubstr("key 'thread' is 1, and there are 1 threads"));
    EXPECT_THAT(error_of(session("") + session("")), HasSubstr("is listed twice"));
    EXPECT_EQ(error_of(session("") + session("sender_sub_id = 'X'\n") + session("target_sub_id = 'X'\n") +
                       session("sender_location_id = 'X'\n") + session("target_location_id = 'X'\n")),
              "");
    EXPECT_THAT(error_of(session("target_sub_id = 'X'\n") + session("target_sub_id = 'X'\n")),
                HasSubstr("is listed twice: FIX.4.4:HOUSE->DESK/X"));
    EXPECT_THAT(error_of(session("qualifier = '2'")), HasSubstr(who + ": 'qualifier' needs 'hosts'"));
    EXPECT_THAT(error_of(session("version = 'FIX.4.0'\nsender_location_id = 'X'")),
                HasSubstr("'sender_location_id' came with FIX.4.1"));
    EXPECT_THAT(error_of(session("sender_sub_id = 'X'\n[session.header]\n50 = 'Y'")),
                HasSubstr("either 'sender_sub_id' or header field 50"));
    EXPECT_EQ(error_of("metrics = '127.0.0.1:5001'\n" + session("")),
              "[[acceptor]] 'acceptor': address '127.0.0.1:5001' is that of metrics");
    EXPECT_EQ(error_of("[[acceptor]]\n[[acceptor]]\nname = 'b'"),
              "[[acceptor]] 'b': address '127.0.0.1:5001' is that of [[acceptor]] 'acceptor'");
    EXPECT_EQ(error_of("metrics = '127.0.0.1:9475'\n[[web]]"), "[[web]]: address '127.0.0.1:9475' is that of metrics");
    EXPECT_EQ(error_of("metrics = '127.0.0.1:5001'\n[[acceptor]]\n[[acceptor]]\nname = 'b'"),
              "[[acceptor]] 'acceptor': address '127.0.0.1:5001' is that of metrics\n"
              "[[acceptor]] 'b': address '127.0.0.1:5001' is that of metrics");
    EXPECT_EQ(error_of("metrics = '127.0.0.1:0'\n[[acceptor]]\nlisten = '127.0.0.1:0'"), "");
    EXPECT_THAT(error_of("[[acceptor]]\nallow = ['10.0.0.0/33']"), HasSubstr("[[acceptor]] 'acceptor': key 'allow'"));
}

TEST(FixEngineConfig, NoTwoWriteTheSameFile) {
    const auto desk2 = [](const std::string& more) { return "[[session]]\nsender = 'HOUSE'\ntarget = 'D2'\n" + more; };
    EXPECT_EQ(error_of(session("store = '/a/x'\n") + desk2("store = '/a/./b/../x'")),
              "store of [[session]] 'HOUSE' to 'D2': file '/a/./b/../x' is that of store of [[session]] 'HOUSE' to "
              "'DESK'");
    EXPECT_THAT(error_of("state = '/s'\n" + session("") + desk2("store = '/s/FIX.4.4-HOUSE-DESK.store'")),
                HasSubstr("is that of store of [[session]] 'HOUSE' to 'DESK'"));
    EXPECT_EQ(error_of("raw_log = 'x'\n" + session("store = 'x'\n") + desk2("store = './x'")),
              "store of [[session]] 'HOUSE' to 'DESK': file 'x' is that of raw_log\n"
              "store of [[session]] 'HOUSE' to 'D2': file './x' is that of raw_log");
    EXPECT_EQ(error_of(session("store = 'memory'\n") + desk2("store = 'memory'")), "");
}

TEST(FixEngineConfig, AnAcceptorIsThereWhereASessionNeedsOne) {
    EXPECT_EQ(from_toml(session("")).acceptors.size(), 1U);
    EXPECT_EQ(from_toml(session("")).sessions.at(0).acceptor, "acceptor");
    EXPECT_TRUE(from_toml(session("hosts = ['a:1']")).acceptors.empty());
}

TEST(FixEngineConfig, APasswordComesFromAFileOrIsAnError) {
    const test::ScratchFile secret{test::scratch_name("password"), "open sesame\n"};
    Dictionaries dictionaries{""};
    SessionSettings settings{.config = {.sender_comp_id = "A", .target_comp_id = "B"},
                             .password = {.file = secret.path(), .environment = {}}};
    for (const auto mode : {0644U, 0602U}) {
        std::filesystem::permissions(secret.path(), std::filesystem::perms{mode});
        EXPECT_THROW(static_cast<void>(session_options(settings, dictionaries)), service::ConfigError) << mode;
    }
    std::filesystem::permissions(secret.path(), std::filesystem::perms{0640});
    EXPECT_EQ(session_options(settings, dictionaries).config.password, "open sesame");
    settings.password.file = "/nonexistent/password";
    EXPECT_THROW(static_cast<void>(session_options(settings, dictionaries)), service::ConfigError);
}

TEST(FixEngineConfig, FieldsOfLogonAndHeaderComeFromTheirTables) {
    const test::ScratchFile secret{test::scratch_name("secret"), "hidden\n"};
    std::filesystem::permissions(secret.path(), std::filesystem::perms{0600});
    const auto config =
        from_toml(session("hosts = ['h:1']\n[session.header]\n57 = 'floor'\n50 = 'desk'\n"
                          "[session.logon]\n553 = 'me'\n9406 = true\n5025 = 12\n554 = { file = '" +
                          secret.path() + "' }\n[[session]]\nsender = 'A'\ntarget = 'B'\n"));
    Dictionaries dictionaries{""};
    const auto built = session_options(config.sessions.at(0), dictionaries).config;
    const auto text = [](const std::vector<fix::FieldValue>& fields) {
        std::string all;
        for (const auto& field : fields) all += std::to_string(field.tag) + "=" + field.value + "|";
        return all;
    };
    EXPECT_EQ(text(built.header_fields), "57=floor|50=desk|");
    EXPECT_EQ(text(built.logon_fields), "553=me|9406=Y|5025=12|554=hidden|");
    EXPECT_TRUE(config.sessions.at(1).logon.empty());
    EXPECT_THAT(secret_tags(config.sessions.at(0)), ElementsAre(554));
    std::filesystem::permissions(secret.path(), std::filesystem::perms{0644});
    EXPECT_THROW(static_cast<void>(session_options(config.sessions.at(0), dictionaries)), service::ConfigError);
}

TEST(FixEngineConfig, EachMistakeInATableOfFieldsIsNamedWithItsLine) {
    const auto in_logon = [](std::string_view line) {
        return error_of(session("hosts = ['h:1']\n[session.logon]\n" + std::string{line} + "\n"));
    };
    // The line of the table is 6.
    EXPECT_THAT(in_logon("x = 'me'"), HasSubstr("fix.toml:6: key 'x' of [session.logon] expects a tag"));
    EXPECT_THAT(in_logon("0553 = 'me'"), HasSubstr("fix.toml:6: "));
    EXPECT_THAT(in_logon("553 = ''"), HasSubstr("fix.toml:6: "));
    EXPECT_THAT(in_logon("553 = 1.5"), HasSubstr("expects a string, an integer or a boolean, found the number 1.5"));
    EXPECT_THAT(in_logon("553 = \"a\\u0001b\""), HasSubstr("no control characters"));
    EXPECT_THAT(in_logon("108 = 5"), HasSubstr("the key heartbeat_seconds instead"));
    EXPECT_THAT(in_logon("384 = 'x'"), HasSubstr("the key logon_types instead"));
    EXPECT_THAT(in_logon("34 = 5"), HasSubstr("a field that the session does not write itself"));
    EXPECT_THAT(in_logon("95 = 5"), HasSubstr("the data field instead of its length"));
    EXPECT_THAT(in_logon("554 = { path = 'x' }"), HasSubstr("fix.toml:6: "));
    EXPECT_THAT(in_logon("554 = { file = 'x', env = 'y' }"), HasSubstr("found both"));
    EXPECT_THAT(in_logon("554 = {}"), HasSubstr("found neither"));
    EXPECT_THAT(in_logon("554 = { file = 1 }"), HasSubstr("expects a string"));
    EXPECT_THAT(error_of(session("logon = 'x'")), HasSubstr("expects a table"));
    EXPECT_THAT(error_of(session("[session.header]\n58 = 'x'")), HasSubstr("fix.toml:5: "));
    EXPECT_THAT(error_of(session("[session.header]\n58 = 'x'")), HasSubstr("one of 50, 57, 115"));
    EXPECT_THAT(error_of(session("version = 'FIX.4.0'\n[session.header]\n142 = 'x'")),
                HasSubstr("fix.toml:6: [[session]] 'HOUSE' to 'DESK': header field 142 came with FIX.4.1"));
    EXPECT_THAT(error_of(session("username = 'me'\n[session.logon]\n553 = 'x'")),
                HasSubstr("fix.toml:6: [[session]] 'HOUSE' to 'DESK': either 'username' or 553"));
}

TEST(FixEngineConfig, ASecretThatCannotBeReadIsNamedWithItsLineAndNeverShown) {
    const auto config = from_toml(session("[session.logon]\n554 = { env = 'MILLPOND_NO_SUCH_VARIABLE' }"));
    Dictionaries dictionaries{""};
    try {
        static_cast<void>(session_options(config.sessions.at(0), dictionaries));
        FAIL();
    } catch (const service::ConfigError& error) {
        EXPECT_STREQ(error.what(),
                     "fix.toml:5: field 554 in environment variable 'MILLPOND_NO_SUCH_VARIABLE': it is not set");
    }
}

TEST(FixEngineConfig, ASignedLogonHasItsKeyAndTheFieldsThatAreSigned) {
    const std::string start = "hosts = ['h:1']\nsign = 'coinbase-prime'\n";
    const std::string key = "sign_key_env = 'K'\n";
    EXPECT_THAT(error_of(session("hosts = ['h:1']\nsign = 'deribit'")), HasSubstr("expects one of binance, bybit, "));
    EXPECT_THAT(error_of(session(start)), HasSubstr("'sign' needs either 'sign_key_file' or 'sign_key_env'"));
    EXPECT_THAT(error_of(session(start + key + "sign_key_file = 'f'")), HasSubstr("'sign' needs either"));
    EXPECT_THAT(error_of(session("hosts = ['h:1']\n" + key)), HasSubstr("'sign' is required with its key"));
    EXPECT_THAT(error_of(session("sign = 'kraken'\nusername = 'me'\n" + key)), HasSubstr("'sign' needs 'hosts'"));
    EXPECT_THAT(error_of(session(start + key)), HasSubstr("'sign' needs field 554 in [session.logon]"));
    EXPECT_THAT(error_of(session(start + key + "password_env = 'P'")), HasSubstr("field 9407 in [session.logon]"));
    EXPECT_EQ(error_of(session(start + key + "password_env = 'P'\n[session.logon]\n9407 = 'key'")), "");
}

TEST(FixEngineConfig, AKeyToSignWithIsReadWholeAndNeverShown) {
    const test::ScratchFile wrong{test::scratch_name("key.pem"), "hidden\n"};
    const auto error_of_key = [&](const std::string& lines) -> std::string {
        const auto config = from_toml(session("hosts = ['h:1']\nusername = 'me'\n" + lines));
        Dictionaries dictionaries{""};
        try {
            static_cast<void>(session_options(config.sessions.at(0), dictionaries));
        } catch (const service::ConfigError& error) {
            return error.what();
        }
        return "";
    };
    const auto lines = "sign = 'binance'\nsign_key_file = '" + wrong.path() + "'\n";
    std::filesystem::permissions(wrong.path(), std::filesystem::perms{0644});
    EXPECT_THAT(error_of_key(lines), HasSubstr("any user may read or write it"));
    std::filesystem::permissions(wrong.path(), std::filesystem::perms{0600});
    EXPECT_EQ(error_of_key(lines), "[[session]] 'HOUSE' to 'DESK': sign key file '" + wrong.path() +
                                       "': the signing key is not a private Ed25519 key in PEM without a password");
}

TEST(FixEngineConfig, TheWayToAHostMayHaveAProxyAndALocalAddress) {
    const test::ScratchFile secret{test::scratch_name("proxy_password"), "open sesame\n"};
    std::filesystem::permissions(secret.path(), std::filesystem::perms{0600});
    const std::string hosts = "hosts = ['h:1']\n";
    const auto config = from_toml(session(hosts + "proxy = 'http://[fd00::1]:3128'\nproxy_username = 'me'\n" +
                                          "proxy_password_file = '" + secret.path() + "'\nlocal_address = '10.0.0.5'"));
    const auto options = initiator_options(config.sessions.at(0));
    ASSERT_TRUE(options.proxy);
    EXPECT_EQ(options.proxy->kind, engine::Proxy::Kind::http_connect);
    EXPECT_EQ(options.proxy->host.name, "fd00::1");
    EXPECT_EQ(options.proxy->host.port, 3128);
    EXPECT_EQ(options.proxy->username, "me");
    EXPECT_EQ(options.proxy->password, "open sesame");
    EXPECT_EQ(options.local_address.host(), "10.0.0.5");
    EXPECT_THAT(error_of(session(hosts + "proxy = 'ftp://a:1'")), HasSubstr("expects socks5://HOST:PORT or http://"));
    EXPECT_THAT(error_of(session(hosts + "proxy = 'socks5://a'")), HasSubstr("key 'proxy': expects HOST:PORT"));
    EXPECT_THAT(error_of(session("proxy = 'socks5://a:1'")), HasSubstr("'proxy' and 'local_address' need 'hosts'"));
    EXPECT_THAT(error_of(session(hosts + "proxy_username = 'me'")), HasSubstr("'proxy' is required"));
    EXPECT_THAT(error_of(session(hosts + "proxy = 'socks5://a:1'\nproxy_password_env = 'P'")),
                HasSubstr("'proxy_username' is required"));
    EXPECT_THAT(error_of(session(hosts + "local_address = 'eth0'")), HasSubstr("expects an address like 10.0.0.1"));
}

TEST(FixEngineConfig, ValidationAndResetSettingsReachTheSession) {
    const auto config =
        from_toml(session("message_fields_are_known = false\nunchecked_types = ['8', 'AE']\n"
                          "check_comp_ids = false\nreset_on_error = true\nreject_garbled = true\n"
                          "values_are_known = false\nrequires_orig_sending_time = false\n"
                          "reject_low_sequence = true"));
    Dictionaries dictionaries{""};
    const auto built = session_options(config.sessions.at(0), dictionaries).config;
    EXPECT_FALSE(built.validation.message_fields_are_known);
    EXPECT_THAT(built.validation.unchecked_types, ElementsAre("8", "AE"));
    EXPECT_FALSE(built.check_comp_ids);
    EXPECT_FALSE(built.validation.values_are_known);
    EXPECT_FALSE(built.requires_orig_sending_time);
    EXPECT_TRUE(built.reject_low_sequence);
    EXPECT_TRUE(built.reset_on_error);
    EXPECT_TRUE(built.reject_garbled);
}

TEST(FixEngineConfig, ByDefaultOldOrdersAreResent) {
    EXPECT_EQ(from_toml(session("")).sessions.at(0).resend_max_age_seconds, 0U);
    const auto config = from_toml(session("resend_max_age_seconds = 30"));
    EXPECT_EQ(config.sessions.at(0).resend_max_age_seconds, 30U);
    EXPECT_THAT(error_of(session("resend_max_age_seconds = -1")), HasSubstr("an integer from 0 to 31622400"));
}

TEST(FixEngineConfig, ASessionWithoutAStoreHasOneInTheFolderForState) {
    const auto config = from_toml("state = '/var/lib/x'\n" + session("") +
                                  "[[session]]\nsender = 'A/B'\ntarget = '../C-D'\nversion = 'FIX.5.0'\n"
                                  "[[session]]\nsender = 'HOUSE'\ntarget = '*'\n"
                                  "[[session]]\nsender = 'M'\ntarget = 'N'\nstore = 'memory'\n"
                                  "[[session]]\nsender = 'F'\ntarget = 'G'\nstore = 'mine'\n");
    EXPECT_EQ(config.sessions.at(0).store.file, "/var/lib/x/FIX.4.4-HOUSE-DESK.store");
    EXPECT_EQ(config.sessions.at(1).store.file, "/var/lib/x/FIXT.1.1-A%2FB-..%2FC%2DD.store");
    EXPECT_EQ(config.sessions.at(2).store.file, "/var/lib/x/FIX.4.4-HOUSE");
    EXPECT_TRUE(is_in_memory(config.sessions.at(3)));
    EXPECT_EQ(config.sessions.at(4).store.file, "mine");
    EXPECT_TRUE(is_in_memory(from_toml(session("")).sessions.at(0)));
}

TEST(FixEngineConfig, AStoreFileGrowsAndAStoreInMemoryFitsLongMessages) {
    Dictionaries dictionaries{""};
    const auto store_of = [&](const std::string& lines) {
        return session_options(from_toml("state = '/var/lib/x'\n" + session(lines)).sessions.at(0), dictionaries).store;
    };
    const auto usual = store_of("");
    EXPECT_EQ(usual.bytes, 4ULL << 30U);
    EXPECT_EQ(usual.segments, 0U);
    EXPECT_EQ(usual.keep, std::chrono::hours{7 * 24});
    EXPECT_EQ(store_of("keep_bytes = '64MiB'").bytes, 64U << 20U);
    EXPECT_TRUE(store_of("store = 'memory'").file.empty());
    EXPECT_EQ(store_of("store = 'memory'").bytes, 8U << 20U);
    EXPECT_EQ(store_of("store = 'memory'\nmax_message_bytes = '2MiB'").bytes, 32U << 20U);
    const std::string who = "[[session]] 'HOUSE' to 'DESK'";
    EXPECT_EQ(error_of(session("keep_bytes = '1MiB'")), who + ": keep_bytes expects 4MiB to 64GiB, found 1048576");
    EXPECT_THAT(error_of(session("keep_bytes = '65GiB'")), HasSubstr("expects 4MiB to 64GiB, found 69793218560"));
    EXPECT_THAT(error_of(session("store = 'x'\nkeep_bytes = '4MiB'\nmax_message_bytes = '1MiB'")),
                HasSubstr(who + ": keep_bytes of 4194304 is too little for max_message_bytes of 1048576"));
}

TEST(FixEngineConfig, AddressesOfASessionAreChecked) {
    EXPECT_EQ(error_of(session("allow = ['10.0.0.0/8']")), "");
    EXPECT_THAT(error_of(session("allow = ['10.0.0.0/33']")), HasSubstr("[[session]] 'HOUSE' to 'DESK': key 'allow'"));
    EXPECT_THAT(error_of(session("hosts = ['h:1']\nallow = ['10.0.0.0/8']")), HasSubstr("either 'allow' or 'hosts'"));
}

/// Checks that no help text names a default, and that each printed default, read like a user's value, is the struct's
/// default.
template <class Section>
void expect_defaults_of_the_struct() {
    for (const auto& key : settings::Schema<Section>::keys()) {
        EXPECT_EQ(key.help.find("(default"), std::string_view::npos) << key.name;
        if (key.show == nullptr) continue;
        const auto shown = key.show(Section{});
        const auto help = settings::help_with_default(settings::text_of(key));
        if (shown.empty()) {
            EXPECT_EQ(help, key.help);
            continue;
        }
        EXPECT_THAT(help, HasSubstr(" (default: " + shown + ")"));
        Section read;
        key.assign(read, settings::Value{"test", std::string{key.name}, settings::Value::Bare{shown}});
        EXPECT_EQ(key.show(read), shown) << key.name;
    }
}

TEST(FixEngineDefaults, HelpPrintsThoseOfTheStructs) {
    expect_defaults_of_the_struct<EngineConfig>();
    expect_defaults_of_the_struct<AcceptorConfig>();
    expect_defaults_of_the_struct<SessionSettings>();
    expect_defaults_of_the_struct<WebConfig>();
    expect_defaults_of_the_struct<DropCopyConfig>();
    const auto texts = settings::texts_of(
        settings::Schema<SessionSettings>::keys(),
        SessionSettings{.config = {.heartbeat_seconds = 17}, .reconnect = {.first = std::chrono::seconds{2}}});
    const auto help_of = [&](std::string_view name) {
        return help_with_default(*std::ranges::find(texts, name, &settings::KeyText::name));
    };
    EXPECT_THAT(help_of("heartbeat_seconds"), HasSubstr("(default: 17)"));
    EXPECT_THAT(help_of("reconnect_ms"), HasSubstr("(default: 2000)"));
    EXPECT_THAT(help_of("logon_seconds"), HasSubstr("(default: 10)"));
    EXPECT_THAT(help_of("version"), HasSubstr("(default: FIX.4.4)"));
}

/// A reload compares the contents of the files that KeyOf::file declares.
template <class Section>
std::vector<std::string_view> files_that_are_not_read() {
    std::vector<std::string_view> names;
    for (const auto& key : settings::Schema<Section>::keys()) {
        if (key.shape == "FILE" && !key.is_read) names.push_back(key.name);
    }
    return names;
}

TEST(FixEngineFiles, EveryFileOfASectionIsReadOrNamedHere) {
    EXPECT_THAT(files_that_are_not_read<SessionSettings>(), testing::IsEmpty());
    EXPECT_THAT(files_that_are_not_read<AcceptorConfig>(), testing::IsEmpty());
    EXPECT_THAT(files_that_are_not_read<WebConfig>(), testing::IsEmpty());
    EXPECT_THAT(files_that_are_not_read<DropCopyConfig>(), testing::IsEmpty());
    // The user file is read at each Logon; the raw log is written.
    EXPECT_THAT(files_that_are_not_read<EngineConfig>(), ElementsAre("user_file", "raw_log"));
}

TEST(Weekdays, RangesMayGoRoundTheWeek) {
    EXPECT_THAT(weekdays_of("mon-fri"), ElementsAre(false, true, true, true, true, true, false));
    EXPECT_THAT(weekdays_of("fri-mon"), ElementsAre(true, true, false, false, false, true, true));
    EXPECT_THAT(weekdays_of("sun+wed"), ElementsAre(true, false, false, true, false, false, false));
    EXPECT_THAT(weekdays_of(""), ElementsAre(true, true, true, true, true, true, true));
}

TEST(ZoneNamed, HasTheChangesOfSummerTime) {
    const auto zone = zone_named("Europe/Berlin");
    EXPECT_EQ(zone->offset_at(1'764'547'200), 3600);  // 2025-12-01
    EXPECT_EQ(zone->offset_at(1'751'328'000), 7200);  // 2025-07-01
    EXPECT_THROW(static_cast<void>(zone_named("Mars/Base")), std::runtime_error);
}

TEST(HostText, ANameOrAnAddressWithItsPort) {
    EXPECT_EQ(host_of("[fd00::1]:5001").name, "fd00::1");
    EXPECT_EQ(host_of("a.example:65535").port, 65'535);
    for (const auto* wrong : {"a", "a:", ":1", "a:0", "a:65536", "a:1x"}) {
        EXPECT_THROW(static_cast<void>(host_of(wrong)), std::invalid_argument) << wrong;
    }
}

}  // namespace
}  // namespace millpond::fixd
