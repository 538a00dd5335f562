// Users with hashed passwords, and certificates, of counterparties that log on.

#include "fixd/authenticator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <millpond/core/clock.hpp>

#include "fixd/user_file.hpp"
#include "service/password_hash.hpp"
#include "service/settings/value.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using engine::RawClient;
using service::PasswordHash;
using ::testing::HasSubstr;
using ::testing::Not;

std::string line_of(const std::string& user, const std::string& password) {
    return user + ":" + PasswordHash::of(password).text() + "\n";
}

std::string text_in(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

/// A file of users, 0640.
class Users : public test::ScratchFile {
public:
    explicit Users(const std::string& text) : ScratchFile(test::scratch_name("users"), text) {
        std::filesystem::permissions(path(), std::filesystem::perms{0640});
    }
};

/// The sessions HOUSE->DESK for `users`, and HOUSE->FREE for everybody.
std::string house_with(const std::string& user_file, const std::string& users, const std::string& more = "") {
    return "user_file = '" + user_file +
           "'\n[[acceptor]]\nlisten = '127.0.0.1:0'\nmax_before_logon_per_address = 64\n"
           "[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\nusers = " +
           users + "\n" + more + "[[session]]\nsender = 'HOUSE'\ntarget = 'FREE'\n" + more;
}

/// A session for alice at each of four acceptors, so that the log has a line for each: HOUSE->D0 to HOUSE->D3.
std::string four_with(const std::string& user_file) {
    auto toml = "user_file = '" + user_file + "'\n";
    for (const std::string name : {"D0", "D1", "D2", "D3"}) {
        toml += "[[acceptor]]\nname = '" + name +
                "'\nlisten = '127.0.0.1:0'\n[[session]]\nsender = 'HOUSE'\ntarget = '" + name + "'\nacceptor = '" +
                name + "'\nusers = ['alice']\nversion = 'FIX.5.0SP2'\n";
    }
    return toml;
}

std::string logs_in(const std::string& user, const std::string& password, const std::string& more = "") {
    return "username = '" + user + "'\n[session.logon]\n554 = '" + password + "'\n" + more;
}

/// Such a Logon resets the numbers, so that it may come again.
std::string logon(const std::string& from, const std::string& user, const std::string& password) {
    return fix44("A", 1, from, "HOUSE", "98=0|108=30|141=Y|553=" + user + "|554=" + password + "|");
}

std::string fixt_logon(const std::string& from, const std::string& body) {
    return fix_text("FIXT.1.1", "A", 1, from, "HOUSE", "98=0|108=30|141=Y|1137=9|" + body);
}

/// Sends a Logon and waits for the end of the connection, or an answer.
std::string answer_to(std::uint16_t port, const std::string& bytes) {
    RawClient client{port};
    client.send(bytes);
    EXPECT_TRUE(comes_true([&] { return !client.received().empty() || client.over(); }));
    return client.received();
}

/// Whether the Logon is accepted once the wait after failures is over.
bool gets_in(std::uint16_t port, const std::string& bytes) {
    return comes_true([&] { return answer_to(port, bytes).contains("35=A"); });
}

double metric(RunningEngine& house, const std::string& name) {
    const auto text = house.engine().page({.path = "/metrics"}).body;
    const auto at = text.find(name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size()));
}

double checks(RunningEngine& house, const std::string& result) {
    return metric(house, "millpond_fix_logon_checks_total{result=\"" + result + "\"}");
}

TEST(Authenticator, OnlyAUserOfTheSessionWithItsPasswordLogsOn) {
    const Users users{"# desks\n" + line_of("alice", "correct horse") + "\n" + line_of("bob", "battery staple")};
    RunningEngine house{house_with(users.path(), "['alice']")};
    RunningEngine desk{connects("DESK", house, logs_in("alice", "correct horse"))};
    EXPECT_TRUE(comes_true([&] { return desk.counts().logons.load() == 1; }));
    EXPECT_EQ(checks(house, "admitted"), 1);
    EXPECT_THAT(house.said(), Not(HasSubstr("correct horse")));
    EXPECT_TRUE(desk.engine().drain(std::chrono::seconds{20}));
}

