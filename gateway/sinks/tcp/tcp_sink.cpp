#include "gateway/sinks/tcp/tcp_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/feed/quote_json.hpp>

#include "gateway/sinks/tcp/request.hpp"

namespace millpond::gateway::tcp {
namespace {

constexpr std::size_t kLongestRequest = 4'096;
constexpr std::int64_t kLeastGoodbyeNs = 1'000'000'000;

void set_length(Line& line, std::string_view json) {
    line.text[json.size()] = '\n';
    line.length = static_cast<std::uint16_t>(json.size() + 1);
}

/// Sends at once; keeps little in the kernel; notices a dead peer also when there is nothing to send.
void set_options(int socket, std::size_t send_buffer) {
    const auto set = [socket](int level, int name, int value) {
        setsockopt(socket, level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_SNDBUF, static_cast<int>(send_buffer));
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

std::span<char, feed::kMaxJsonBytes> room_in(Line& line) { return std::span{line.text}.first<feed::kMaxJsonBytes>(); }

}  // namespace

struct TcpSink::Connection {
    Client client;
    std::string peer;
    std::string input{};
    bool readable{false};
    bool writable{true};
    bool broken{false};
    bool deaf{false};  ///< It sends no more requests.
    std::uint32_t watched{0};
    std::int64_t ending_since_ns{0};
    Account added{};  ///< What of its account is in the counters.
    std::uint64_t added_bytes{0};
};

TcpSink::TcpSink(const Options& options, Say say) : options_(options), say_(std::move(say)), log_(options.backlog) {
    listen();
}

TcpSink::~TcpSink() {
    for (const auto& connection : connections_) close(connection->client.socket());
    if (listener_ >= 0) close(listener_);
    if (epoll_ >= 0) close(epoll_);
}

void TcpSink::listen() {
    const auto fail = [this](int error) {
        throw std::system_error(
            error, std::generic_category(),
            fmt::format("tcp sink '{}': cannot listen on {}", options_.name, options_.listen.to_string()));
    };
    sockaddr_storage address{};
    const auto length = options_.listen.to_kernel(address);
    listener_ = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener_ < 0) fail(errno);
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0) fail(errno);
    if (::listen(listener_, SOMAXCONN) != 0) fail(errno);
    socklen_t got = sizeof address;
    if (getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &got) != 0) fail(errno);
    address_ = net::SocketAddress::from_kernel(address);
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) fail(errno);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event) != 0) fail(errno);
}

void TcpSink::name(feed::InstrumentId, const feed::Venue&, const feed::Symbol& symbol) {
    standing_.name(symbol);
    for (const auto& connection : connections_) {
        connection->client.named(static_cast<feed::InstrumentId>(standing_.size() - 1));
    }
}

void TcpSink::board(const feed::Quote& quote, std::uint64_t number) { standing_.put(quote, number); }

Line& TcpSink::append(LineKind kind, feed::InstrumentId id, std::uint64_t events) {
    const auto oldest = log_.end() + 1 > log_.capacity() ? log_.end() + 1 - log_.capacity() : 0;
    if (oldest > slowest_) {
        for (const auto& connection : connections_) connection->client.leave_behind(oldest);
        find_slowest();
    }
    return log_.append(kind, id, events);
}

void TcpSink::find_slowest() noexcept {
    slowest_ = log_.end();
    for (const auto& connection : connections_) slowest_ = std::min(slowest_, connection->client.next_line());
}

Taken TcpSink::on(const feed::Quote& quote, std::uint64_t number) {
    auto& line = append(LineKind::quote, quote.instrument);
    set_length(line, feed::quote_json(room_in(line), quote, standing_.json_symbol(quote.instrument), number));
    standing_.put(quote, number, log_.end() - 1);
    return Taken::kept;
}

Taken TcpSink::on(const feed::Trade& trade, std::uint64_t number) {
    auto& line = append(LineKind::other, trade.instrument);
    set_length(line, feed::trade_json(room_in(line), trade, standing_.json_symbol(trade.instrument), number));
    return Taken::kept;
}

Taken TcpSink::on(const feed::Status& status, std::uint64_t number) {
    auto& line = append(LineKind::other, status.instrument);
    const bool all = status.instrument == feed::kNoInstrument;
    set_length(line, feed::status_json(room_in(line), status,
                                       all ? feed::JsonSymbol{} : standing_.json_symbol(status.instrument), number));
    return Taken::kept;
}

