// Times of reconnects. They are only compared with lower bounds: a reconnect is never too early.

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/engine/engine_pair.hpp"

namespace millpond::engine {
namespace {

/// A listening port of this machine with a backlog of this many connections that are not accepted.
class Listening {
public:
    explicit Listening(int backlog) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        if (::bind(socket_, any, size) != 0 || ::listen(socket_, backlog) != 0 ||
            ::getsockname(socket_, any, &size) != 0) {
            throw std::runtime_error("no port to listen on");
        }
        port_ = ntohs(address.sin_port);
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    ~Listening() {
        for (const auto socket : fillers_) ::close(socket);
        ::close(socket_);
    }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    /// Disconnects a peer. Returns false if none has connected.
    [[nodiscard]] bool throw_out() const {
        const auto peer = ::accept(socket_, nullptr, nullptr);
        if (peer < 0) return false;
        ::close(peer);
        return true;
    }
    /// Fills the backlog: the next peer gets no answer.
    void fill() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port_);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (int i = 0; i < 4; ++i) {
            fillers_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
            static_cast<void>(::connect(fillers_.back(), reinterpret_cast<sockaddr*>(&address), sizeof address));
        }
    }

private:
    int socket_;
    std::uint16_t port_{0};
    std::vector<int> fillers_;
};

class ReconnectTest : public testing::Test {
protected:
    [[nodiscard]] SessionOptions session(std::string sender, std::string target) const {
        return {.config = {.sender_comp_id = std::move(sender), .target_comp_id = std::move(target)},
                .dictionary = &dictionary_};
    }
    /// Runs `io_` until a peer has connected to `host` and was disconnected. Returns the milliseconds since the start
    /// of the previous call, or -1 if no peer connected.
    [[nodiscard]] double since_the_last_attempt(const Listening& host) {
        const auto begin = std::exchange(begun_ns_, core::monotonic_nanos());
        const bool came = run_until(io_, [&] {
            const bool thrown_out = host.throw_out();
            if (!thrown_out) begun_ns_ = core::monotonic_nanos();
            return thrown_out;
        });
        return came ? static_cast<double>(core::monotonic_nanos() - begin) / 1e6 : -1;
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty house_;
    Counterparty desk_;
    IoThread io_;
    std::int64_t begun_ns_{0};  // not after the last attempt
};

TEST_F(ReconnectTest, TheWaitDoublesWithEachAttemptThatFails) {
    const Listening host{8};
    Initiator initiator{io_};
    initiator.add(session("DESK", "HOUSE"),
                  {.hosts = {{"127.0.0.1", host.port()}},
                   .reconnect = {.first = std::chrono::milliseconds{15}, .max = std::chrono::hours{1}, .jitter = 0}},
                  desk_);
    ASSERT_GE(since_the_last_attempt(host), 0);
    for (const double least : {15, 30, 60, 120}) EXPECT_GE(since_the_last_attempt(host), least);
}

TEST_F(ReconnectTest, TheWaitIsNeverLongerThanTheLongest) {
    const Listening host{8};
    Initiator initiator{io_};
    initiator.add(session("DESK", "HOUSE"),
                  {.hosts = {{"127.0.0.1", host.port()}},
                   .reconnect = {.first = std::chrono::milliseconds{1}, .max = std::chrono::milliseconds{4}}},
                  desk_);
    // Doubled twenty times it would be a quarter of an hour.
    for (int attempt = 0; attempt < 20; ++attempt) ASSERT_GE(since_the_last_attempt(host), 0);
}

TEST_F(ReconnectTest, AHostThatDoesNotAnswerIsGivenUpAfterTheConnectTimeout) {
    Listening silent{0};
    silent.fill();
    Acceptor acceptor{io_, {}};
    acceptor.add(session("HOUSE", "DESK"), house_);
    Initiator initiator{io_};
    const auto begin = core::monotonic_nanos();
    auto& handle =
        initiator.add(session("DESK", "HOUSE"),
                      {.hosts = {{"127.0.0.1", silent.port()}, {"127.0.0.1", acceptor.port()}},
                       .reconnect = {.first = std::chrono::hours{1}, .connect_timeout = std::chrono::milliseconds{50}}},
                      desk_);
    ASSERT_TRUE(run_until(io_, [&] { return desk_.logons == 1; }));
    EXPECT_GE(core::monotonic_nanos() - begin, 50'000'000);
    EXPECT_EQ(handle.status().peer, "127.0.0.1:" + std::to_string(acceptor.port()));
}

TEST_F(ReconnectTest, AJitterThatIsNotAFractionIsRefusedByName) {
    Initiator initiator{io_};
    try {
        initiator.add(session("DESK", "HOUSE"), {.hosts = {{"127.0.0.1", 1}}, .reconnect = {.jitter = 1}}, desk_);
        FAIL() << "accepted";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string{error.what()}.find("jitter of 1.0"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace millpond::engine
