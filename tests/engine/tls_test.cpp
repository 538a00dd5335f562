#include <millpond/engine/tls.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <unistd.h>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/raw_client.hpp"

namespace millpond::engine {
namespace {

constexpr Reconnect kSoon{.first = std::chrono::milliseconds{5}, .longest = std::chrono::milliseconds{20}};

/// Two authorities, each with a certificate for a server named house.example and one for a client, made by openssl.
class Certificates {
public:
    Certificates() : folder_(std::filesystem::temp_directory_path() / ("millpond_tls_" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
        for (const auto* authority : {"ours", "others"}) {
            made_ = made_ && openssl(
                                 "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
                                 "/CN=authority -keyout {}.key -out {}.pem",
                                 authority);
            for (const auto* who : {"server", "client"}) {
                const auto name = std::string{authority} + "-" + who;
                std::ofstream{folder_ / (name + ".ext")} << "subjectAltName=DNS:house.example\n";
                made_ = made_ && openssl(
                                     "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=party "
                                     "-keyout {}.key -out {}.csr",
                                     name);
                made_ = made_ && openssl("x509 -req -days 2 -in {}.csr -CA " + std::string{authority} + ".pem -CAkey " +
                                             authority + ".key -CAcreateserial -extfile {}.ext -out {}.pem",
                                         name);
            }
        }
    }
    ~Certificates() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    Certificates(const Certificates&) = delete;
    Certificates& operator=(const Certificates&) = delete;

    [[nodiscard]] bool made() const { return made_; }
    [[nodiscard]] TlsOptions options(const std::string& who, const std::string& authority) const {
        return {.certificate = folder_ / (who + ".pem"),
                .key = folder_ / (who + ".key"),
                .authorities = folder_ / (authority + ".pem"),
                .server_name = "house.example"};
    }

private:
    [[nodiscard]] bool openssl(std::string arguments, const std::string& name) const {
        for (auto at = arguments.find("{}"); at != std::string::npos; at = arguments.find("{}")) {
            arguments.replace(at, 2, name);
        }
        const auto command = "cd '" + folder_.string() + "' && openssl " + arguments + " >/dev/null 2>&1";
        return std::system(command.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe): no other thread runs
    }

    std::filesystem::path folder_;
    bool made_{true};
};

class TlsTest : public testing::Test {
protected:
    static const Certificates& certificates() {
        static const Certificates kMade;
        return kMade;
    }
    void SetUp() override {
        if (!tls_available()) GTEST_SKIP() << "this build has no TLS: libssl-dev was missing";
        if (!certificates().made()) GTEST_SKIP() << "the program openssl is missing";
    }
    [[nodiscard]] SessionOptions session(std::string sender, std::string target) const {
        return {.config = {.sender_comp_id = std::move(sender), .target_comp_id = std::move(target)},
                .dictionary = &dictionary_};
    }
    /// Whether the two find together.
    [[nodiscard]] bool meet(const TlsOptions& server, const std::optional<TlsOptions>& client) {
        Acceptor acceptor{io_, {.tls = server}};
        acceptor.add(session("HOUSE", "DESK"), house_);
        Initiator initiator{io_};
        initiator.add(session("DESK", "HOUSE"),
                      {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = kSoon, .tls = client}, desk_);
        const auto tries = [&] { return acceptor.tallies().handshakes_failed.read() + desk_.closed.size(); };
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
    Acceptor acceptor{io_, {.tls = made.options("ours-server", "ours")}};
    acceptor.add(session("HOUSE", "DESK"), house_);
    Initiator initiator{io_};
    auto& handle = initiator.add(
        session("DESK", "HOUSE"),
        {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = kSoon, .tls = made.options("ours-client", "ours")},
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

TEST_F(TlsTest, AClientOfAnotherAuthorityIsNotLetIn) {
    const auto& made = certificates();
    auto client = made.options("others-client", "ours");
    EXPECT_FALSE(meet(made.options("ours-server", "ours"), client));
    EXPECT_EQ(house_.logons, 0);
}

TEST_F(TlsTest, AClientWithoutACertificateIsLetInOnlyWhereNoneIsAskedFor) {
    const auto& made = certificates();
    auto client = made.options("ours-client", "ours");
    client.certificate.clear();
    EXPECT_FALSE(meet(made.options("ours-server", "ours"), client));
    auto server = made.options("ours-server", "ours");
    server.verify_peer = false;
    EXPECT_TRUE(meet(server, client));
}

TEST_F(TlsTest, AServerOfAnotherAuthorityIsNotTrusted) {
    const auto& made = certificates();
    EXPECT_FALSE(meet(made.options("others-server", "ours"), made.options("ours-client", "ours")));
}

TEST_F(TlsTest, AServerOfAnotherNameIsNotTrusted) {
    const auto& made = certificates();
    auto client = made.options("ours-client", "ours");
    client.server_name = "elsewhere.example";
    EXPECT_FALSE(meet(made.options("ours-server", "ours"), client));
}

TEST_F(TlsTest, APlainClientIsTurnedAway) {
    Acceptor acceptor{io_, {.tls = certificates().options("ours-server", "ours")}};
    acceptor.add(session("HOUSE", "DESK"), house_);
    RawClient client{acceptor.port()};
    client.send(
        "8=FIX.4.4\x01"
        "9=5\x01"
        "35=A\x01"
        "10=000\x01");
    EXPECT_TRUE(run_until(io_, [&] { return client.receive(), client.over(); }));
    EXPECT_EQ(acceptor.tallies().handshakes_failed.read(), 1U);
}

TEST_F(TlsTest, AFileThatIsNoneIsNamed) {
    try {
        Acceptor{io_, {.tls = TlsOptions{.certificate = "no/such.pem", .key = "no/such.key"}}};
        FAIL() << "no certificate, no error";
    } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string{error.what()}.find("no/such.pem"), std::string::npos);
    }
}

}  // namespace
}  // namespace millpond::engine
