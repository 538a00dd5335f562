#include "listener.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tls_transport.hpp"

namespace millpond::engine {
namespace {

constexpr int kListenBacklog = 128;
constexpr std::size_t kLeavingAtMost = 64;
constexpr std::size_t kLongestNewId = 64;

bool is_plain(std::string_view id) {
    return !id.empty() && id.size() <= kLongestNewId && id.front() != '.' && std::ranges::all_of(id, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
}

}  // namespace

Acceptor::Listener::Listener(IoThread& io, const Options& options)
    : io_(&io),
      options_(options),
      tls_(options.tls ? std::make_unique<TlsContext>(TlsRole::server, *options.tls) : nullptr),
      farewell_(io, kLeavingAtMost) {
    const auto where = options.address + ":" + std::to_string(options.port);
    sockaddr_storage address{};
    const auto size = net::SocketAddress::parse_host(options.address).with_port(options.port).to_kernel(address);
    socket_ = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) throw std::system_error(errno, std::system_category(), "a socket for " + where);
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    socklen_t room = sizeof address;
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(socket_, kListenBacklog) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &room) != 0) {
        const auto error = errno;
        ::close(socket_);
        throw std::system_error(error, std::system_category(), "cannot listen on " + where);
    }
    port_ = net::SocketAddress::from_kernel(address).port();
}

Acceptor::Listener::~Listener() { ::close(socket_); }

void Acceptor::Listener::begin() {
    slot_ = io_->join(*this);
    io_->watch(socket_, EPOLLIN, *this, false);
}

void Acceptor::Listener::end() {
    io_->unwatch(socket_, *this);
    strangers_.clear();
    farewell_.clear();
    io_->leave(slot_);
}

SessionHandle& Acceptor::Listener::add(SessionOptions session, Application& application, IoThread* on) {
    session.config.role = fix::Role::acceptor;
    if (const auto same = roster_.find(session.config); same != nullptr) {
        throw std::invalid_argument("the session " + same->name() + " is there twice");
    }
    auto& thread = on != nullptr ? *on : *io_;
    auto host = std::make_shared<SessionHost>(std::move(session), application, thread);
    thread.call([&] { begin(*host, nullptr); });
    auto& handle = *host;
    roster_.add(std::move(host));
    return handle;
}

void Acceptor::Listener::begin(SessionHost& host, HostObserver* observer) {
    host.begin(observer);
    if (host.file() != nullptr) keeper_.keep(*host.file());
}

void Acceptor::Listener::end(SessionHost& host) {
    host.end();
    if (host.file() != nullptr) keeper_.forget(*host.file());
}

void Acceptor::Listener::add_template(SessionOptions model, Application& application, std::size_t most) {
    io_->call([&] { templates_.push_back({std::move(model), &application, most, {}}); });
}

void Acceptor::Listener::on_ready(std::uint32_t events, core::Moment now) {
    static_cast<void>(events);
    for (;;) {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        const auto socket =
            ::accept4(socket_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) break;
        tallies_.accepted.add();
        const auto peer = net::SocketAddress::from_kernel(address);
        if (!options_.allowed.contains(peer)) {
            tallies_.not_allowed.add();
            ::close(socket);
        } else if (strangers_.size() >= options_.max_before_logon ||
                   strangers_.size() + roster_.claimed() >= options_.max_connections) {
            tallies_.full.add();
            ::close(socket);
        } else {
            take(socket, peer, now);
        }
    }
    io_->wants_timer(slot_, next_deadline_ns());
}

void Acceptor::Listener::take(int socket, const net::SocketAddress& peer, core::Moment now) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto transport = tls_ ? make_tls_transport(*tls_, socket, {}) : make_tcp_transport(socket);
    auto stranger = std::make_unique<Stranger>(std::make_unique<Connection>(std::move(transport), peer, now),
                                               InputBuffer{options_.first_message_bytes});
    stranger->connection->watch(*io_, *this);
    strangers_.push_back(std::move(stranger));
}

void Acceptor::Listener::on_ready(Connection& connection, core::Moment now) {
    const auto found =
        std::ranges::find_if(strangers_, [&](const auto& one) { return one->connection.get() == &connection; });
    if (found == strangers_.end()) return;
    auto& stranger = **found;
    const bool alive = connection.receive(stranger.input);
    identify(stranger, now);
    if (stranger.connection != nullptr && !alive) {
        if (connection.transport().failed_to_begin()) tallies_.handshakes_failed.add();
        connection.unwatch();
        io_->retire(std::move(stranger.connection));
    }
    forget_strangers(now);
}

