// Sessions through the proxies microsocks and tinyproxy, which connect from different addresses.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/engine/engine_pair.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::engine {
namespace {

constexpr Reconnect kSoon{.first = std::chrono::milliseconds{20}, .max = std::chrono::milliseconds{50}};

bool is_installed(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;  // NOLINT(concurrency-mt-unsafe)
}

/// A free port.
std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
    ::close(socket);
    return ntohs(address.sin_port);
}

int run_program(const std::vector<std::string>& arguments) {
    std::vector<char*> pointers;
    for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    ::execvp(pointers.front(), pointers.data());
    return 127;
}

/// Records errors of connecting, and the addresses that peers connect from.
class WatchingParty final : public Counterparty {
public:
    void on_logon(SessionLink& link) override {
        Counterparty::on_logon(link);
        peer = link.peer().host();
    }
    void on_refused(SessionLink&, const Refusal& why) override { refusals.emplace_back(why.detail); }
    [[nodiscard]] bool was_refused(const std::string& part) const {
        return std::ranges::any_of(refusals, [&](const auto& why) { return why.find(part) != std::string::npos; });
    }
    std::string peer;
    std::vector<std::string> refusals;
};

tls::Options server_tls(const test::Certificates& certificates) {
    return {.certificate = certificates.certificate("ours-server"),
            .key = certificates.key("ours-server"),
            .verify_peer = false};
}
tls::Options client_tls(const test::Certificates& certificates) {
    return {.authorities = certificates.certificate("ours"), .server_name = test::Certificates::kServerName};
}

class ProxyTest : public testing::Test {
protected:
    void listen(const std::optional<tls::Options>& tls = {}) {
        acceptor_.emplace(io_, Acceptor::Options{.tls = tls});
        acceptor_->add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "DESK"}, .dictionary = &dictionary_},
                       house_);
    }
    void connect(Initiator::Options options) {
        options.hosts = {{host_, acceptor_->port()}};
        options.reconnect = kSoon;
        initiator_.add({.config = {.sender_comp_id = "DESK", .target_comp_id = "HOUSE"}, .dictionary = &dictionary_},
                       std::move(options), desk_);
    }
    [[nodiscard]] bool both_log_on() {
        return run_until(io_, [&] { return house_.logons == 1 && desk_.logons == 1; });
    }
    [[nodiscard]] bool desk_says(const std::string& why) {
        return run_until(io_, [&] { return desk_.was_refused(why); });
    }
    [[nodiscard]] Proxy proxy(Proxy::Kind kind, const std::string& username = "",
                              const std::string& password = "") const {
        return {.kind = kind, .host = {"127.0.0.1", port_}, .username = username, .password = password};
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    WatchingParty house_;
    WatchingParty desk_;
    IoThread io_;
    std::optional<Acceptor> acceptor_;
    Initiator initiator_{io_};
    std::string host_{"127.0.0.1"};
    const std::uint16_t port_{free_port()};
    const std::string port_text_{std::to_string(port_)};
    const std::vector<std::string> microsocks_{"microsocks", "-i", "127.0.0.1", "-p", port_text_, "-b", "127.0.0.2"};
};

TEST_F(ProxyTest, AnInitiatorConnectsFromItsLocalAddress) {
    listen();
    connect({.hosts = {}, .local_address = net::SocketAddress::parse_host("127.0.0.5")});
    ASSERT_TRUE(both_log_on());
    EXPECT_EQ(house_.peer, "127.0.0.5");
}

TEST_F(ProxyTest, ALocalAddressThatIsNotHereIsReported) {
    listen();
    connect({.hosts = {}, .local_address = net::SocketAddress::parse_host("192.0.2.1")});
    EXPECT_TRUE(desk_says("Cannot assign requested address"));
}

TEST_F(ProxyTest, ThroughSocks5ByAddress) {
    if (!is_installed("microsocks")) GTEST_SKIP() << "microsocks is missing";
    const test::ChildProcess running{[&] { return run_program(microsocks_); }};
    listen();
    connect({.hosts = {}, .proxy = proxy(Proxy::Kind::socks5)});
    ASSERT_TRUE(both_log_on());
    EXPECT_EQ(house_.peer, "127.0.0.2");
}