TEST(Authenticator, EveryRefusalIsNamedCountedAndCostsNoNumber) {
    const Users users{line_of("alice", "correct horse") + line_of("bob", "battery staple")};
    RunningEngine house{four_with(users.path())};
    EXPECT_EQ(answer_to(house.port(0), fixt_logon("D0", "553=alice|554=wrong horse|")), "");
    EXPECT_EQ(answer_to(house.port(1), fixt_logon("D1", "553=mallory|554=correct horse|")), "");
    EXPECT_EQ(answer_to(house.port(2), fixt_logon("D2", "553=bob|554=battery staple|")), "");
    EXPECT_EQ(answer_to(house.port(3), fixt_logon("D3", "")), "");
    EXPECT_THAT(house.said(), HasSubstr("not admitted: wrong password of user 'alice'"));
    EXPECT_THAT(house.said(), HasSubstr("not admitted: unknown user 'mallory'"));
    EXPECT_THAT(house.said(), HasSubstr("not admitted: user 'bob' is not one of this session"));
    EXPECT_THAT(house.said(), HasSubstr("not admitted: no Username(553)"));
    for (const auto* secret : {"wrong horse", "correct horse", "battery staple"}) {
        EXPECT_THAT(house.said(), Not(HasSubstr(secret)));
    }
    EXPECT_EQ(checks(house, "password"), 4);
    EXPECT_EQ(checks(house, "admitted"), 0);
    for (const auto* target : {"D0", "D1", "D2", "D3"}) EXPECT_EQ(house.status(target).next_target, 1U) << target;
}

TEST(Authenticator, WhoFailedIsNotLookedAtForAWhileWhateverItShows) {
    const Users users{line_of("alice", "correct horse")};
    RunningEngine house{house_with(users.path(), "['alice']")};
    const auto right = logon("DESK", "alice", "correct horse");
    // Where the machine is slow, the first waits may be over before the right one comes.
    ASSERT_TRUE(comes_true([&] {
        EXPECT_EQ(answer_to(house.port(), logon("DESK", "alice", "wrong horse")), "");
        const auto admitted = checks(house, "admitted");
        const auto answer = answer_to(house.port(), right);
        EXPECT_EQ(answer.contains("35=A"), checks(house, "admitted") > admitted);
        return answer.empty();
    }));
    EXPECT_GE(checks(house, "delayed"), 1);
    EXPECT_TRUE(gets_in(house.port(), right));
}

TEST(Authenticator, AFloodOfBadLogonsDelaysNoOtherSession) {
    const Users users{line_of("alice", "correct horse")};
    RunningEngine house{house_with(users.path(), "['alice']")};
    RunningEngine free{connects("FREE", house, "heartbeat_seconds = 1\n")};
    ASSERT_TRUE(comes_true([&] { return house.is_active("FREE"); }));
    const auto bad = logon("DESK", "alice", "no");
    const auto until = core::monotonic_nanos() + 3'000'000'000;
    int sent = 0;
    std::deque<RawClient> clients;
    while (core::monotonic_nanos() < until) {
        clients.emplace_back(house.port());
        clients.back().send(bad);
        ++sent;
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        if (clients.size() > 32) clients.pop_front();
    }
    EXPECT_TRUE(comes_true([&] { return checks(house, "password") + checks(house, "delayed") >= sent - 32; }));
    EXPECT_LE(checks(house, "password") * 10, sent);  // All others cost no hash.
    EXPECT_TRUE(house.is_active("FREE"));
    EXPECT_EQ(house.status("FREE").connections, 1U);
    EXPECT_EQ(free.counts().closed.load(), 0);
    EXPECT_EQ(house.status("DESK").connections, 0U);
    EXPECT_TRUE(free.engine().drain(std::chrono::seconds{20}));
}

TEST(Authenticator, AnAddressThatIsNotTheSessionsCostsNoHash) {
    const Users users{line_of("alice", "correct horse")};
    RunningEngine house{house_with(users.path(), "['alice']\nallow = ['127.0.0.7']")};
    EXPECT_EQ(answer_to(house.port(), logon("DESK", "alice", "correct horse")), "");
    EXPECT_THAT(house.said(), HasSubstr("address not allowed: not an address of this session"));
    EXPECT_EQ(checks(house, "admitted") + checks(house, "password"), 0);
    RunningEngine desk{connects("DESK", house, "local_address = '127.0.0.7'\n" + logs_in("alice", "correct horse"))};
    EXPECT_TRUE(comes_true([&] { return desk.counts().logons.load() == 1; }));
    EXPECT_TRUE(desk.engine().drain(std::chrono::seconds{20}));
}

