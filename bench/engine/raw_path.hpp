#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/idle.hpp>

#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// Two connected TCP sockets of loopback with TCP_NODELAY.
class TcpPair {
public:
    TcpPair() {
        const auto listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        const bool listens =
            ::bind(listener, any, size) == 0 && ::listen(listener, 1) == 0 && ::getsockname(listener, any, &size) == 0;
        here = ::socket(AF_INET, SOCK_STREAM, 0);
        if (!listens || ::connect(here, any, size) != 0) throw std::runtime_error("no TCP connection on loopback");
        there = ::accept(listener, nullptr, nullptr);
        ::close(listener);
        const int on = 1;
        for (const auto socket : {here, there}) ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    TcpPair(const TcpPair&) = delete;
    TcpPair& operator=(const TcpPair&) = delete;
    ~TcpPair() {
        ::close(here);
        ::close(there);
    }
    int here{-1};
    int there{-1};
};

/// The minimum of a round trip: sends as many bytes as an order has, receives as many as a report has, and reads only
/// the id in them.
template <bool kSpins>
class RawPath {
public:
    static constexpr std::size_t kOrderBytes = 160;
    static constexpr std::size_t kReportBytes = 200;

    RawPath() {
        server_ = std::thread([this] {
            run_on(two_cores().second);
            std::array<char, kReportBytes> report{};
            std::array<char, kOrderBytes> order{};
            while (receive(sockets_.there, order)) {
                std::memcpy(report.data(), order.data(), sizeof(std::uint64_t));
                send(sockets_.there, {report.data(), report.size()});
            }
        });
    }
    RawPath(const RawPath&) = delete;
    RawPath& operator=(const RawPath&) = delete;
    ~RawPath() {
        stop_.store(true);
        ::shutdown(sockets_.here, SHUT_RDWR);
        server_.join();
    }

    /// The id in the reply.
    std::uint64_t round_trip(std::uint64_t id) {
        std::memcpy(order_.data(), &id, sizeof id);
        send(sockets_.here, {order_.data(), order_.size()});
        if (!receive(sockets_.here, report_)) throw std::runtime_error("the raw path broke");
        std::memcpy(&id, report_.data(), sizeof id);
        return id;
    }
    /// Sends `count` orders, with up to `window` unanswered and one system call per message. Returns the last id.
    std::uint64_t round_trips(std::uint64_t first_id, std::size_t count, std::size_t window) {
        const auto end = first_id + count;
        auto answered = first_id - 1;
        for (auto next = first_id; answered + 1 != end;) {
            for (; next != end && next - answered <= window; ++next) {
                std::memcpy(order_.data(), &next, sizeof next);
                send(sockets_.here, {order_.data(), order_.size()});
            }
            if (!receive(sockets_.here, report_)) throw std::runtime_error("the raw path broke");
            std::memcpy(&answered, report_.data(), sizeof answered);
        }
        return answered;
    }

private:
    static void send(int socket, std::string_view bytes) {
        if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
            throw std::runtime_error("the raw path took a part only");
        }
    }
    template <std::size_t kBytes>
    bool receive(int socket, std::array<char, kBytes>& into) const {
        std::size_t have = 0;
        std::uint32_t spins = 0;
        while (have < kBytes) {
            const auto got = ::recv(socket, into.data() + have, kBytes - have, kSpins ? MSG_DONTWAIT : 0);
            if (got > 0) {
                have += static_cast<std::size_t>(got);
                continue;
            }
            if (got == 0 || stop_.load(std::memory_order_relaxed)) return false;
            core::cpu_relax();
            if (++spins % 20'000 == 0) sched_yield();
        }
        return true;
    }

    TcpPair sockets_;
    std::array<char, kOrderBytes> order_{};
    std::array<char, kReportBytes> report_{};
    std::atomic<bool> stop_{false};
    std::thread server_;
};

}  // namespace millpond::bench
