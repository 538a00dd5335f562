#include <millpond/tls/context.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/engine/io/tls_transport.hpp"
#include "tests/engine/engine_pair.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/certificates.hpp"

namespace millpond::engine {
namespace {

constexpr Reconnect kQuickly{.first = std::chrono::milliseconds{5}, .max = std::chrono::milliseconds{20}};

[[nodiscard]] tls::Options options_of(const test::Certificates& made, const std::string& who,
                                      const std::string& authority) {
    return {.certificate = made.certificate(who),
            .key = made.key(who),
            .authorities = made.certificate(authority),
            .server_name = test::Certificates::kServerName};
}

class TlsTest : public testing::Test {
protected:
    static const test::Certificates& certificates() {
        static const test::Certificates kMade;
        return kMade;
    }
    void SetUp() override {
        if (!tls::available()) GTEST_SKIP() << "this build has no TLS: libssl-dev was missing";
        if (!certificates().made()) GTEST_SKIP() << "the program openssl is missing";
    }
    [[nodiscard]] SessionOptions session(std::string sender, std::string target) const {
        return {.config = {.sender_comp_id = std::move(sender), .target_comp_id = std::move(target)},
                .dictionary = &dictionary_};
    }
    /// Whether the two establish a session.
    [[nodiscard]] bool meet(const tls::Options& server, const std::optional<tls::Options>& client) {
        Acceptor acceptor{io_, {.tls = server}};
        acceptor.add(session("HOUSE", "DESK"), house_);
        Initiator initiator{io_};
        initiator.add(session("DESK", "HOUSE"),
                      {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = kQuickly, .tls = client}, desk_);
        const auto tries = [&] { return acceptor.counters().handshakes_failed.read() + desk_.closed.size(); };
        EXPECT_TRUE(run_until(io_, [&] { return desk_.logons != 0 || tries() >= 2; }));
        return desk_.logons != 0;
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty house_;
    Counterparty desk_;
    IoThread io_;
};

TEST_F(TlsTest, BothSidesShowCertificatesAndOrdersAndLongBatchesArrive) {
    const auto& made = certificates();
    Acceptor acceptor{io_, {.tls = options_of(made, "ours-server", "ours")}};
    acceptor.add(session("HOUSE", "DESK"), house_);
    Initiator initiator{io_};
    auto& handle = initiator.add(session("DESK", "HOUSE"),
                                 {.hosts = {{"127.0.0.1", acceptor.port()}},
                                  .reconnect = kQuickly,
                                  .tls = options_of(made, "ours-client", "ours")},
                                 desk_);
    memory::MessagePool<Order> pool{1024};
    const std::string text(8'000, 'x');
    AsyncSender<Order, OrderEncoder> sender{handle, pool};
    for (std::uint64_t id = 1; id <= 500; ++id) {
        ASSERT_EQ(sender.try_send(sender.try_make(Order{id, 1, text})), Handed::queued);
    }
    ASSERT_TRUE(run_until(io_, [&] { return house_.orders.size() == 500; }));
    for (std::uint64_t id = 1; id <= 500; ++id) EXPECT_EQ(house_.orders[id - 1], id);
    EXPECT_EQ(desk_.logons, 1);
}

TEST_F(TlsTest, DrainingDoesNotWaitForAHandshake) {
    IoThread stuck;
    const Acceptor acceptor{stuck, {.tls = options_of(certificates(), "ours-server", "ours")}};
    Initiator initiator{io_};
    auto& handle = initiator.add(session("DESK", "HOUSE"),
                                 {.hosts = {{"127.0.0.1", acceptor.port()}},
                                  .reconnect = kQuickly,
                                  .tls = options_of(certificates(), "ours-client", "ours")},
                                 desk_);
    ASSERT_TRUE(run_until(io_, [&] { return handle.status().next_sender == 2; }));  // the Logon is in the queue
    EXPECT_TRUE(io_.drain(std::chrono::hours{1}));
    EXPECT_EQ(desk_.closed, std::vector{Closed::shut_down});
}

TEST_F(TlsTest, OnceWarmTheHeapIsTouchedByOpenSslOnlyTwiceARecord) {
    const auto& made = certificates();
    Acceptor acceptor{io_, {.tls = options_of(made, "ours-server", "ours")}};
    acceptor.add(session("HOUSE", "DESK"), house_);
    house_.orders.reserve(4096);
    desk_.orders.reserve(4096);
    house_.on_order = [](SessionLink& link, const fix::Message& order) {
        const auto id = order.unsigned_integer(fix::tag::kClOrdId).value_or(0);
        static_cast<void>(link.send("8", [&](fix::Writer& writer) { writer.add<fix::tag::kClOrdId>(id); }));
    };
    Initiator initiator{io_};
    auto& handle = initiator.add(session("DESK", "HOUSE"),
                                 {.hosts = {{"127.0.0.1", acceptor.port()}},
                                  .reconnect = kQuickly,
                                  .tls = options_of(made, "ours-client", "ours")},
                                 desk_);
    memory::MessagePool<Order> pool{64};
    AsyncSender<Order, OrderEncoder> sender{handle, pool};
    const auto trade = [&](std::uint64_t orders) {
        for (const auto end = desk_.orders.size() + orders; desk_.orders.size() < end;) {
            const auto next = desk_.orders.size() + 1;
            if (sender.try_send(sender.try_make(Order{next, 1, {}})) != Handed::queued) return false;
            if (!run_until(io_, [&] { return desk_.orders.size() == next; })) return false;
        }
        return true;
    };
    ASSERT_TRUE(trade(500));
    const test::AllocationCounter heap;
    const bool right = trade(1'000);
    const auto allocations = heap.allocations();
    EXPECT_TRUE(right);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // Sanitizers allocate.
    // An order and its answer, each written and read once: the blocks that OpenSSL 3.0 allocates for each record.
    EXPECT_LE(allocations, 2U * 4U * 1'000U);
#else
    static_cast<void>(allocations);
#endif
}

TEST_F(TlsTest, AClientOfAnotherAuthorityIsNotLetIn) {
    const auto& made = certificates();
    auto client = options_of(made, "others-client", "ours");
    EXPECT_FALSE(meet(options_of(made, "ours-server", "ours"), client));
    EXPECT_EQ(house_.logons, 0);
}

TEST_F(TlsTest, AClientWithoutACertificateIsAcceptedOnlyIfNoneIsRequired) {
    const auto& made = certificates();
    auto client = options_of(made, "ours-client", "ours");
    client.certificate.clear();
    EXPECT_FALSE(meet(options_of(made, "ours-server", "ours"), client));
    auto server = options_of(made, "ours-server", "ours");
    server.verify_peer = false;
    EXPECT_TRUE(meet(server, client));
}

TEST_F(TlsTest, AKeyThatAnyUserMayReadIsRefusedByAcceptorsAndInitiators) {
    const auto& made = certificates();
    auto options = options_of(made, "ours-client", "ours");
    options.key = made.key("ours-client") + ".open";
    std::filesystem::copy_file(made.key("ours-client"), options.key);
    std::filesystem::permissions(options.key, std::filesystem::perms{0644});
    const auto refusal = [](auto&& start) {
        try {
            start();
        } catch (const std::runtime_error& error) {
            return std::string{error.what()};
        }
        return std::string{"accepted"};
    };
    const auto expected = "chmod o-rw '" + options.key + "'";
    EXPECT_THAT(refusal([&] { const Acceptor acceptor{io_, {.tls = options}}; }), testing::HasSubstr(expected));
    Initiator initiator{io_};
    EXPECT_THAT(
        refusal([&] { initiator.add(session("DESK", "HOUSE"), {.hosts = {{"127.0.0.1", 1}}, .tls = options}, desk_); }),
        testing::HasSubstr(expected));
}

TEST_F(TlsTest, AServerOfAnotherAuthorityIsNotTrusted) {
    const auto& made = certificates();
    EXPECT_FALSE(meet(options_of(made, "others-server", "ours"), options_of(made, "ours-client", "ours")));
}

TEST_F(TlsTest, AServerOfAnotherNameIsNotTrusted) {
    const auto& made = certificates();
    auto client = options_of(made, "ours-client", "ours");
    client.server_name = "elsewhere.example";
    EXPECT_FALSE(meet(options_of(made, "ours-server", "ours"), client));
}

TEST_F(TlsTest, APlainClientIsTurnedAway) {
    Acceptor acceptor{io_, {.tls = options_of(certificates(), "ours-server", "ours")}};
    acceptor.add(session("HOUSE", "DESK"), house_);
    RawClient client{acceptor.port()};
    client.send(
        "8=FIX.4.4\x01"
        "9=5\x01"
        "35=A\x01"
        "10=000\x01");
    EXPECT_TRUE(run_until(io_, [&] { return client.receive(), client.over(); }));
    EXPECT_EQ(acceptor.counters().handshakes_failed.read(), 1U);
}

struct Told final : Counterparty, AcceptorObserver {
    void on_refused(SessionLink&, const Refusal& why) override { note(why); }
    void on_refused(const Refusal& why) override { note(why); }
    void note(const Refusal& why) { said.push_back(std::string{name(why.reason)} + "|" + std::string{why.detail}); }
    std::vector<std::string> said;
};

TEST_F(TlsTest, EachFailedHandshakeIsReportedWithItsReasonOnEitherSide) {
    const auto& made = certificates();
    Told desk;
    Told acceptor_says;
    const auto connect = [&](std::uint16_t port, const tls::Options& options, std::int64_t logon_timeout_ns) {
        desk.said.clear();
        desk.closed.clear();
        Initiator initiator{io_};
        auto settings = session("DESK", "HOUSE");
        settings.config.logon_timeout_ns = logon_timeout_ns;
        initiator.add(std::move(settings),
                      {.hosts = {{"127.0.0.1", port}}, .reconnect = {.first = std::chrono::hours{1}}, .tls = options},
                      desk);
        EXPECT_TRUE(run_until(io_, [&] { return !desk.closed.empty(); }));
        EXPECT_EQ(desk.closed, std::vector<Closed>{Closed::tls_failed});
        return desk.said;
    };
    constexpr std::int64_t kLong = 60'000'000'000;
    constexpr std::int64_t kShort = 20'000'000;
    const auto ours = options_of(made, "ours-client", "ours");
    {
        Acceptor acceptor{io_, {.observer = &acceptor_says, .tls = options_of(made, "others-server", "ours")}};
        acceptor.add(session("HOUSE", "DESK"), house_);
        const auto said = connect(acceptor.port(), ours, kLong);
        ASSERT_EQ(said.size(), 1U);
        EXPECT_TRUE(said[0].starts_with("TLS handshake failed|")) << said[0];
        EXPECT_NE(said[0].find("certificate"), std::string::npos) << said[0];
        ASSERT_TRUE(run_until(io_, [&] { return !acceptor_says.said.empty(); }));
        EXPECT_TRUE(acceptor_says.said[0].starts_with("TLS handshake failed|")) << acceptor_says.said[0];
    }
    {
        // With TLS 1.3 the server's alert arrives after the client's handshake is complete.
        Acceptor acceptor{io_, {.tls = options_of(made, "ours-server", "ours")}};
        acceptor.add(session("HOUSE", "DESK"), house_);
        auto without = ours;
        without.certificate.clear();
        without.verify_peer = false;
        desk.said.clear();
        Initiator initiator{io_};
        initiator.add(
            session("DESK", "HOUSE"),
            {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = {.first = std::chrono::hours{1}}, .tls = without},
            desk);
        ASSERT_TRUE(run_until(io_, [&] { return !desk.said.empty(); }));
        EXPECT_NE(desk.said[0].find("alert certificate required"), std::string::npos) << desk.said[0];
    }
    // A server that never answers: the Logon's timeout ends before the handshake is complete.
    Acceptor plain{io_, {}};
    EXPECT_EQ(connect(plain.port(), ours, kShort).back().substr(0, 21), "TLS handshake failed|");
    acceptor_says.said.clear();
    Acceptor silent{io_,
                    {.first_message_timeout = std::chrono::milliseconds{20},
                     .observer = &acceptor_says,
                     .tls = options_of(made, "ours-server", "ours")}};
    const RawClient idle{silent.port()};
    ASSERT_TRUE(run_until(io_, [&] { return !acceptor_says.said.empty(); }));
    EXPECT_EQ(acceptor_says.said, std::vector<std::string>{"TLS handshake failed|timed out"});
}

TEST_F(TlsTest, AWriteThatOvertakesTheAlertStillReportsTheReason) {
    const auto& made = certificates();
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    const tls::Context servers{tls::Role::server, options_of(made, "ours-server", "ours")};
    auto without = options_of(made, "ours-client", "ours");
    without.certificate.clear();
    const tls::Context clients{tls::Role::client, without};
    auto server = make_tls_transport(servers, core::Descriptor{ends[0]}, {});
    auto client = make_tls_transport(clients, core::Descriptor{ends[1]}, test::Certificates::kServerName);
    std::array<std::byte, 256> buffer;
    for (int turn = 0; turn < 2; ++turn) {
        EXPECT_FALSE(client->receive(buffer).over);
        static_cast<void>(server->receive(buffer));
    }
    server.reset();
    const std::string_view hello{"hello"};
    EXPECT_TRUE(client->send({&hello, 1}).over);
    EXPECT_TRUE(client->failed_to_begin());
    EXPECT_NE(client->failure().find("alert certificate required"), std::string_view::npos) << client->failure();
}

TEST_F(TlsTest, AFileThatIsNoneIsNamed) {
    try {
        Acceptor{io_, {.tls = tls::Options{.certificate = "no/such.pem", .key = "no/such.key"}}};
        FAIL() << "no certificate, no error";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string{error.what()}.find("no/such.pem"), std::string::npos);
    }
}

}  // namespace
}  // namespace millpond::engine