TEST(Authenticator, AFloodFromManyAddressesAtOneSessionLeavesRoomForAnother) {
    const Users users{line_of("alice", "correct horse")};
    service::Log log{service::Severity::error, service::LogFormat::text, [](const std::string&) {}};
    std::mutex lock;
    std::vector<std::string> answers;
    const auto answered = [&](std::string refusal) {
        const std::lock_guard guard{lock};
        answers.push_back(std::move(refusal));
    };
    Authenticator authenticator{users.path(), log};
    const auto attacked =
        authenticator.guard_of({.sender = "HOUSE", .target = "A", .users = {"alice"}}, /*takes_new_password=*/false);
    const auto other =
        authenticator.guard_of({.sender = "HOUSE", .target = "B", .users = {"alice"}}, /*takes_new_password=*/false);
    for (int i = 1; i <= 200; ++i) {
        attacked->check({.username = "alice",
                         .password = "guess",
                         .peer = net::SocketAddress::parse("10.0.0." + std::to_string(i) + ":4000")},
                        answered);
    }
    other->check({.username = "alice", .password = "correct horse", .peer = net::SocketAddress::parse("10.1.0.1:4000")},
                 answered);
    ASSERT_TRUE(comes_true([&] {
        const std::lock_guard guard{lock};
        return answers.size() == 201;
    }));
    EXPECT_EQ(std::ranges::count(answers, std::string{}), 1);
    const auto guessed = std::ranges::count(answers, "wrong password of user 'alice'");
    EXPECT_GE(guessed, 8);
    EXPECT_LE(guessed, 100);
    EXPECT_EQ(std::ranges::count_if(answers, [](const auto& text) { return text.contains("of this session"); }),
              200 - guessed);
}

