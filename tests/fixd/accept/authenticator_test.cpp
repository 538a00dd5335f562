// Users with hashed passwords, and certificates, of counterparties that log on.

#include "fixd/accept/authenticator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include <millpond/core/clock.hpp>

#include "fixd/settings/user_file.hpp"
#include "service/config_error.hpp"
#include "service/password_hash.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/fixd/accept/users.hpp"
#include "tests/fixd/running_engine.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using engine::RawClient;
using ::testing::HasSubstr;
using ::testing::Not;

/// The sessions HOUSE->DESK for `users`, and HOUSE->FREE for all.
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

/// A Logon that resets the sequence numbers, so that it can be repeated.
std::string logon_of(const std::string& from, const std::string& user, const std::string& password) {
    return fix44("A", 1, from, "HOUSE", "98=0|108=30|141=Y|553=" + user + "|554=" + password + "|");
}

std::string fixt_logon(const std::string& from, const std::string& body) {
    return fix_text("FIXT.1.1", "A", 1, from, "HOUSE", "98=0|108=30|141=Y|1137=9|" + body);
}

/// Sends a Logon and waits for an answer or for the end of the connection.
std::string answer_to(std::uint16_t port, const std::string& bytes) {
    RawClient client{port};
    client.send(bytes);
    EXPECT_TRUE(comes_true([&] { return !client.received().empty() || client.over(); }));
    return client.received();
}

/// Whether the Logon is accepted after the delay for failures.
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
    EXPECT_THAT(house.said(), HasSubstr("not admitted: user 'bob' does not belong to this session"));
    EXPECT_THAT(house.said(), HasSubstr("not admitted: no Username(553)"));
    for (const auto* secret : {"wrong horse", "correct horse", "battery staple"}) {
        EXPECT_THAT(house.said(), Not(HasSubstr(secret)));
    }
    EXPECT_EQ(checks(house, "password"), 4);
    EXPECT_EQ(checks(house, "admitted"), 0);
    for (const auto* target : {"D0", "D1", "D2", "D3"}) EXPECT_EQ(house.status(target).next_target, 1U) << target;
}