void Acceptor::Listener::identify(Stranger& stranger, core::Moment now) {
    const auto bytes = stranger.input.filled();
    if (bytes.empty()) return;
    const auto frame = fix::next_frame(bytes, options_.first_message_bytes);
    if (!frame && frame.error().error == fix::FrameError::incomplete) {
        if (stranger.input.room().empty()) turn_away(stranger, tallies_.unknown, now);
        return;
    }
    const auto message = frame ? parser_.parse(*frame) : std::unexpected(frame.error().error);
    if (!message || message->msg_type() != "A") return turn_away(stranger, tallies_.unknown, now);
    auto host = roster_.claim(*message);
    if (!host && host.error() == Roster::Refusal::unknown && make_by_template(*message)) host = roster_.claim(*message);
    if (!host) {
        const bool duplicate = host.error() == Roster::Refusal::duplicate;
        return turn_away(stranger, duplicate ? tallies_.duplicate : tallies_.unknown, now);
    }
    hand_over(stranger, *host, now);
}

void Acceptor::Listener::hand_over(Stranger& stranger, const std::shared_ptr<SessionHost>& host, core::Moment now) {
    stranger.connection->unwatch();
    if (&host->io() == io_) {
        host->connect(std::move(stranger.connection), stranger.input, now);
        return;
    }
    auto moved = std::make_shared<Stranger>(std::move(stranger.connection), std::move(stranger.input));
    host->io().post([host, moved] { host->connect(std::move(moved->connection), moved->input, host->io().now()); });
}

void Acceptor::Listener::turn_away(Stranger& stranger, core::Tally& why, core::Moment now) {
    why.add();
    farewell_.add(std::move(stranger.connection), now);
    io_->wants_timer(slot_, next_deadline_ns());
}

bool Acceptor::Listener::make_by_template(const fix::Message& message) {
    const auto id = message.text(fix::tag::kSenderCompId).value_or("");
    for (auto& from : templates_) {
        auto session = from.model;
        if (fix::begin_string(session.config.version) != message.begin_string() ||
            message.text(fix::tag::kTargetCompId) != session.config.sender_comp_id || !is_plain(id)) {
            continue;
        }
        std::erase_if(from.made, [](const auto& one) { return one.expired(); });
        if (from.made.size() >= from.most) {
            tallies_.full.add();
            continue;
        }
        session.config.role = fix::Role::acceptor;
        session.config.target_comp_id = id;
        if (!session.store.file.empty()) session.store.file /= std::string{id} + ".store";
        auto host = std::make_shared<SessionHost>(std::move(session), *from.application, *io_);
        begin(*host, this);
        from.made.push_back(host);
        roster_.add(std::move(host));
        return true;
    }
    return false;
}

void Acceptor::Listener::on_host_closed(Closed reason, core::Moment now) {
    static_cast<void>(reason), static_cast<void>(now);
    io_->signal(slot_);  // the session is still on the stack
}

/// Takes away connections that have found their session or gone, and sessions by template whose peer never logged on.
void Acceptor::Listener::forget_strangers(core::Moment now) {
    static_cast<void>(now);
    std::erase_if(strangers_, [](const auto& one) { return one->connection == nullptr; });
    for (const auto& from : templates_) {
        for (const auto& weak : from.made) {
            const auto host = weak.lock();
            if (host == nullptr || host->claimed() || host->has_logged_on()) continue;
            end(*host);
            roster_.remove(*host);
        }
    }
}

std::int64_t Acceptor::Listener::on_timer(core::Moment now) {
    const auto patience = std::chrono::nanoseconds{options_.first_message_timeout}.count();
    for (const auto& stranger : strangers_) {
        if (now.monotonic_ns - stranger->connection->since_ns() >= patience) turn_away(*stranger, tallies_.silent, now);
    }
    farewell_.run(now);
    forget_strangers(now);
    return next_deadline_ns();
}

std::int64_t Acceptor::Listener::next_deadline_ns() const noexcept {
    const auto patience = std::chrono::nanoseconds{options_.first_message_timeout}.count();
    auto next = farewell_.next_deadline_ns();
    for (const auto& stranger : strangers_) {
        if (stranger->connection == nullptr) continue;
        next = std::min(next, stranger->connection->since_ns() + patience);
    }
    return next;
}

void Acceptor::Listener::on_drain(core::Moment now, std::int64_t deadline_ns) {
    static_cast<void>(deadline_ns);
    // Nobody is let in any more.
    io_->unwatch(socket_, *this);
    for (const auto& stranger : strangers_) farewell_.add(std::move(stranger->connection), now);
    strangers_.clear();
}

}  // namespace millpond::engine