TEST(Authenticator, NewPasswordIsOnTheDiskBeforeItIsConfirmedAndTheOldOneIsNoMore) {
    const Users users{"# ours\n" + line_of("alice", "correct horse") + "\n" + line_of("bob", "battery staple")};
    const auto bob = text_in(users.path()).substr(text_in(users.path()).find("bob:"));
    const std::string fixt = "version = 'FIX.5.0SP2'\n";
    const auto toml = house_with(users.path(), "['alice']", fixt);
    auto house = std::make_unique<RunningEngine>(toml);
    {
        RunningEngine desk{connects("DESK", *house, fixt + logs_in("alice", "correct horse", "925 = 'new horse 7'\n"))};
        ASSERT_TRUE(comes_true([&] { return desk.counts().logons.load() == 1; }));
        EXPECT_TRUE(desk.engine().drain(std::chrono::seconds{20}));
    }
    EXPECT_THAT(house->said(), HasSubstr("user 'alice' changed its password, from 127.0.0.1"));
    EXPECT_THAT(house->said(), Not(HasSubstr("new horse")));
    const auto text = text_in(users.path());
    EXPECT_TRUE(text.starts_with("# ours\nalice:$scrypt$"));
    EXPECT_TRUE(text.ends_with("\n\n" + bob));
    EXPECT_THAT(text, Not(HasSubstr("horse")));
    struct stat facts{};
    ASSERT_EQ(::stat(users.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0640U);
    house = std::make_unique<RunningEngine>(toml);
    EXPECT_EQ(answer_to(house->port(), fixt_logon("DESK", "553=alice|554=correct horse|")), "");
    EXPECT_TRUE(gets_in(house->port(), fixt_logon("DESK", "553=alice|554=new horse 7|")));
}

TEST(Authenticator, ANewPasswordThatCannotBeIsRefusedAndTheOldOneStays) {
    const auto alice = line_of("alice", "correct horse");
    const Users users{alice};
    RunningEngine house{four_with(users.path())};
    const auto asks_for = [](const std::string& from, const std::string& wanted) {
        return fixt_logon(from, "553=alice|554=correct horse|925=" + wanted + "|");
    };
    EXPECT_EQ(answer_to(house.port(0), asks_for("D0", "short")), "");
    EXPECT_THAT(house.said(), HasSubstr("NewPassword(925) of user 'alice' has less than 8 characters"));
    EXPECT_EQ(answer_to(house.port(1), asks_for("D1", "correct horse")), "");
    EXPECT_THAT(house.said(), HasSubstr("NewPassword(925) of user 'alice' is the old one"));
    EXPECT_EQ(checks(house, "new_password"), 2);
    EXPECT_EQ(text_in(users.path()), alice);
    // Its line has gone from the file: it is not written back.
    std::ofstream{users.path()} << "# empty\n";
    EXPECT_EQ(answer_to(house.port(2), asks_for("D2", "a new horse")), "");
    EXPECT_THAT(house.said(), HasSubstr("NewPassword(925) of user 'alice' cannot be stored: user file"));
    EXPECT_EQ(text_in(users.path()), "# empty\n");
    EXPECT_THAT(answer_to(house.port(3), fixt_logon("D3", "553=alice|554=correct horse|")), HasSubstr("35=A"));
}

TEST(Authenticator, ASessionWhoseLogonHasNoNewPasswordChangesNone) {
    const auto alice = line_of("alice", "correct horse");
    const Users users{alice};
    RunningEngine house{house_with(users.path(), "['alice']")};  // FIX 4.4, without a dictionary of its own
    EXPECT_EQ(answer_to(house.port(),
                        fix44("A", 1, "DESK", "HOUSE", "98=0|108=30|553=alice|554=correct horse|925=a new horse|")),
              "");
    EXPECT_THAT(house.said(), HasSubstr("NewPassword(925) of user 'alice' is not a field of this session's Logon"));
    EXPECT_EQ(text_in(users.path()), alice);
}

TEST(Authenticator, AReloadReadsTheUsersAgainAndABadFileChangesNothing) {
    const Users users{line_of("alice", "correct horse")};
    const auto toml = house_with(users.path(), "['alice', 'carol']");
    RunningEngine house{toml};
    std::ofstream{users.path()} << line_of("carol", "staple gun");
    EXPECT_EQ(answer_to(house.port(), logon("DESK", "carol", "staple gun")), "");
    EXPECT_TRUE(
        house.reload("user_file = '" + users.path() + "'\n" + toml.substr(toml.find('\n') + 1)).refused.empty());
    EXPECT_TRUE(gets_in(house.port(), logon("DESK", "carol", "staple gun")));
    std::ofstream{users.path()} << "dave:secret\n";
    EXPECT_THROW(house.reload(toml), settings::ConfigError);
    std::filesystem::remove(users.path());
    EXPECT_THROW(house.reload(toml), settings::ConfigError);
    EXPECT_TRUE(comes_true([&] {
        return answer_to(house.port(), logon("DESK", "carol", "staple gun")).find("35=A") != std::string::npos;
    }));
}

TEST(Authenticator, ASessionByTemplateIsForItsUsersOnly) {
    const Users users{line_of("alice", "correct horse")};
    RunningEngine house{"user_file = '" + users.path() +
                        "'\n[[acceptor]]\nlisten = '127.0.0.1:0'\n"
                        "[[session]]\nsender = 'HOUSE'\ntarget = '*'\nusers = ['alice']\n"};
    EXPECT_EQ(answer_to(house.port(), logon("NEW", "alice", "wrong horse")), "");
    EXPECT_TRUE(house.engine().sessions().empty());
    EXPECT_TRUE(gets_in(house.port(), logon("NEW", "alice", "correct horse")));
}

TEST(Authenticator, ACertificateIsBoundToItsSession) {
    const test::Certificates made;
    if (!engine::tls_available() || !made.made()) GTEST_SKIP() << "no TLS, or the program openssl is missing";
    const auto acceptor = "[[acceptor]]\nlisten = '127.0.0.1:0'\ntls_certificate = '" +
                          made.certificate("ours-server") + "'\ntls_key = '" + made.key("ours-server") +
                          "'\ntls_authorities = '" + made.certificate("ours") + "'\n";
    RunningEngine house{acceptor +
                        "[[session]]\nsender = 'HOUSE'\ntarget = 'A'\ncertificates = ['CN=other', 'DNS:other']\n"
                        "[[session]]\nsender = 'HOUSE'\ntarget = 'B'\ncertificates = ['URI:urn:example:ours-client']\n"
                        "[[session]]\nsender = 'HOUSE'\ntarget = 'C'\ncertificates = ['CN=party']\n"};
    const auto tls = "tls = true\ntls_server_name = 'house.example'\ntls_certificate = '" +
                     made.certificate("ours-client") + "'\ntls_key = '" + made.key("ours-client") +
                     "'\ntls_authorities = '" + made.certificate("ours") + "'\n";
    RunningEngine b{connects("B", house, tls)};
    RunningEngine c{connects("C", house, tls)};
    EXPECT_TRUE(comes_true([&] { return house.is_active("->B") && house.is_active("->C"); }));
    RunningEngine a{connects("A", house, tls)};
    EXPECT_TRUE(comes_true([&] { return checks(house, "certificate") >= 2; }));
    EXPECT_THAT(house.said(), HasSubstr("not admitted: certificate CN=party, DNS:house.example, "
                                        "URI:urn:example:ours-client, email:client@house.example"));
    EXPECT_EQ(a.counts().logons.load(), 0);
    EXPECT_EQ(house.status("->A").next_target, 1U);
}

TEST(Authenticator, SettingsThatCannotBeAreNamed) {
    const auto wrong_in = [](const std::string& toml) -> std::string {
        try {
            static_cast<void>(RunningEngine::config_of(toml));
        } catch (const settings::ConfigError& error) {
            return error.what();
        }
        return "nothing";
    };
    const std::string waits = "[[session]]\nsender = 'H'\ntarget = 'A'\n";
    EXPECT_THAT(wrong_in(waits + "users = ['a']\n"), HasSubstr("'users' needs the key 'user_file'"));
    EXPECT_THAT(wrong_in("user_file = 'x'\n" + waits + "users = ['a:b']\n"), HasSubstr("'a:b' is no user's name"));
    EXPECT_THAT(wrong_in("user_file = 'x'\n" + waits + "hosts = ['h:1']\nusers = ['a']\n"),
                HasSubstr("either 'users' or 'hosts'"));
    EXPECT_THAT(wrong_in(waits + "hosts = ['h:1']\ncertificates = ['CN=a']\n"),
                HasSubstr("either 'certificates' or 'hosts'"));
    EXPECT_THAT(wrong_in(waits + "certificates = ['CN=a']\n"), HasSubstr("tls_certificate and tls_verify"));
    EXPECT_THAT(wrong_in("[[acceptor]]\ntls_certificate = 'x'\ntls_key = 'x'\ntls_verify = false\n" + waits +
                         "certificates = ['CN=a']\n"),
                HasSubstr("tls_certificate and tls_verify"));
}

TEST(UserFile, EachMistakeIsNamedWithItsLine) {
    const auto wrong_in = [](const std::string& text, int mode = 0640) -> std::string {
        const Users users{text};
        std::filesystem::permissions(users.path(), std::filesystem::perms{static_cast<unsigned>(mode)});
        try {
            const UserFile read{users.path()};
        } catch (const settings::ConfigError& error) {
            return error.what();
        }
        return "nothing";
    };
    const auto good = line_of("alice", "correct horse");
    EXPECT_EQ(wrong_in("\r\n  # a comment\n\n" + good), "nothing");
    EXPECT_EQ(wrong_in(""), "nothing");
    EXPECT_THAT(wrong_in(good + "bob\n"), HasSubstr("line 2: expects NAME:HASH"));
    EXPECT_THAT(wrong_in("\n" + good + good), HasSubstr("line 3: user 'alice' is there twice"));
    EXPECT_THAT(wrong_in(" " + good), HasSubstr("line 1: expects NAME:HASH"));
    EXPECT_THAT(wrong_in("bob:hunter2\n"), HasSubstr("line 1: the hash does not begin with $scrypt$"));
    EXPECT_THAT(wrong_in("bob:hunter2\n"), Not(HasSubstr("hunter2")));
    EXPECT_THAT(wrong_in(good, 0644), HasSubstr("chmod o-rw"));
    EXPECT_THAT(wrong_in(good, 0642), HasSubstr("chmod o-rw"));
    EXPECT_THROW(UserFile{"/nonexistent/users"}, settings::ConfigError);
    EXPECT_THROW(UserFile{"/dev/null"}, settings::ConfigError);
}

TEST(UserFile, AChangeThatCannotBeWrittenLeavesTheFileAndTheUser) {
    const auto folder = ::testing::TempDir() + test::scratch_name("users.d");
    std::filesystem::create_directory(folder);
    const auto path = folder + "/users";
    std::ofstream{path} << line_of("alice", "correct horse");
    std::filesystem::permissions(path, std::filesystem::perms{0600});
    const auto link = ::testing::TempDir() + test::scratch_name("users.link");
    std::filesystem::create_symlink(path, link);
    UserFile users{link};
    // A folder in the way of the new file.
    std::filesystem::create_directory(path + ".new");
    EXPECT_THROW(users.change("alice", PasswordHash::of("a new horse")), std::runtime_error);
    EXPECT_TRUE(users.find("alice")->admits("correct horse"));
    std::filesystem::remove(path + ".new");
    users.change("alice", PasswordHash::of("a new horse"));
    EXPECT_TRUE(users.find("alice")->admits("a new horse"));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_TRUE(UserFile{path}.find("alice")->admits("a new horse"));
    EXPECT_FALSE(std::filesystem::exists(path + ".new"));
    std::filesystem::remove(link);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace millpond::fixd
