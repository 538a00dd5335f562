// Measured:     taking queued 256-byte datagrams out of a loopback socket, on one processor; they were sent in trains.
// Not measured: the kernel's work before the socket's queue, sending, waiting.
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/endian.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"
#include "bench/net/bound_socket.hpp"
#include "bench/net/polled_receiver.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kDatagramBytes = 256;
constexpr std::size_t kTrain = 32;
constexpr std::size_t kBurst = 4 * kTrain;  // fits the socket's default buffer, also as single datagrams

// Each datagram begins with its number; the answer is the sum of the numbers.
class Sender {
public:
    explicit Sender(std::uint16_t port)
        : sender_({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(port)),
                   .batch = kTrain,
                   .gso = net::Want::require}) {
        for (std::size_t i = 0; i < kBurst; ++i) datagrams_.emplace_back(bytes_[i]);
    }

    void burst() {
        for (auto& bytes : bytes_) core::store_le(bytes.data(), ++number_);
        for (std::size_t sent = 0; sent < kBurst;) {
            sent += sender_.send(std::span(datagrams_).subspan(sent, std::min(kTrain, kBurst - sent)));
        }
    }

private:
    net::UdpSender sender_;
    std::array<std::array<std::byte, kDatagramBytes>, kBurst> bytes_{};
    std::vector<std::span<const std::byte>> datagrams_;
    std::uint64_t number_{0};
};

// recvmsg alone, with UDP_GRO or without. With kTimes it requests the kernel's receive time too.
template <bool kTimes>
class BareSocket {
public:
    explicit BareSocket(bool gro) {
        const int on = gro ? 1 : 0;
        const int times = kTimes ? 1 : 0;
        if (setsockopt(socket_.descriptor(), IPPROTO_UDP, UDP_GRO, &on, sizeof on) != 0 ||
            setsockopt(socket_.descriptor(), SOL_SOCKET, SO_TIMESTAMPNS, &times, sizeof times) != 0) {
            throw std::runtime_error("no bare socket with UDP_GRO");
        }
    }

    [[nodiscard]] std::uint16_t port() const { return socket_.port(); }

    // Calls handle(bytes) for each datagram. Returns the number of datagrams.
    template <class Handle>
    std::size_t poll(Handle&& handle) {
        iovec vector{buffer_.data(), buffer_.size()};
        alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(timespec))> control;
        msghdr header{};
        header.msg_iov = &vector;
        header.msg_iovlen = 1;
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        const auto size = recvmsg(socket_.descriptor(), &header, MSG_DONTWAIT);
        if (size <= 0) return 0;
        auto segment = static_cast<std::size_t>(size);
        for (auto* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
            if (part->cmsg_type == UDP_GRO) {
                int bytes = 0;
                std::memcpy(&bytes, CMSG_DATA(part), sizeof bytes);
                segment = static_cast<std::size_t>(bytes);
            } else if (kTimes && part->cmsg_type == SO_TIMESTAMPNS) {
                std::memcpy(&time_, CMSG_DATA(part), sizeof time_);
            }
        }
        std::size_t count = 0;
        for (std::size_t at = 0; at < static_cast<std::size_t>(size); at += segment, ++count) {
            handle(std::span<const std::byte>(buffer_).subspan(at, segment));
        }
        return count;
    }

private:
    bench::BoundSocket socket_{INADDR_LOOPBACK};
    timespec time_{};
    std::array<std::byte, 65'536> buffer_;
};

class Receiver : public bench::PolledReceiver {
public:
    explicit Receiver(bool gro)
        : PolledReceiver(
              {.local = net::SocketAddress::parse("127.0.0.1:0"), .gro = gro ? net::Want::require : net::Want::no}) {}
};

template <class Source>
bench::Finding drain(bool gro) {
    const auto bursts = bench::scaled(2'000);
    bench::run_on(bench::two_cores().first);
    const auto source = std::make_unique<Source>(gro);
    Sender sender(source->port());
    std::uint64_t answer = 0;
    std::vector<double> burst_nanos(bursts);
    for (auto& nanos : burst_nanos) {
        sender.burst();
        nanos = bench::nanos_each(1, [&] {
            std::size_t received = 0;
            bench::spin_until([&] {
                received += source->poll(
                    [&](std::span<const std::byte> bytes) { answer += core::load_le<std::uint64_t>(bytes.data()); });
                return received == kBurst;
            });
        });
    }
    return {.value = 1'000.0 * kBurst / bench::median(std::move(burst_nanos)), .answer = answer};
}

}  // namespace

int main() {
    bench::compare({.question = "How many datagrams a second can one processor take from a socket?",
                    .unit = "M datagrams/s",
                    .goals = {{.contender = "UdpReceiver, UDP_GRO", .to = "bare recvmsg, UDP_GRO", .at_least = 0.85}},
                    .measured = "taking queued 256-byte datagrams, sent in trains of 32, out of a loopback socket",
                    .not_measured = "the kernel's work before the socket's queue, sending, waiting"},
                   {{"bare recvmsg, UDP_GRO", [] { return drain<BareSocket<false>>(true); }},
                    {"bare recvmsg, UDP_GRO, time", [] { return drain<BareSocket<true>>(true); }},
                    {"UdpReceiver, UDP_GRO", [] { return drain<Receiver>(true); }},
                    {"bare recvmsg", [] { return drain<BareSocket<false>>(false); }},
                    {"UdpReceiver", [] { return drain<Receiver>(false); }}});
}
