// Measured:     from before the send call of a bbo28 datagram on loopback until a TCP client has read its JSON line.
//               The client sleeps in its read call; sender and client are one thread. The reference sleeps on
//               the client's processor, so that no processor has to be woken by another: on a virtual machine that is
//               the dearest part. It is no limit: it sleeps. A bare path that spins on the other processor has to wake
//               the client's with its own send call; the gateway's receive thread spins there too, but a second thread
//               sends, which may run on the client's processor.
// Not measured: a burst, several clients, connecting.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/endian.hpp>

#include "bench/gateway/one_way.hpp"
#include "bench/gateway/tcp_socket.hpp"
#include "bench/gateway/wire_paths.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/rivals/asio_chain.hpp"

namespace {

using namespace millpond;

// About as long as our line.
std::string json_line(double bid, double ask) {
    std::array<char, 512> line;
    const int size = std::snprintf(
        line.data(), line.size(),
        R"({"type":"quote","symbol":"MILLPOND","timestamp":1580398200000000000,"exchange_timestamp":0,"sequence":1,)"
        R"("bid":{"price":%.4f,"shares":200},"ask":{"price":%.4f,"shares":300},)"
        R"("spread":{"price":%.4f,"percent":0.1000},"incomplete":false})"
        "\n",
        bid, ask, ask - bid);
    return {line.data(), static_cast<std::size_t>(size)};
}

enum class Waits : std::uint8_t { spinning_apart, sleeping_beside_client, sleeping_anywhere };

// One thread: a receive call, the price patched into a finished line, a blocking send call.
template <Waits kWaits>
class BarePath {
public:
    BarePath() : udp_(socket(AF_INET, SOCK_DGRAM, 0)) {
        auto address = bench::TcpSocket::loopback(0);
        socklen_t length = sizeof address;
        if (udp_ < 0 || bind(udp_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
            getsockname(udp_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
            throw std::runtime_error("the bare path has no socket");
        }
        udp_port_ = ntohs(address.sin_port);
        client_.emplace(bench::TcpSocket::connect_to(listener_.port()));
        if constexpr (kWaits == Waits::sleeping_beside_client) bench::run_on(bench::two_cores().first);
        thread_ =
            std::thread([this, peer = std::make_shared<bench::TcpSocket>(listener_.accept_one())] { run(*peer); });
    }
    BarePath(const BarePath&) = delete;
    BarePath& operator=(const BarePath&) = delete;
    ~BarePath() {
        stop_.store(true);
        shutdown(udp_, SHUT_RDWR);  // wakes a blocked receive call
        thread_.join();
        close(udp_);
    }

    [[nodiscard]] std::uint16_t feed_port() const { return udp_port_; }
    [[nodiscard]] bench::TcpSocket& client() { return *client_; }

private:
    // Size of the next datagram; less than 1 at the end.
    ssize_t receive(std::array<std::byte, 2048>& buffer) const {
        if constexpr (kWaits != Waits::spinning_apart) return recv(udp_, buffer.data(), buffer.size(), 0);
        for (std::uint32_t fruitless = 0; !stop_.load(std::memory_order_relaxed);) {
            const auto size = recv(udp_, buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (size > 0) return size;
            if (++fruitless % bench::kFruitlessPolls == 0) sched_yield();
        }
        return 0;
    }

    void run(const bench::TcpSocket& peer) const {
        if constexpr (kWaits == Waits::spinning_apart) bench::run_on(bench::two_cores().second);
        auto line = json_line(10, 10);
        const auto price_at = line.find("\"bid\":{\"price\":") + std::string_view("\"bid\":{\"price\":").size();
        std::array<std::byte, 2048> buffer;
        for (ssize_t size = 0; (size = receive(buffer)) > 0;) {
            const auto price = core::load_be<std::uint32_t>(buffer.data() + size - 12);
            auto digits = price;
            for (const auto place : {6, 5, 4, 3, 1, 0}) {  // dd.dddd
                line[price_at + static_cast<std::size_t>(place)] = static_cast<char>('0' + digits % 10);
                digits /= 10;
            }
            peer.write(line);
        }
    }

    int udp_;
    std::uint16_t udp_port_{0};
    bench::TcpListener listener_;
    std::optional<bench::TcpSocket> client_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// The classic chain with a third thread, which formats lines and writes them to the client with blocking calls. The
// kernel places that thread.
template <bench::Placing kPlacing>
class AsioPath {
public:
    AsioPath()
        : thread_([this, peer = std::make_shared<bench::TcpSocket>(listener_.accept_one())] {
              while (const auto bbo = chain_.pop()) peer->write(json_line(bbo->bid_price, bbo->ask_price));
          }) {}
    AsioPath(const AsioPath&) = delete;
    AsioPath& operator=(const AsioPath&) = delete;
    ~AsioPath() {
        chain_.close();
        thread_.join();
    }

    [[nodiscard]] std::uint16_t feed_port() const { return chain_.port(); }
    [[nodiscard]] bench::TcpSocket& client() { return client_; }

private:
    bench::AsioChain chain_{[] {
        if constexpr (kPlacing == bench::Placing::on_one_core) bench::run_on(bench::two_cores().second);
    }};
    bench::TcpListener listener_;
    bench::TcpSocket client_{bench::TcpSocket::connect_to(listener_.port())};
    std::thread thread_;
};

}  // namespace

int main() {
    const std::string reference = "reference: recv, patched line, send, beside the client";
    bench::compare(
        {.question = "How long from the wire to a TCP client?",
         .unit = "us",
         .goals = {{.contender = "millpond gateway, adaptive", .to = reference, .at_most = 1.5}},
         .measured =
             "from before the send call of a bbo28 datagram on loopback until a TCP client that sleeps in "
             "its read call has the JSON line; the reference sleeps on the client's processor, the spinning bare "
             "path and the gateway's receive thread run on the other one, all other threads where the kernel "
             "puts them",
         .not_measured = "a burst, several clients, connecting"},
        {{reference, bench::one_way<BarePath<Waits::sleeping_beside_client>>},
         {"bare path that spins on the other processor", bench::one_way<BarePath<Waits::spinning_apart>>},
         {"bare path that sleeps where the kernel puts it", bench::one_way<BarePath<Waits::sleeping_anywhere>>},
         {"millpond gateway, adaptive", bench::one_way<bench::TcpSinkPath>},
         {"Asio chain with a writer thread", bench::one_way<AsioPath<bench::Placing::anywhere>>},
         {"Asio chain with a writer thread, receiver and parser on one processor",
          bench::one_way<AsioPath<bench::Placing::on_one_core>>}});
}