TEST(Authenticator, AfterAFailureAnAddressMustWaitEvenWithTheRightPassword) {
    const Users users{line_of("alice", "correct horse")};
    RunningEngine house{house_with(users.path(), "['alice']")};
    const auto right = logon_of("DESK", "alice", "correct horse");
    // On a slow machine the first delays may be over before the correct attempt.
    ASSERT_TRUE(comes_true([&] {
        EXPECT_EQ(answer_to(house.port(), logon_of("DESK", "alice", "wrong horse")), "");
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
    const auto bad = logon_of("DESK", "alice", "no");
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
    EXPECT_TRUE(comes_true([&] {
        return checks(house, "password") + checks(house, "delayed") + checks(house, "queue_full") >= sent - 32;
    }));
    EXPECT_LE(checks(house, "password") * 10, sent);  // The other attempts cost no hash.
    EXPECT_TRUE(house.is_active("FREE"));
    EXPECT_EQ(house.status("FREE").connections, 1U);
    EXPECT_EQ(free.counts().closed.load(), 0);
    EXPECT_EQ(house.status("DESK").connections, 0U);
    EXPECT_TRUE(free.engine().drain(std::chrono::seconds{20}));
}

TEST(Authenticator, AnAddressThatIsNotTheSessionsCostsNoHash) {
    const Users users{line_of("alice", "correct horse")};
    RunningEngine house{house_with(users.path(), "['alice']\nallow = ['127.0.0.7']")};
    EXPECT_EQ(answer_to(house.port(), logon_of("DESK", "alice", "correct horse")), "");
    EXPECT_THAT(house.said(), HasSubstr("address not allowed: not an address of this session"));
    EXPECT_EQ(checks(house, "admitted") + checks(house, "password"), 0);
    RunningEngine desk{connects("DESK", house, "local_address = '127.0.0.7'\n" + logs_in("alice", "correct horse"))};
    EXPECT_TRUE(comes_true([&] { return desk.counts().logons.load() == 1; }));
    EXPECT_TRUE(desk.engine().drain(std::chrono::seconds{20}));
}

TEST(Authenticator, AFloodFromManyAddressesBlocksNeitherAnotherSessionNorKnownAddresses) {
    const Users users{line_of("alice", "correct horse")};
    service::Log log{service::Severity::error, service::LogFormat::text, [](const std::string&) {}};
    std::mutex lock;
    std::vector<std::string> answers;  // in order of arrival
    Authenticator authenticator{log};
    const auto guard_of = [&](const std::string& target) {
        return authenticator.guard_of({.config = {.sender_comp_id = "HOUSE", .target_comp_id = target},
                                       .users = {"alice"},
                                       .user_file = users.path()},
                                      /*allows_new_password=*/false);
    };
    const auto attacked = guard_of("A");
    const auto other = guard_of("B");
    const auto logs_on = [&](engine::LogonGuard& guard, const std::string& peer, const std::string& password,
                             const std::string& name) {
        guard.check({.username = "alice", .password = password, .peer = net::SocketAddress::parse(peer + ":4000")},
                    [&, name](const engine::LogonAnswer& answer) {
                        const std::lock_guard guard_of_answers{lock};
                        answers.push_back(name + answer.refusal);
                    });
    };
    const auto are_answered = [&](std::size_t count) {
        return comes_true([&] {
            const std::lock_guard guard{lock};
            return answers.size() == count;
        });
    };
    logs_on(*attacked, "10.2.0.1", "correct horse", "before:");
    ASSERT_TRUE(are_answered(1));
    for (int i = 1; i <= 200; ++i) logs_on(*attacked, "10.0.0." + std::to_string(i), "a bad guess", "");
    logs_on(*other, "10.1.0.1", "correct horse", "other:");
    logs_on(*attacked, "10.2.0.1", "correct horse", "again:");
    ASSERT_TRUE(are_answered(203));
    const auto place_of = [&](const std::string& text) { return std::ranges::find(answers, text) - answers.begin(); };
    const auto guessed = std::ranges::count(answers, "wrong password of user 'alice'");
    EXPECT_GE(guessed, 16);
    EXPECT_EQ(std::ranges::count_if(answers, [](const auto& text) { return text.contains("at this session"); }),
              200 - guessed);
    // Most of the 16 waiting attempts come after the two.
    const auto behind = std::count(answers.begin() + std::max(place_of("other:"), place_of("again:")), answers.end(),
                                   "wrong password of user 'alice'");
    EXPECT_GE(behind, 8);
}

TEST(Authenticator, NewPasswordIsOnTheDiskBeforeItIsConfirmedAndTheOldOneIsInvalid) {
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
    EXPECT_THAT(answer_to(house->port(), fixt_logon("DESK", "553=alice|554=new horse 7|925=newer horse 8|")),
                HasSubstr("1409=1"));
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
    EXPECT_TRUE(gets_in(house->port(), fixt_logon("DESK", "553=alice|554=newer horse 8|")));
}

TEST(Authenticator, APasswordThatAFormerGuardHasChangedIsComparedWithTheNewOne) {
    const Users users{line_of("alice", "correct horse")};
    const Users others{line_of("alice", "correct horse"), "other_users"};
    service::Log log{service::Severity::debug, service::LogFormat::text, [](const std::string&) {}};
    Authenticator authenticator{log};
    const auto guard = [&](const Users& file) {
        SessionSettings session;
        session.config.sender_comp_id = "HOUSE";
        session.config.target_comp_id = "DESK";
        session.users = {"alice"};
        session.user_file = file.path();
        return authenticator.guard_of(session, true);
    };
    // Each attempt is from another address: a failure delays only its own address.
    const auto ask = [&](const std::shared_ptr<engine::LogonGuard>& of, bool changed, const std::string& address) {
        std::promise<engine::LogonAnswer> answer;
        of->check({.comp_id = "DESK",
                   .username = "alice",
                   .password = "correct horse",
                   .new_password = "new horse 7",
                   .peer = net::SocketAddress::parse(address + ":1"),
                   .password_changed = changed},
                  [&](engine::LogonAnswer given) { answer.set_value(std::move(given)); });
        return answer.get_future().get();
    };
    const auto first = ask(guard(users), false, "10.0.0.1");
    EXPECT_EQ(first.refusal, "");
    EXPECT_TRUE(first.password_changed);
    // A reload has replaced the session.
    const auto second = ask(guard(users), true, "10.0.0.1");
    EXPECT_EQ(second.refusal, "");
    EXPECT_TRUE(second.password_changed);
    // The attempt came with the file of other users: it is checked against that file, which is changed.
    EXPECT_EQ(ask(guard(others), true, "10.0.0.1").refusal, "");
    EXPECT_TRUE(UserFile{others.path()}.find("alice").value().admits("new horse 7"));
    // A client that repeats the Logon has the wrong password.
    EXPECT_THAT(ask(guard(users), false, "10.0.0.2").refusal, HasSubstr("wrong password"));
}

TEST(Authenticator, ANewPasswordThatCannotBeIsRefusedAndTheOldOneStays) {
    const auto alice = line_of("alice", "correct horse");
    const Users users{alice};
    RunningEngine house{four_with(users.path())};
    const auto asks_for = [](const std::string& from, const std::string& wanted) {
        return fixt_logon(from, "553=alice|554=correct horse|925=" + wanted + "|");
    };
    EXPECT_EQ(answer_to(house.port(0), asks_for("D0", "short")), "");
    EXPECT_THAT(house.said(), HasSubstr("NewPassword(925) of user 'alice' has less than 8 bytes"));
    EXPECT_EQ(answer_to(house.port(1), asks_for("D1", "correct horse")), "");
    EXPECT_THAT(house.said(), HasSubstr("NewPassword(925) of user 'alice' is the same as the old one"));
    EXPECT_EQ(checks(house, "new_password"), 2);
    EXPECT_EQ(text_in(users.path()), alice);
    EXPECT_EQ(answer_to(house.port(2), asks_for("D2", std::string(65, 'x'))), "");
    EXPECT_THAT(house.said(), HasSubstr("NewPassword(925) of user 'alice' has more than 64 bytes"));
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

TEST(Authenticator, TheUsersAreThoseThatTheFileHasByThen) {
    const Users users{line_of("alice", "correct horse")};
    const auto link = ::testing::TempDir() + test::scratch_name("users.link");
    std::filesystem::create_symlink(users.path(), link);
    const auto toml = house_with(link, "['alice', 'carol']");
    RunningEngine house{toml};
    EXPECT_THAT(house.said(), HasSubstr("user 'carol' cannot log on: user file '" + link + "' has no line for it"));
    const Users others{line_of("carol", "staple gun"), "other-users"};
    std::filesystem::remove(link);
    std::filesystem::create_symlink(others.path(), link);
    EXPECT_THAT(answer_to(house.port(), logon_of("DESK", "carol", "staple gun")), HasSubstr("35=A"));
    EXPECT_EQ(answer_to(house.port(), logon_of("DESK", "alice", "correct horse")), "");
    EXPECT_THAT(house.said(), HasSubstr("unknown user 'alice'"));
    std::filesystem::remove(link);
}

TEST(Authenticator, AFileThatCannotBeUsedLetsInNoUserAndRefusesAReload) {
    const Users users{line_of("carol", "staple gun")};
    const auto toml = house_with(users.path(), "['carol']");
    RunningEngine house{toml};
    EXPECT_TRUE(house.reload(toml).refused.empty());
    std::ofstream{users.path()} << "dave:secret\n" << line_of("carol", "staple gun");
    EXPECT_THROW(house.reload(toml + "[[session]]\nsender = 'HOUSE'\ntarget = 'MORE'\n"), service::ConfigError);
    EXPECT_EQ(house.status("MORE").name, "");
    // A malformed line of another user does not affect carol.
    EXPECT_THAT(answer_to(house.port(), logon_of("DESK", "carol", "staple gun")), HasSubstr("35=A"));
    std::filesystem::permissions(users.path(), std::filesystem::perms{0644});
    EXPECT_EQ(answer_to(house.port(), logon_of("DESK", "carol", "staple gun")), "");
    EXPECT_THAT(house.said(), HasSubstr("any user may read or write it"));
    EXPECT_EQ(checks(house, "failed"), 1);
    std::filesystem::remove(users.path());
    EXPECT_EQ(answer_to(house.port(), logon_of("DESK", "carol", "staple gun")), "");
    EXPECT_EQ(checks(house, "failed"), 2);
    EXPECT_THROW(house.reload(toml), service::ConfigError);
}

TEST(Authenticator, AReloadBringsTheFirstUsersAndAnotherFile) {
    const std::string none = "[[acceptor]]\nlisten = '127.0.0.1:0'\n[[session]]\nsender = 'HOUSE'\ntarget = 'DESK'\n";
    const Users users{line_of("alice", "correct horse")};
    const Users others{line_of("alice", "staple gun"), "other-users"};
    const auto with = [&](const Users& file) {
        return "user_file = '" + file.path() + "'\n" + none + "users = ['alice']\n";
    };
    const auto free = fix44("A", 1, "DESK", "HOUSE", "98=0|108=30|141=Y|");
    RunningEngine house{none};
    EXPECT_THAT(answer_to(house.port(), free), HasSubstr("35=A"));
    EXPECT_TRUE(house.reload(with(users)).refused.empty());
    EXPECT_THAT(answer_to(house.port(), logon_of("DESK", "alice", "correct horse")), HasSubstr("35=A"));
    EXPECT_TRUE(house.reload(with(others)).refused.empty());
    EXPECT_THAT(answer_to(house.port(), logon_of("DESK", "alice", "staple gun")), HasSubstr("35=A"));
    EXPECT_EQ(answer_to(house.port(), logon_of("DESK", "alice", "correct horse")), "");
    EXPECT_TRUE(house.reload(none).refused.empty());
    EXPECT_THAT(answer_to(house.port(), free), HasSubstr("35=A"));
}

TEST(Authenticator, SeveralRightLogonsOfOneAddressAtOnceAllPass) {
    const Users users{line_of("alice", "correct horse")};
    RunningEngine house{"user_file = '" + users.path() +
                        "'\n[[acceptor]]\nlisten = '127.0.0.1:0'\n"
                        "[[session]]\nsender = 'HOUSE'\ntarget = '*'\nusers = ['alice']\n"};
    std::deque<RawClient> clients;
    for (int i = 0; i < 12; ++i) {
        clients.emplace_back(house.port());
        clients.back().send(logon_of("N" + std::to_string(i), "alice", "correct horse"));
    }
    for (auto& client : clients) EXPECT_TRUE(comes_true([&] { return client.received().contains("35=A"); }));
    EXPECT_EQ(checks(house, "admitted"), 12);
}

TEST(Authenticator, AfterAFailureQueuedAttemptsOfTheSameAddressAreNotChecked) {
    const Users users{line_of("alice", "correct horse")};
    service::Log log{service::Severity::error, service::LogFormat::text, [](const std::string&) {}};
    std::mutex lock;
    std::vector<std::string> answers;
    {
        Authenticator authenticator{log};
        const auto guard = authenticator.guard_of({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "A"},
                                                   .users = {"alice"},
                                                   .user_file = users.path()},
                                                  false);
        for (const std::string password : {"a bad guess", "b bad guess", "correct horse"}) {
            guard->check({.username = "alice",
                          .password = password,
                          .peer = net::SocketAddress::parse("[2001:db8::" + password.substr(0, 1) + "]:4000")},
                         [&](engine::LogonAnswer answer) {
                             const std::lock_guard guard_of_answers{lock};
                             answers.push_back(std::move(answer.refusal));
                         });
        }
        ASSERT_TRUE(comes_true([&] {
            const std::lock_guard guard_of_answers{lock};
            return answers.size() == 3;
        }));
    }
    EXPECT_EQ(answers[0], "wrong password of user 'alice'");
    EXPECT_EQ(answers[1], "failed logons from this address: 1; the next one in 1 s");
    EXPECT_EQ(answers[2], answers[1]);
}

TEST(Authenticator, ASessionByTemplateIsForItsUsersOnly) {
    const Users users{line_of("alice", "correct horse")};
    RunningEngine house{"user_file = '" + users.path() +
                        "'\n[[acceptor]]\nlisten = '127.0.0.1:0'\n"
                        "[[session]]\nsender = 'HOUSE'\ntarget = '*'\nusers = ['alice']\n"};
    EXPECT_EQ(answer_to(house.port(), logon_of("NEW", "alice", "wrong horse")), "");
    EXPECT_TRUE(house.engine().sessions().empty());
    EXPECT_TRUE(gets_in(house.port(), logon_of("NEW", "alice", "correct horse")));
}

TEST(Authenticator, ACertificateIsBoundToItsSession) {
    const test::Certificates made;
    if (!tls::available() || !made.made()) GTEST_SKIP() << "no TLS, or the program openssl is missing";
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
        } catch (const service::ConfigError& error) {
            return error.what();
        }
        return "nothing";
    };
    const std::string waits = "[[session]]\nsender = 'H'\ntarget = 'A'\n";
    EXPECT_THAT(wrong_in(waits + "users = ['a']\n"), HasSubstr("'users' needs the key 'user_file'"));
    EXPECT_THAT(wrong_in("user_file = 'x'\n" + waits + "users = ['a:b']\n"), HasSubstr("'a:b' is not a user name"));
    EXPECT_THAT(wrong_in("user_file = 'x'\n" + waits + "hosts = ['h:1']\nusers = ['a']\n"),
                HasSubstr("either 'users' or 'hosts'"));
    EXPECT_THAT(wrong_in(waits + "hosts = ['h:1']\ncertificates = ['CN=a']\n"),
                HasSubstr("either 'certificates' or 'hosts'"));
    EXPECT_THAT(wrong_in(waits + "certificates = ['CN=a']\n"), HasSubstr("tls_certificate and tls_verify"));
    EXPECT_THAT(wrong_in("[[acceptor]]\ntls_certificate = 'x'\ntls_key = 'x'\ntls_verify = false\n" + waits +
                         "certificates = ['CN=a']\n"),
                HasSubstr("tls_certificate and tls_verify"));
}

TEST(Authenticator, EmptyListsOfUsersCertificatesAndAddressesAreRefused) {
    const auto wrong_in = [](const std::string& toml) -> std::string {
        try {
            static_cast<void>(RunningEngine::config_of(toml));
        } catch (const service::ConfigError& error) {
            return error.what();
        }
        return "nothing";
    };
    const std::string waits = "[[session]]\nsender = 'H'\ntarget = 'A'\n";
    for (const std::string key : {"users", "certificates", "allow"}) {
        EXPECT_EQ(
            wrong_in(waits + key + " = []\n"),
            "fix.toml:4: key '" + key +
                "' of [[session]] expects one entry or more (leave the key out for no limit), found an empty list");
    }
    EXPECT_THAT(wrong_in("[[acceptor]]\nallow = []\n"), HasSubstr("'allow' of [[acceptor]] expects one entry or more"));
}

}  // namespace
}  // namespace millpond::fixd