TEST_F(ProxyTest, ThroughSocks5WithTlsInsideByNameAndPassword) {
    if (!is_installed("microsocks")) GTEST_SKIP() << "microsocks is missing";
    const test::Certificates certificates;
    if (!tls::available() || !certificates.made()) GTEST_SKIP() << "no TLS";
    auto arguments = microsocks_;
    arguments.insert(arguments.end(), {"-u", "me", "-P", "pass"});
    const test::ChildProcess running{[&] { return run_program(arguments); }};
    host_ = "localhost";
    listen(server_tls(certificates));
    connect({.hosts = {}, .tls = client_tls(certificates), .proxy = proxy(Proxy::Kind::socks5, "me", "pass")});
    ASSERT_TRUE(both_log_on());
    EXPECT_EQ(house_.peer, "127.0.0.2");
}

TEST_F(ProxyTest, AWrongPasswordIsReported) {
    if (!is_installed("microsocks")) GTEST_SKIP() << "microsocks is missing";
    auto arguments = microsocks_;
    arguments.insert(arguments.end(), {"-u", "me", "-P", "pass"});
    const test::ChildProcess running{[&] { return run_program(arguments); }};
    listen();
    connect({.hosts = {}, .proxy = proxy(Proxy::Kind::socks5, "me", "other")});
    EXPECT_TRUE(desk_says("proxy 127.0.0.1:" + port_text_ + ": user name or password refused"));
    EXPECT_EQ(desk_.logons, 0);
}

TEST_F(ProxyTest, AProxyThatIsNotThereIsNamedAndTheInitiatorWaitsForIt) {
    if (!is_installed("microsocks")) GTEST_SKIP() << "microsocks is missing";
    listen();
    connect({.hosts = {}, .proxy = proxy(Proxy::Kind::socks5)});
    EXPECT_TRUE(desk_says("Connection refused"));
    EXPECT_EQ(house_.logons, 0);
    const test::ChildProcess running{[&] { return run_program(microsocks_); }};
    ASSERT_TRUE(both_log_on());
}

TEST_F(ProxyTest, AProxyThatDoesNotAnswerTimesOut) {
    const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(silent, 8), 0);
    listen();
    Initiator::Options options{
        .hosts = {{host_, acceptor_->port()}}, .reconnect = kSoon, .proxy = proxy(Proxy::Kind::http_connect)};
    options.reconnect.connect_timeout = std::chrono::milliseconds{50};
    initiator_.add({.config = {.sender_comp_id = "DESK", .target_comp_id = "HOUSE"}, .dictionary = &dictionary_},
                   options, desk_);
    EXPECT_TRUE(desk_says("timed out waiting for the proxy"));
    ::close(silent);
}

TEST_F(ProxyTest, ThroughHttpConnectWithTlsInside) {
    if (!is_installed("tinyproxy")) GTEST_SKIP() << "tinyproxy is missing";
    const test::Certificates certificates;
    if (!tls::available() || !certificates.made()) GTEST_SKIP() << "no TLS";
    const test::ScratchFile settings{test::scratch_name("tinyproxy.conf"), "Port " + port_text_ +
                                                                               "\nListen 127.0.0.1\nBind 127.0.0.3\n"
                                                                               "LogLevel Error\nTimeout 60\n"
                                                                               "BasicAuth me pass\n"};
    const test::ChildProcess running{[&] { return run_program({"tinyproxy", "-d", "-c", settings.path()}); }};
    listen(server_tls(certificates));
    connect({.hosts = {}, .tls = client_tls(certificates), .proxy = proxy(Proxy::Kind::http_connect, "me", "pass")});
    ASSERT_TRUE(both_log_on());
    EXPECT_EQ(house_.peer, "127.0.0.3");
}

TEST_F(ProxyTest, AnHttpProxysRefusalIsReported) {
    if (!is_installed("tinyproxy")) GTEST_SKIP() << "tinyproxy is missing";
    const test::ScratchFile settings{test::scratch_name("tinyproxy.conf"),
                                     "Port " + port_text_ + "\nListen 127.0.0.1\nLogLevel Error\nBasicAuth me pass\n"};
    const test::ChildProcess running{[&] { return run_program({"tinyproxy", "-d", "-c", settings.path()}); }};
    listen();
    connect({.hosts = {}, .proxy = proxy(Proxy::Kind::http_connect)});
    EXPECT_TRUE(desk_says(" 407 "));
    EXPECT_EQ(house_.logons, 0);
}

}  // namespace
}  // namespace millpond::engine
