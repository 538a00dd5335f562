#pragma once

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>

#include "bench/gateway/line_delays.hpp"
#include "bench/gateway/nats_server.hpp"
#include "bench/gateway/tcp_socket.hpp"
#include "bench/gateway/web_socket.hpp"

namespace millpond::bench {

/// Number of descriptors that a process needs for this number of connections, with some reserve.
constexpr rlim_t descriptors_for(std::size_t connections) { return connections + 200; }

/// Raises the limit of open files for `connections`. Returns false if the hard limit is lower.
inline bool allow_descriptors(std::size_t connections) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < descriptors_for(connections)) return false;
    limit.rlim_cur = std::max(limit.rlim_cur, descriptors_for(connections));
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/// A value in kilobytes from /proc/meminfo.
inline double memory_kilobytes(const std::string& name) {
    std::ifstream file("/proc/meminfo");
    std::string key;
    double value = 0;
    for (std::string unit; file >> key >> value; std::getline(file, unit)) {
        if (key == name + ":") return value;
    }
    throw std::runtime_error("/proc/meminfo has no " + name);
}

/// Loopback connections that one thread reads; counts received lines and records their delays.
class Connections {
public:
    explicit Connections(LineDelays* delays) : epoll_(epoll_create1(0)), delays_(delays) {}
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;
    ~Connections() { close(epoll_); }

    void add(TcpSocket socket) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = clients_.size();
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, socket.descriptor(), &event) != 0) {
            throw std::runtime_error("the bench cannot wait for a client");
        }
        clients_.push_back({.socket = std::move(socket)});
    }

    /// Reads available bytes, or waits for them for up to a millisecond.
    void read_some() {
        std::array<epoll_event, 256> events;
        const auto ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 1);
        for (int i = 0; i < ready; ++i) {
            auto& client = clients_[events[static_cast<std::size_t>(i)].data.u64];
            const auto size = recv(client.socket.descriptor(), buffer_->data(), buffer_->size(), MSG_DONTWAIT);
            if (size == 0) throw std::runtime_error("a client's connection was closed");
            if (size > 0) count(client, {buffer_->data(), static_cast<std::size_t>(size)});
        }
    }

    [[nodiscard]] std::uint64_t lines() const { return lines_; }
    /// Makes the next line of each client number 0 of the delays.
    void note_delays() {
        noting_ = true;
        for (auto& client : clients_) client.noted = 0;
    }

private:
    struct Client {
        TcpSocket socket;
        char last{0};
        std::size_t noted{0};
    };

    /// A line ends with a brace and a newline: a newline alone may be a length byte of a WebSocket frame.
    void count(Client& client, std::string_view bytes) {
        const auto now = noting_ ? core::monotonic_nanos() : 0;
        for (auto at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
            if ((at == 0 ? client.last : bytes[at - 1]) != '}') continue;
            ++lines_;
            if (noting_) delays_->received(client.noted++, now);
        }
        client.last = bytes.back();
    }

    int epoll_;
    LineDelays* delays_;
    bool noting_{false};
    std::vector<Client> clients_;
    std::unique_ptr<std::array<char, 1U << 18U>> buffer_{std::make_unique<std::array<char, 1U << 18U>>()};
    std::uint64_t lines_{0};
};

enum class ClientKind : std::uint8_t { tcp, web, nats };

/// Connects a client of this kind.
inline TcpSocket connect_client(ClientKind kind, std::uint16_t port) {
    switch (kind) {
        case ClientKind::tcp: break;
        case ClientKind::web: return WebSocket(port).release();
        case ClientKind::nats: return subscribe_to_nats(port);
    }
    return TcpSocket::connect_to(port);
}

/// Clients in a separate process, so that the two ends of a connection count against the limits of different processes.
///
/// Threads: constructed while the process has one thread; used on one.
class ManyClients {
public:
    /// delays: for note_delays; outlives this.
    explicit ManyClients(LineDelays* delays = nullptr) : delays_(delays) {
        std::array<int, 2> ends{};
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) throw std::runtime_error("no pair of sockets");
        child_ = fork();
        if (child_ == 0) {
            close(ends[0]);
            _exit(serve(ends[1], delays));
        }
        close(ends[1]);
        pipe_ = ends[0];
    }
    ManyClients(const ManyClients&) = delete;
    ManyClients& operator=(const ManyClients&) = delete;
    ~ManyClients() {
        close(pipe_);
        waitpid(child_, nullptr, 0);
    }

    /// Connects these clients instead of the former ones.
    void connect(ClientKind kind, std::uint16_t port, std::size_t count) {
        (void)ask({.what = What::connect, .kind = kind, .port = port, .number = count});
    }
    /// Reads until all clients together have this number of lines, for at most 20 seconds. Returns the number of lines.
    std::uint64_t read_until(std::uint64_t lines) {
        start_reading_until(lines);
        return answer();
    }
    /// Like the function above, without waiting; call answer() next, which returns the number.
    void start_reading_until(std::uint64_t lines) { say({.what = What::read_until, .number = lines}); }
    std::uint64_t answer() {
        std::uint64_t lines = 0;
        if (read(pipe_, &lines, sizeof lines) != sizeof lines) throw ended();
        return lines;
    }
    /// Records the delay of each line at each client from here on; the next line is number 0.
    void note_delays() {
        delays_->clear();
        (void)ask({.what = What::note_delays});
    }
    /// Reads until no bytes have arrived for a moment. Returns the number of lines.
    std::uint64_t read_rest() { return ask({.what = What::read_rest}); }
    void disconnect() { (void)ask({.what = What::disconnect}); }

private:
    enum class What : std::uint8_t { connect, read_until, read_rest, note_delays, disconnect };
    struct Order {
        What what{};
        ClientKind kind{};
        std::uint16_t port{0};
        std::uint64_t number{0};
    };

    static std::runtime_error ended() { return std::runtime_error("the process of the clients ended"); }
    void say(const Order& order) const {
        if (write(pipe_, &order, sizeof order) != sizeof order) throw ended();
    }
    std::uint64_t ask(const Order& order) {
        say(order);
        return answer();
    }

    static int serve(int pipe, LineDelays* delays) {
        try {
            auto all = std::make_unique<Connections>(delays);
            for (Order order; read(pipe, &order, sizeof order) == sizeof order;) {
                apply(order, all, delays);
                const auto lines = all->lines();
                if (write(pipe, &lines, sizeof lines) != sizeof lines) return 1;
            }
            return 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "clients: %s\n", error.what());
            return 1;
        }
    }
    static void apply(const Order& order, std::unique_ptr<Connections>& all, LineDelays* delays) {
        if (order.what == What::connect || order.what == What::disconnect) all = std::make_unique<Connections>(delays);
        if (order.what == What::connect) {
            for (std::uint64_t i = 0; i < order.number; ++i) all->add(connect_client(order.kind, order.port));
        }
        if (order.what == What::note_delays) all->note_delays();
        if (order.what == What::read_until) {
            const auto end = core::monotonic_nanos() + 20'000'000'000;
            while (all->lines() < order.number && core::monotonic_nanos() < end) all->read_some();
        }
        if (order.what == What::read_rest) {
            for (auto before = all->lines() + 1; before != all->lines();) {
                before = all->lines();
                for (int i = 0; i < 20; ++i) all->read_some();
            }
        }
    }

    LineDelays* delays_;
    pid_t child_{-1};
    int pipe_{-1};
};

}  // namespace millpond::bench