Taken TcpSink::on(const feed::Gap& gap, std::uint64_t number) {
    auto& line = append(LineKind::other, feed::kNoInstrument);
    set_length(line, feed::gap_json(room_in(line), gap, number));
    return Taken::kept;
}

Taken TcpSink::on(const feed::Clear& clear, std::uint64_t number) {
    auto& line = append(LineKind::other, clear.instrument);
    const bool all = clear.instrument == feed::kNoInstrument;
    set_length(line, feed::clear_json(room_in(line), clear,
                                      all ? feed::JsonSymbol{} : standing_.json_symbol(clear.instrument), number));
    standing_.clear(clear);
    return Taken::kept;
}

void TcpSink::missed(std::uint64_t first, std::uint64_t last) {
    auto& line = append(LineKind::loss, feed::kNoInstrument, last - first + 1);
    const auto end =
        fmt::format_to_n(line.text.data(), feed::kMaxJsonBytes,
                         R"({{"type":"missed","count":{},"first":{},"last":{}}})", last - first + 1, first, last);
    set_length(line, {line.text.data(), end.size});
}

void TcpSink::accept_all(std::int64_t now_ns) {
    for (;;) {
        sockaddr_storage address{};
        socklen_t length = sizeof address;
        const int socket =
            accept4(listener_, reinterpret_cast<sockaddr*>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED) {
                say_(Severity::warning, options_.name + ".accept",
                     fmt::format("tcp sink '{}': cannot accept: {}", options_.name,
                                 std::generic_category().message(errno)));
            }
            return;
        }
        welcome(socket, now_ns);
    }
}

void TcpSink::welcome(int socket, std::int64_t now_ns) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length);
    auto peer = net::SocketAddress::from_kernel(address).to_string();
    if (connections_.size() >= options_.max_clients) {
        counters_.refused.add();
        const auto bye =
            fmt::format("{{\"type\":\"bye\",\"text\":\"{} clients are connected already\"}}\n", options_.max_clients);
        [[maybe_unused]] const auto sent = send(socket, bye.data(), bye.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(socket);
        say_(Severity::warning, options_.name + ".refused",
             fmt::format("tcp sink '{}': refused {}: {} clients are connected already", options_.name, peer,
                         options_.max_clients));
        return;
    }
    set_options(socket, options_.send_buffer);
    connections_.push_back(std::unique_ptr<Connection>(
        new Connection{Client{socket, options_.mode, log_, standing_, now_ns}, std::move(peer)}));
    auto& connection = *connections_.back();
    epoll_event event{};
    event.events = connection.watched = EPOLLIN;
    event.data.ptr = &connection;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
    counters_.accepted.add();
    counters_.clients.set(connections_.size());
    say_(Severity::info, options_.name + ".connect",
         fmt::format("tcp sink '{}': client {} connected", options_.name, connection.peer));
}

