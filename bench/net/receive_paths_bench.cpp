// Measured:     256-byte datagrams over a pair of virtual interfaces, on one processor: the sender's calls, the
// kernel's
//               work on the way, and taking them out. The sender's part is the same for all.
// Not measured: waiting, interrupts, an interface's own work.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"
#include "bench/net/taker.hpp"
#include "tests/net/network_pair.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kDatagramBytes = 256;
constexpr std::size_t kBurst = 64;
constexpr std::uint16_t kPort = 14'000;
const auto kHere = net::SocketAddress::parse("10.99.0.1:14000");

/// recvmsg alone.
class BareSocket {
public:
    BareSocket() : socket_(socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(kPort);
        if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("no bare socket");
    }
    BareSocket(const BareSocket&) = delete;
    BareSocket& operator=(const BareSocket&) = delete;
    ~BareSocket() { close(socket_); }

    template <class Take>
    std::size_t poll(Take&& take) {
        const auto size = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (size < 0) return 0;
        take(std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(size)));
        return 1;
    }

private:
    int socket_;
    std::array<std::byte, 2048> buffer_;
};

template <class Source>
bench::Finding carry(const net::test::NetworkPair& pair, net::Want trains, Source& source) {
    pair.enter_far();
    net::UdpSender sender({.to = kHere, .gso = trains});
    pair.enter_near();
    std::array<std::array<std::byte, kDatagramBytes>, kBurst> bytes{};
    std::vector<std::span<const std::byte>> datagrams(bytes.begin(), bytes.end());
    std::uint64_t number = 0;
    std::uint64_t answer = 0;
    std::vector<double> nanos(bench::scaled(1'000));
    for (auto& each : nanos) {
        for (auto& datagram : bytes) core::store_le(datagram.data(), ++number);
        each = bench::nanos_each(kBurst, [&] {
            for (std::size_t sent = 0; sent < kBurst;) sent += sender.send(std::span(datagrams).subspan(sent));
            std::size_t taken = 0;
            bench::spin_until([&] {
                taken += source.poll(
                    [&](std::span<const std::byte> came) { answer += core::load_le<std::uint64_t>(came.data()); });
                return taken == kBurst;
            });
        });
    }
    return {.value = bench::median(std::move(nanos)), .answer = answer};
}

}  // namespace

int main() {
    bench::run_on(bench::two_cores().first);
    std::string why;
    const auto pair = net::test::NetworkPair::make(why);
    if (pair == nullptr) throw std::runtime_error(why);
    const auto ours = [&pair](net::ReceivePath path, net::Want trains) {
        bench::Taker receiver({.local = kHere,
                               .interface = "near0",
                               .gro = trains,
                               .path = path,
                               .path_want = net::Want::require,
                               .zero_copy = net::Want::no});
        return carry(*pair, trains, receiver);
    };
    using net::ReceivePath;
    using net::Want;
    bench::compare(
        {.question = "What does a datagram cost a processor by each receive path?",
         .unit = "ns/datagram",
         .measured = "256-byte datagrams over virtual interfaces, on one processor: sending, the kernel's work "
                     "on the way, taking them out",
         .not_measured = "waiting, interrupts, an interface's own work"},
        {{"bare recv",
          [&] {
              BareSocket socket;
              return carry(*pair, Want::no, socket);
          }},
         {"socket", [&] { return ours(ReceivePath::socket, Want::no); }},
         {"io_uring", [&] { return ours(ReceivePath::io_uring, Want::no); }},
         {"AF_XDP", [&] { return ours(ReceivePath::af_xdp, Want::no); }},
         {"socket, trains", [&] { return ours(ReceivePath::socket, Want::require); }},
         {"io_uring, trains", [&] { return ours(ReceivePath::io_uring, Want::require); }}});
}
