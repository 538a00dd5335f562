// Sessions with a guard: the session is not changed before the guard answers.

#include <millpond/engine/logon_guard.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/fix_text.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::engine {
namespace {

/// Keeps requests, which the test answers.
class Asked final : public LogonGuard {
public:
    void check(LogonAttempt attempt, Answer answer) override {
        attempts.push_back(std::move(attempt));
        answers.push_back(std::move(answer));
    }
    std::vector<LogonAttempt> attempts;
    std::vector<Answer> answers;
};

/// Answers immediately.
class Ready final : public LogonGuard {
public:
    explicit Ready(std::string refusal) : refusal_(std::move(refusal)) {}
    void check(LogonAttempt attempt, Answer answer) override {
        static_cast<void>(attempt);
        answer({.refusal = refusal_});
    }

private:
    std::string refusal_;
};

struct Refusals final : AcceptorObserver {
    void on_refused(const Refusal& why) override {
        said.push_back(std::string{name(why.reason)} + "|" + std::string{why.detail});
    }
    std::vector<std::string> said;
};

std::string text_in(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

class LogonGuardTest : public testing::Test {
protected:
    [[nodiscard]] SessionOptions session(std::string client) const {
        return {.config = {.sender_comp_id = "HOUSE", .target_comp_id = std::move(client)},
                .dictionary = &dictionary_,
                .guard = guard_};
    }
    void send_logon(RawClient& client, std::string_view id, int number = 1) {
        client.send(message("FIX.4.4", "A", number, id, "98=0|108=30|553=me|554=open sesame|"));
    }
    [[nodiscard]] bool is_asked(std::size_t times) {
        return run_until(io_, [&] { return guard_->attempts.size() == times; });
    }
    [[nodiscard]] bool is_answered(RawClient& client) {
        return run_until(io_, [&] { return client.received().find("35=A") != std::string::npos || client.over(); }) &&
               !client.over();
    }
    [[nodiscard]] bool is_closed(RawClient& client) {
        return run_until(io_, [&] { return client.receive(), client.over(); });
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    std::shared_ptr<Asked> guard_ = std::make_shared<Asked>();
    Refusals refusals_;
    Counterparty house_;
    IoThread io_;
};

TEST_F(LogonGuardTest, TheSessionIsUnchangedUntilTheGuardAccepts) {
    Acceptor acceptor{io_, {.observer = &refusals_}};
    auto& handle = acceptor.add(session("A"), house_);
    RawClient client{acceptor.port()};
    send_logon(client, "A");
    client.send(message("FIX.4.4", "D", 2, "A", "11=7|"));
    ASSERT_TRUE(is_asked(1));
    EXPECT_EQ(guard_->attempts[0].comp_id, "A");
    EXPECT_EQ(guard_->attempts[0].username, "me");
    EXPECT_EQ(guard_->attempts[0].password, "open sesame");
    EXPECT_EQ(guard_->attempts[0].new_password, "");
    EXPECT_EQ(guard_->attempts[0].peer.host(), "127.0.0.1");
    EXPECT_TRUE(guard_->attempts[0].certificate_names.empty());
    for (int i = 0; i < 20; ++i) io_.poll(std::chrono::milliseconds{1});
    EXPECT_EQ(client.received(), "");
    EXPECT_EQ(acceptor.connected(), 0U);
    EXPECT_EQ(guard_->attempts.size(), 1U);
    guard_->answers[0]({});
    ASSERT_TRUE(is_answered(client));
    // Messages that followed the Logon while it waited are delivered.
    EXPECT_TRUE(run_until(io_, [&] { return house_.orders == std::vector<std::uint64_t>{7}; }));
    EXPECT_EQ(handle.status().next_target, 3U);
    EXPECT_TRUE(refusals_.said.empty());
}

TEST_F(LogonGuardTest, ARefusedLogonGetsNoReplyUsesNoNumberAndDoesNotBlockTheSession) {
    Acceptor acceptor{io_, {.observer = &refusals_}};
    auto& handle = acceptor.add(session("A"), house_);
    RawClient wrong{acceptor.port()};
    send_logon(wrong, "A", 9);
    ASSERT_TRUE(is_asked(1));
    RawClient right{acceptor.port()};
    send_logon(right, "A");
    ASSERT_TRUE(is_asked(2));
    guard_->answers[1]({});
    ASSERT_TRUE(is_answered(right));
    guard_->answers[0]({.refusal = "wrong password"});
    ASSERT_TRUE(is_closed(wrong));
    EXPECT_EQ(wrong.received(), "");
    EXPECT_EQ(refusals_.said, std::vector<std::string>{"not admitted|wrong password"});
    EXPECT_EQ(acceptor.counters().not_admitted.read(), 1U);
    EXPECT_EQ(handle.status().next_target, 2U);
    EXPECT_EQ(house_.logons, 1);
    EXPECT_TRUE(house_.closed.empty());
}

TEST_F(LogonGuardTest, AGuardMayAnswerWithinTheCall) {
    Acceptor acceptor{io_, {.observer = &refusals_}};
    auto open = session("A");
    open.guard = std::make_shared<Ready>("");
    auto closed = session("B");
    closed.guard = std::make_shared<Ready>("never");
    acceptor.add(open, house_);
    acceptor.add(closed, house_);
    RawClient a{acceptor.port()};
    RawClient b{acceptor.port()};
    send_logon(a, "A");
    send_logon(b, "B");
    EXPECT_TRUE(is_answered(a));
    EXPECT_TRUE(is_closed(b));
    EXPECT_EQ(refusals_.said, std::vector<std::string>{"not admitted|never"});
}

TEST_F(LogonGuardTest, ASessionByTemplateIsMadeOnlyForWhomItAdmits) {
    Acceptor acceptor{io_, {.observer = &refusals_}};
    acceptor.add_template(session("*"), house_, 10);
    RawClient wrong{acceptor.port()};
    RawClient right{acceptor.port()};
    send_logon(wrong, "X");
    send_logon(right, "Y");
    ASSERT_TRUE(is_asked(2));
    EXPECT_TRUE(acceptor.sessions().empty());
    for (std::size_t i = 0; i < 2; ++i) guard_->answers[i]({.refusal = guard_->attempts[i].comp_id == "Y" ? "" : "no"});
    EXPECT_TRUE(is_answered(right));
    EXPECT_TRUE(is_closed(wrong));
    ASSERT_EQ(acceptor.sessions().size(), 1U);
    EXPECT_EQ(acceptor.sessions()[0]->name(), "FIX.4.4:HOUSE->Y");
    // Later connections of the session are checked, too.
    RawClient again{acceptor.port()};
    send_logon(again, "Y");
    EXPECT_TRUE(is_asked(3));
}

TEST_F(LogonGuardTest, ALogonThatAFormerGuardAcceptsIsCheckedByTheNewOne) {
    Acceptor acceptor{io_, {.observer = &refusals_}};
    auto& former = acceptor.add(session("A"), house_);
    RawClient client{acceptor.port()};
    send_logon(client, "A");
    ASSERT_TRUE(is_asked(1));
    acceptor.remove(former);
    const auto stricter = std::make_shared<Asked>();
    auto other = session("A");
    other.guard = stricter;
    acceptor.add(other, house_);
    guard_->answers[0]({});
    ASSERT_TRUE(run_until(io_, [&] { return stricter->attempts.size() == 1; }));
    EXPECT_EQ(acceptor.connected(), 0U);
    stricter->answers[0]({.refusal = "no more"});
    ASSERT_TRUE(is_closed(client));
    EXPECT_EQ(refusals_.said, std::vector<std::string>{"not admitted|no more"});
    EXPECT_EQ(house_.logons, 0);
}

TEST_F(LogonGuardTest, ALaterLogonOfAConnectionIsOfTheSameUserAndKeepsThePassword) {
    const auto logon = [](std::string_view credentials) {
        return message("FIX.4.4", "A", 1, "A", "98=0|108=30|141=Y|" + std::string{credentials});
    };
    const std::string same = "553=me|554=changed since|";
    for (const std::string later :
         {"553=you|554=open sesame|", "554=open sesame|", "553=me|554=open sesame|925=new|"}) {
        Acceptor acceptor{io_, {.observer = &refusals_}};
        auto options = session("A");
        options.config.validation.message_fields_are_known = false;  // NewPassword is a field of FIXT 1.1
        auto& handle = acceptor.add(options, house_);
        guard_->attempts.clear();
        guard_->answers.clear();
        RawClient client{acceptor.port()};
        send_logon(client, "A");
        ASSERT_TRUE(is_asked(1));
        guard_->answers[0]({});
        ASSERT_TRUE(is_answered(client));
        client.send(logon(same));
        ASSERT_TRUE(
            run_until(io_, [&] { return handle.status().next_target == 2 && handle.status().next_sender == 2; }));
        EXPECT_EQ(guard_->attempts.size(), 1U);
        client.send(logon(later));
        ASSERT_TRUE(run_until(io_, [&] { return handle.status().state != fix::Session::State::active; })) << later;
        EXPECT_EQ(client.received().find("1409="), std::string::npos);
        EXPECT_EQ(guard_->attempts.size(), 1U);
    }
}

TEST_F(LogonGuardTest, ANewGuardLearnsThatTheFormerOneHasChangedThePassword) {
    Acceptor acceptor{io_, {.observer = &refusals_}};
    const auto& former = acceptor.add(session("A"), house_);
    RawClient client{acceptor.port()};
    client.send(message("FIX.4.4", "A", 1, "A", "98=0|108=30|553=me|554=old|925=new|"));
    ASSERT_TRUE(is_asked(1));
    EXPECT_FALSE(guard_->attempts[0].password_changed);
    const auto first = guard_;
    guard_ = std::make_shared<Asked>();
    acceptor.remove(former);
    auto next = session("A");
    next.config.validation.message_fields_are_known = false;  // FIX 4.4 has no NewPassword
    acceptor.add(next, house_);
    first->answers[0]({.password_changed = true});
    ASSERT_TRUE(is_asked(1));
    EXPECT_TRUE(guard_->attempts[0].password_changed);
    EXPECT_EQ(guard_->attempts[0].password, "old");
    EXPECT_EQ(guard_->attempts[0].new_password, "new");
    guard_->answers[0]({});
    EXPECT_TRUE(is_answered(client));
}

TEST_F(LogonGuardTest, ALogonWithACredentialTwiceIsNotShownToIt) {
    Acceptor acceptor{io_, {.observer = &refusals_}};
    acceptor.add(session("A"), house_);
    for (const std::string twice : {"553=a|553=b|", "554=a|554=b|", "554=a|925=b|925=c|"}) {
        RawClient client{acceptor.port()};
        client.send(message("FIX.4.4", "A", 1, "A", "98=0|108=30|" + twice));
        ASSERT_TRUE(is_closed(client));
        EXPECT_EQ(client.received(), "");
    }
    EXPECT_TRUE(guard_->attempts.empty());
    EXPECT_EQ(refusals_.said, std::vector<std::string>(3, "Logon refused|the field is there twice"));
}

TEST_F(LogonGuardTest, AChangedPasswordIsConfirmedInTheReplyToItsLogonOnly) {
    const auto with_status = fix::Dictionary::session_level(fix::Version::fixt11);
    for (const bool has_field : {true, false}) {
        Acceptor acceptor{io_, {.observer = &refusals_}};
        auto options = session("A");
        if (has_field) {
            options.config.version = fix::Version::fixt11;
            options.config.default_appl_ver_id = "9";
            options.dictionary = &with_status;
        }
        acceptor.add(options, house_);
        guard_->attempts.clear();
        guard_->answers.clear();
        for (const bool changed : {true, false}) {
            RawClient client{acceptor.port()};
            client.send(has_field ? message("FIXT.1.1", "A", 1, "A", "98=0|108=30|141=Y|1137=9|")
                                  : message("FIX.4.4", "A", 1, "A", "98=0|108=30|141=Y|"));
            ASSERT_TRUE(run_until(io_, [&] { return !guard_->answers.empty(); }));
            guard_->answers[0]({.password_changed = changed});
            guard_->answers.clear();
            ASSERT_TRUE(is_answered(client));
            EXPECT_EQ(client.received().contains("\x01"
                                                 "1409=1\x01"),
                      has_field && changed);
        }
    }
}

TEST_F(LogonGuardTest, AnAnswerThatComesTooLateIsForgotten) {
    LogonGuard::Answer late;
    {
        Acceptor acceptor{io_, {.first_message_timeout = std::chrono::milliseconds{1'500}, .observer = &refusals_}};
        acceptor.add(session("A"), house_);
        RawClient waits{acceptor.port()};
        send_logon(waits, "A");
        ASSERT_TRUE(is_asked(1));
        ASSERT_TRUE(is_closed(waits));
        EXPECT_EQ(refusals_.said, std::vector<std::string>{"not admitted|no answer in time"});
        guard_->answers[0]({});
        for (int i = 0; i < 20; ++i) io_.poll(std::chrono::milliseconds{1});
        EXPECT_EQ(acceptor.connected(), 0U);
        RawClient last{acceptor.port()};
        send_logon(last, "A");
        ASSERT_TRUE(is_asked(2));
        late = guard_->answers[1];
    }
    late({});  // The acceptor no longer exists.
    for (int i = 0; i < 5; ++i) io_.poll(std::chrono::milliseconds{1});
    EXPECT_EQ(house_.logons, 0);
}

TEST_F(LogonGuardTest, AConnectionThatEndedMeanwhileLeavesTheSessionFree) {
    Acceptor acceptor{io_, {.observer = &refusals_}};
    acceptor.add(session("A"), house_);
    {
        RawClient gone{acceptor.port()};
        send_logon(gone, "A");
        ASSERT_TRUE(is_asked(1));
    }
    guard_->answers[0]({});
    RawClient next{acceptor.port()};
    send_logon(next, "A", 2);
    ASSERT_TRUE(is_asked(2));
    guard_->answers[1]({});
    EXPECT_TRUE(is_answered(next));
}

TEST_F(LogonGuardTest, AGuardOnAnotherThreadAcceptsLogonsOfSessionsOnTwoThreads) {
    IoThread other;
    Counterparty there;
    io_.start();
    other.start();
    {
        Acceptor acceptor{io_, {}};
        std::vector<std::thread> deciding;
        class Elsewhere final : public LogonGuard {
        public:
            explicit Elsewhere(std::vector<std::thread>& threads) : threads_(&threads) {}
            void check(LogonAttempt attempt, Answer answer) override {
                static_cast<void>(attempt);
                threads_->emplace_back([answer = std::move(answer)] { answer({}); });
            }

        private:
            std::vector<std::thread>* threads_;
        };
        const auto guard = std::make_shared<Elsewhere>(deciding);
        std::vector<RawClient> clients;
        for (int i = 0; i < 8; ++i) {
            auto one = session("C" + std::to_string(i));
            one.guard = guard;
            const bool here = i % 2 == 0;
            acceptor.add(one, here ? house_ : there, here ? &io_ : &other);
        }
        for (int i = 0; i < 8; ++i) {
            clients.emplace_back(acceptor.port());
            send_logon(clients.back(), "C" + std::to_string(i));
        }
        const auto until = core::monotonic_nanos() + 20'000'000'000;
        for (auto& client : clients) {
            while (client.received().find("35=A") == std::string::npos && core::monotonic_nanos() < until) {
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            }
            EXPECT_NE(client.received().find("35=A"), std::string::npos);
        }
        for (auto& thread : deciding) thread.join();
    }
    io_.stop();
    other.stop();
}

TEST_F(LogonGuardTest, AGuardGetsTheNamesOfTheCertificate) {
    const test::Certificates made;
    if (!tls::available() || !made.made()) GTEST_SKIP() << "no TLS, or the program openssl is missing";
    const tls::Options tls{.certificate = made.certificate("ours-server"),
                           .key = made.key("ours-server"),
                           .authorities = made.certificate("ours")};
    Acceptor acceptor{io_, {.tls = tls}};
    acceptor.add(session("DESK"), house_);
    Counterparty desk;
    Initiator initiator{io_};
    auto options = session("HOUSE");
    options.config.sender_comp_id = "DESK";
    initiator.add(options,
                  {.hosts = {{"127.0.0.1", acceptor.port()}},
                   .tls = tls::Options{.certificate = made.certificate("ours-client"),
                                       .key = made.key("ours-client"),
                                       .authorities = made.certificate("ours"),
                                       .server_name = test::Certificates::kServerName}},
                  desk);
    ASSERT_TRUE(is_asked(1));
    EXPECT_EQ(guard_->attempts[0].certificate_names,
              (std::vector<std::string>{"CN=party", "DNS:house.example", "URI:urn:example:ours-client",
                                        "email:client@house.example"}));
    guard_->answers[0]({});
    EXPECT_TRUE(run_until(io_, [&] { return desk.logons == 1; }));
}

TEST_F(LogonGuardTest, AClientThatResumesATlsSessionShowsItsCertificateAsBefore) {
    const test::Certificates made;
    if (!tls::available() || !made.made()) GTEST_SKIP() << "no TLS, or the program openssl is missing";
    Acceptor acceptor{io_,
                      {.tls = tls::Options{.certificate = made.certificate("ours-server"),
                                           .key = made.key("ours-server"),
                                           .authorities = made.certificate("ours")}}};
    acceptor.add(session("A"), house_);
    for (const std::string version : {"-tls1_2", "-tls1_3"}) {
        const auto kept = ::testing::TempDir() + test::scratch_name("tls-session");
        const auto said = kept + ".said";
        for (const std::string use : {"-sess_out", "-sess_in"}) {
            guard_->attempts.clear();
            std::ostringstream command;
            command << "openssl s_client " << version << ' ' << use << " '" << kept
                    << "' -connect 127.0.0.1:" << acceptor.port() << " -cert '" << made.certificate("ours-client")
                    << "' -key '" << made.key("ours-client") << "' >'" << said << "' 2>/dev/null";
            const std::unique_ptr<std::FILE, int (*)(std::FILE*)> client{::popen(command.str().c_str(), "w"), ::pclose};
            ASSERT_NE(client, nullptr);
            const auto logon = message("FIX.4.4", "A", 1, "A", "98=0|108=30|");
            ASSERT_EQ(std::fwrite(logon.data(), 1, logon.size(), client.get()), logon.size());
            std::fflush(client.get());
            ASSERT_TRUE(is_asked(1)) << version << use;
            EXPECT_THAT(guard_->attempts[0].certificate_names, ::testing::Contains("CN=party"));
            ASSERT_TRUE(run_until(io_, [&] { return std::filesystem::exists(kept) && !text_in(kept).empty(); }));
        }
        EXPECT_THAT(text_in(said), ::testing::HasSubstr("Reused, TLS")) << version;
        std::filesystem::remove(kept);
        std::filesystem::remove(said);
    }
}

}  // namespace
}  // namespace millpond::engine
