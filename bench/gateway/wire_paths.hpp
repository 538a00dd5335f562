#pragma once

#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

#include <millpond/core/endian.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>

#include "bench/gateway/running_gateway.hpp"
#include "bench/harness/timing.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/rivals/asio_chain.hpp"

/// Ways from a UDP port to a subscriber. Each has its own threads on `core`, a port, and try_pop(), called by the
/// subscriber's thread: the bid price of the next quote, if there is one.
namespace millpond::bench {

/// Consecutive polls without a datagram after which a receive thread yields its processor once.
inline constexpr std::uint32_t kFruitlessPolls = 2'000;

/// The bare minimum: recvmsg on one processor, and one entry of shared cache lines to the other. Decodes only the
/// price. With kTimes it requests the kernel's receive time and passes it on.
template <bool kTimes = false>
class BarePath {
public:
    explicit BarePath(int core) {
        socket_ = socket(AF_INET, SOCK_DGRAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        socklen_t length = sizeof address;
        const int times = kTimes ? 1 : 0;
        if (socket_ < 0 || setsockopt(socket_, SOL_SOCKET, SO_TIMESTAMPNS, &times, sizeof times) != 0 ||
            bind(socket_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
            getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
            throw std::runtime_error("the bare path has no socket");
        }
        port_ = ntohs(address.sin_port);
        thread_ = std::jthread([this, core](const std::stop_token& stop) { receive(stop, core); });
    }
    BarePath(const BarePath&) = delete;
    BarePath& operator=(const BarePath&) = delete;
    ~BarePath() {
        thread_.request_stop();
        thread_.join();
        close(socket_);
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::optional<feed::Price> try_pop() {
        Message message;
        if (!link_.receive(message)) return std::nullopt;
        return feed::price_from<feed::kBbo28Scale>(static_cast<std::uint32_t>(message[1]));
    }

private:
    void receive(const std::stop_token& stop, int core) {
        run_on(core);
        std::array<std::byte, 2048> buffer;
        iovec vector{buffer.data(), buffer.size()};
        msghdr header{};
        header.msg_iov = &vector;
        header.msg_iovlen = 1;
        alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(timespec))> control;
        Message message{};
        for (std::uint32_t fruitless = 0; !stop.stop_requested();) {
            if constexpr (kTimes) {
                header.msg_control = control.data();
                header.msg_controllen = control.size();
            }
            const auto size = recvmsg(socket_, &header, MSG_DONTWAIT);
            if (size < 0) {
                if (++fruitless % kFruitlessPolls == 0) sched_yield();
                continue;
            }
            if constexpr (kTimes) std::memcpy(&message[2], CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(timespec));
            ++message[0];
            message[1] = core::load_be<std::uint32_t>(buffer.data() + size - 12);
            link_.send(message);
        }
    }

    int socket_;
    std::uint16_t port_;
    EntryLink link_;
    std::jthread thread_;
};

/// A whole gateway that spins; a RingReader on the subscriber's side.
class GatewayPath {
public:
    /// also: changes the configuration.
    explicit GatewayPath(int core, const std::function<void(gateway::Config&)>& also = {})
        : gateway_({.receive_core = core, .also = also}), reader_({.name = gateway_.ring_name()}) {}

    [[nodiscard]] std::uint16_t port() const { return gateway_.feed_port(); }
    [[nodiscard]] std::optional<feed::Price> try_pop() {
        Handler handler;
        if (reader_.poll(handler, 1) == 0) return std::nullopt;
        return handler.price;
    }

private:
    struct Handler {
        std::optional<feed::Price> price{};
        void on(const feed::Quote& quote) { price = quote.bid_price; }
        template <class Other>
        void on(const Other&) {}
    };

    RunningGateway gateway_;
    market::RingReader reader_;
};

/// Placement of the two threads of the classic architecture: both on the given core, or by the kernel.
enum class Placing : std::uint8_t { on_one_core, anywhere };

/// The classic architecture, bench/rivals/asio_chain.hpp.
template <Placing kPlacing>
class AsioPath {
public:
    explicit AsioPath(int core)
        : chain_([core] {
              if constexpr (kPlacing == Placing::on_one_core) run_on(core);
          }) {}
    [[nodiscard]] std::uint16_t port() const { return chain_.port(); }
    [[nodiscard]] std::optional<feed::Price> try_pop() {
        const auto bbo = chain_.try_pop();
        if (!bbo) return std::nullopt;
        return std::llround(bbo->bid_price * static_cast<double>(feed::kPriceScale));
    }

private:
    AsioChain chain_;
};

}  // namespace millpond::bench
