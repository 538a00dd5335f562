#include "gateway/feeds/iex/snap_reader.hpp"

#include <fmt/format.h>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/feed/iex_snap.hpp>

#include "gateway/feeds/iex/snap_quota.hpp"

namespace millpond::gateway::iex {
namespace {

constexpr int kWaitMs = 20;
constexpr std::size_t kBufferBytes = std::size_t{192} * 1'024;  // a message has at most 64 KiB and 1

/// Orders of a snapshot, which come in any order; the number of its message gives an order's priority.
class Orders {
public:
    explicit Orders(std::uint64_t max) : max_(max) {}

    /// message: at most kMaxBytes of it are kept. Throws if there are too many orders.
    void add(std::span<const std::byte> message, std::uint64_t number) {
        if (orders_.size() == max_)
            throw std::runtime_error(fmt::format("its snapshot has more than max_orders = {} orders", max_));
        message = message.first(std::min(message.size(), kMaxBytes));
        const auto begin = bytes_.size();
        bytes_.insert(bytes_.end(), message.begin(), message.end());
        orders_.push_back({number, begin, message.size()});
    }
    template <class Visit>
    void visit(Visit&& visit) {
        std::ranges::sort(orders_, {}, [](const Order& order) { return std::pair{order.number, order.begin}; });
        for (const auto& order : orders_) visit(std::span<const std::byte>{bytes_}.subspan(order.begin, order.size));
    }

private:
    static constexpr std::size_t kMaxBytes = 256;  // a server that lies must not use up the memory

    struct Order {
        std::uint64_t number;
        std::size_t begin;
        std::size_t size;
    };
    std::uint64_t max_;
    std::vector<std::byte> bytes_;
    std::vector<Order> orders_;
};

/// Another request would get the same answer.
bool is_permanent(feed::IexSnapFailure failure) {
    using enum feed::IexSnapFailure;
    return failure == bad_token || failure == bad_channel || failure == bad_session || failure == unknown_message ||
           failure == quota_exceeded;
}

/// A connection to the server.
class Connection {
public:
    /// on_connected: called before the request is sent.
    Connection(const net::SocketAddress& server, std::span<const std::byte> request, std::function<void()> on_connected)
        : server_(server), unsent_(request), on_connected_(std::move(on_connected)) {
        const int family = server.family() == net::SocketAddress::Family::ipv6 ? AF_INET6 : AF_INET;
        socket_ = core::Descriptor{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        if (!socket_) fail("cannot connect");
        connect();
    }
    [[nodiscard]] bool is_connected() const noexcept { return is_connected_; }
    void wait() const noexcept {
        pollfd ready{.fd = socket_.get(),
                     .events = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT),
                     .revents = 0};
        ::poll(&ready, 1, kWaitMs);
    }
    /// Returns the number of bytes received; 0 if there are none. Throws if the connection has ended.
    [[nodiscard]] std::size_t receive(std::span<std::byte> bytes) {
        if (!is_connected_) connect();
        if (!is_connected_) return 0;
        if (!unsent_.empty()) send();
        const auto got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
        if (got == 0) throw std::runtime_error("it closed the connection before the end of the snapshot");
        if (got > 0) return static_cast<std::size_t>(got);
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) fail("the connection broke");
        return 0;
    }

private:
    [[noreturn]] static void fail(const char* what) {
        throw std::runtime_error(fmt::format("{}: {}", what, std::generic_category().message(errno)));
    }
    void connect() {
        sockaddr_storage address{};
        const auto length = server_.to_kernel(address);
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno != EISCONN) {
            if (errno != EINPROGRESS && errno != EALREADY && errno != EINTR) fail("cannot connect");
            return;
        }
        is_connected_ = true;
        on_connected_();
        send();
    }
    void send() {
        const auto sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
        if (sent >= 0) {
            unsent_ = unsent_.subspan(static_cast<std::size_t>(sent));
        } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
            fail("the connection broke");
        }
    }

    net::SocketAddress server_;
    core::Descriptor socket_;
    std::span<const std::byte> unsent_;
    std::function<void()> on_connected_;
    bool is_connected_{false};
};

}  // namespace

SnapReader::SnapReader(const Options& options) : options_(options), received_(kBufferBytes) {}

std::uint64_t SnapReader::read(const feed::IexSession& session, std::uint64_t minimum,
                               const std::function<void(std::span<const std::byte>)>& visit,
                               const std::function<bool()>& goes_on) {
    const feed::IexSnapRequest request{.token = options_.token, .session = session, .minimum = minimum};
    const auto bytes = request.bytes();
    feed::IexSnapshot snapshot{options_.protocol, request};
    Orders orders{options_.max_orders};
    const auto keep = [&](std::span<const std::byte> message, std::uint64_t number) {
        if (!message.empty() && message[0] == std::byte{'a'} && options_.protocol == feed::iex_layout::kDeepPlus) {
            orders.add(message, number);
        } else {
            visit(message);
        }
    };
    try {
        Connection connection{options_.server, bytes, [&] {
                                  SnapQuota quota{fmt::format("{}{}", options_.quota_file, session.channel)};
                                  pause_ns_ = static_cast<std::int64_t>(quota.count(core::utc_nanos())) * kPerRequestNs;
                                  requests_.add();
                              }};
        auto heard_ns = core::monotonic_nanos();
        std::size_t end = 0;
        while (!snapshot.is_complete()) {
            if (!goes_on()) return 0;
            const auto got = connection.receive(std::span{received_}.subspan(end));
            const auto now = core::monotonic_nanos();
            if (got == 0) {
                if (now - heard_ns > options_.silence_ns) {
                    throw std::runtime_error(connection.is_connected() ? "it is silent"
                                                                       : "it does not answer the connect");
                }
                connection.wait();
                continue;
            }
            heard_ns = now;
            end += got;
            const auto read = snapshot.receive(std::span{received_}.first(end), keep);
            if (is_permanent(snapshot.failure())) pause_ns_ = kRejectedNs;
            if (snapshot.failure() != feed::IexSnapFailure::none)
                throw std::runtime_error(std::string{to_string(snapshot.failure())});
            std::memmove(received_.data(), received_.data() + read, end - read);
            end -= read;
        }
        orders.visit(visit);
    } catch (const std::runtime_error& error) {
        throw std::runtime_error(fmt::format("the SNAP server {}: {}", server(), error.what()));
    }
    snapshots_.add();
    return snapshot.number() + 1;
}

}  // namespace millpond::gateway::iex