void TcpSink::read_requests(Connection& connection) {
    connection.readable = false;
    std::array<char, kLongestRequest> buffer;
    const auto got = recv(connection.client.socket(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
        connection.input.append(buffer.data(), static_cast<std::size_t>(got));
        obey_lines(connection);
    } else if (got == 0) {
        connection.deaf = true;  // it may still want to listen; a send shows when it is gone
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        connection.broken = true;
    }
}

void TcpSink::obey_lines(Connection& connection) {
    auto& client = connection.client;
    std::size_t begin = 0;
    for (auto end = connection.input.find('\n'); end != std::string::npos; end = connection.input.find('\n', begin)) {
        const auto line = std::string_view{connection.input}.substr(begin, end - begin);
        begin = end + 1;
        if (line.size() > kLongestRequest) break;
        try {
            client.obey(parse_request(line));
        } catch (const RequestError& error) {
            counters_.bad_requests.add();
            client.tell("error", error.what());
        }
    }
    connection.input.erase(0, begin);
    if (connection.input.size() > kLongestRequest) {
        counters_.overlong.add();
        connection.input.clear();
        client.end(fmt::format("a request line may have {} bytes", kLongestRequest));
        say_(Severity::warning, options_.name + ".overlong",
             fmt::format("tcp sink '{}': client {}: over-long request line", options_.name, connection.peer));
    }
}

bool TcpSink::serve(Connection& connection, std::int64_t now_ns) {
    auto& client = connection.client;
    if (connection.readable && !connection.deaf && !client.ending() && !client.overfull()) read_requests(connection);
    if (connection.broken) return false;
    const auto flow = connection.writable || client.ending() ? client.pump(now_ns) : Flow::blocked;
    connection.writable = flow == Flow::idle;
    if (flow == Flow::broken) return false;
    if (client.ending()) {
        if (connection.ending_since_ns == 0) connection.ending_since_ns = now_ns;
        const auto patience = std::min<std::int64_t>(kLeastGoodbyeNs, options_.stall.count());
        return flow == Flow::blocked && now_ns - connection.ending_since_ns < patience;
    }
    if (flow == Flow::blocked && now_ns - client.alive_ns() > options_.stall.count()) {
        counters_.stalled.add();
        client.end(fmt::format("nothing was taken for {} s", std::chrono::duration<double>(options_.stall).count()));
        say_(Severity::warning, options_.name + ".stalled",
             fmt::format("tcp sink '{}': client {} took nothing for too long and is disconnected", options_.name,
                         connection.peer));
    }
    watch(connection);
    return true;
}

void TcpSink::watch(Connection& connection) {
    const auto& client = connection.client;
    const std::uint32_t wanted = (connection.deaf || client.overfull() ? 0U : std::uint32_t{EPOLLIN}) |
                                 (connection.writable ? 0U : std::uint32_t{EPOLLOUT});
    if (wanted == connection.watched) return;
    epoll_event event{};
    event.events = connection.watched = wanted;
    event.data.ptr = &connection;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, client.socket(), &event);
}

void TcpSink::add_up(Connection& connection) {
    const auto now = connection.client.account();
    counters_.delivered.add(now.delivered - connection.added.delivered);
    counters_.filtered.add(now.filtered - connection.added.filtered);
    counters_.conflated.add(now.conflated - connection.added.conflated);
    counters_.missed.add(now.missed - connection.added.missed);
    counters_.bytes.add(connection.client.bytes_sent() - connection.added_bytes);
    connection.added = now;
    connection.added_bytes = connection.client.bytes_sent();
}

void TcpSink::step(std::int64_t monotonic_ns) {
    if (std::exchange(somebody_knocks_, false)) accept_all(monotonic_ns);
    const auto over = [&](const std::unique_ptr<Connection>& connection) {
        const bool goes_on = serve(*connection, monotonic_ns);
        add_up(*connection);
        if (goes_on) return false;
        if (!connection->client.ending()) counters_.left.add();
        const auto last = connection->client.account();
        say_(Severity::info, options_.name + ".disconnect",
             fmt::format("tcp sink '{}': client {} is gone: published {} = delivered {} + filtered {} + conflated {} + "
                         "missed {} + queued {}",
                         options_.name, connection->peer, last.published, last.delivered, last.filtered, last.conflated,
                         last.missed, last.queued));
        close(connection->client.socket());
        return true;
    };
    std::erase_if(connections_, over);
    find_slowest();
    counters_.clients.set(connections_.size());
}

void TcpSink::wait(std::chrono::nanoseconds longest) {
    std::array<epoll_event, 64> events;
    const timespec timeout{longest.count() / 1'000'000'000, longest.count() % 1'000'000'000};
    const int count = epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        auto* connection = static_cast<Connection*>(event.data.ptr);
        if (connection == nullptr) {
            somebody_knocks_ = true;
            continue;
        }
        if ((event.events & EPOLLIN) != 0) connection->readable = true;
        if ((event.events & EPOLLOUT) != 0) connection->writable = true;
        if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) connection->broken = true;
    }
}

void TcpSink::finish() {
    constexpr std::int64_t kPatienceNs = 500'000'000;
    const auto begin = core::monotonic_nanos();
    const auto serve_while = [&](auto condition) {
        while (core::monotonic_nanos() - begin < kPatienceNs && condition()) {
            wait(std::chrono::milliseconds{1});
            step(core::monotonic_nanos());
        }
    };
    step(begin);
    serve_while([this] {
        return std::any_of(connections_.begin(), connections_.end(),
                           [](const auto& connection) { return connection->client.has_more(); });
    });
    for (const auto& connection : connections_) connection->client.end("the gateway ends");
    serve_while([this] { return !connections_.empty(); });
}

}  // namespace millpond::gateway::tcp
