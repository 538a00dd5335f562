#include <millpond/engine/acceptor.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::engine {
namespace {

constexpr std::size_t kInputBytes = std::size_t{128} * 1024;
constexpr int kEventsAtOnce = 64;
constexpr int kListenBacklog = 128;
// How long the peer may take to read what is left and to close its side: closing at once would make the kernel throw
// away what it has not read.
constexpr std::int64_t kLingerNanos = 2'000'000'000;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::system_category(), what); }

}  // namespace

/// One TCP connection: input that is not a whole message yet, output that the peer has not taken yet.
class Acceptor::Connection {
public:
    Connection(int socket, std::size_t backlog_bytes, std::int64_t utc_ns)
        : socket_(socket), accepted_ns_(utc_ns), input_(kInputBytes), backlog_(backlog_bytes) {}
    ~Connection() { ::close(socket_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// What has come; false when the connection is over.
    [[nodiscard]] bool receive() {
        while (used_ < input_.size()) {
            const auto got = ::recv(socket_, input_.data() + used_, input_.size() - used_, 0);
            if (got > 0) {
                used_ += static_cast<std::size_t>(got);
                continue;
            }
            if (got < 0 && errno == EINTR) continue;
            return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        }
        return true;
    }
    [[nodiscard]] std::span<const std::byte> input() const noexcept { return {input_.data(), used_}; }
    void consume(std::size_t bytes) noexcept {
        used_ -= bytes;
        std::memmove(input_.data(), input_.data() + bytes, used_);
    }

    /// Straight to the socket; what it does not take waits. False when the backlog has no room for it.
    [[nodiscard]] bool send(std::string_view bytes) noexcept {
        if (waiting() == 0) {
            const auto taken = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (taken > 0) bytes.remove_prefix(static_cast<std::size_t>(taken));
        }
        if (bytes.size() > backlog_.size() - waiting()) return false;
        if (bytes.size() > backlog_.size() - backlog_end_) {
            std::memmove(backlog_.data(), backlog_.data() + backlog_begin_, waiting());
            backlog_end_ = waiting();
            backlog_begin_ = 0;
        }
        std::memcpy(backlog_.data() + backlog_end_, bytes.data(), bytes.size());
        backlog_end_ += bytes.size();
        return true;
    }
    void flush() noexcept {
        while (waiting() != 0) {
            const auto taken = ::send(socket_, backlog_.data() + backlog_begin_, waiting(), MSG_NOSIGNAL);
            if (taken < 0 && errno == EINTR) continue;
            if (taken < 0 && errno != EAGAIN && errno != EWOULDBLOCK) backlog_begin_ = backlog_end_;  // nobody reads it
            if (taken <= 0) return;
            backlog_begin_ += static_cast<std::size_t>(taken);
        }
        backlog_begin_ = backlog_end_ = 0;
    }
    [[nodiscard]] std::size_t waiting() const noexcept { return backlog_end_ - backlog_begin_; }
    [[nodiscard]] bool congested() const noexcept { return waiting() > backlog_.size() / 2; }

    int socket_;
    std::int64_t accepted_ns_;
    Slot* slot_{nullptr};         // null: not identified yet, or its session is done with it
    bool over_{false};            // the peer closed it, or it is good for nothing
    bool closing_{false};         // our side is to be closed when the backlog is out
    std::int64_t closing_ns_{0};  // when that was noticed; 0: not yet
    bool shut_{false};            // our side is closed
    bool watches_writable_{false};

private:
    std::vector<std::byte> input_;
    std::size_t used_{0};
    std::vector<char> backlog_;
    std::size_t backlog_begin_{0};
    std::size_t backlog_end_{0};
};

/// One session, connected or not.
class Acceptor::Slot final : public fix::SessionHandler, public SessionLink {
public:
    Slot(AcceptedSession options, Application& application, Tallies& tallies, std::int64_t utc_ns)
        : application_(&application),
          tallies_(&tallies),
          store_(make_store(options, utc_ns)),
          session_(std::move(options.config), *options.dictionary, options.application, *store_, *this, utc_ns) {}

    fix::Session& session() noexcept override { return session_; }
    [[nodiscard]] std::int64_t now() const noexcept override { return core::utc_nanos(); }

    void connect(Connection& connection, std::int64_t utc_ns) {
        connection_ = &connection;
        connection.slot_ = this;
        session_.on_connect(utc_ns);
    }
    /// The session is done with its connection, which may have output left.
    void let_go(std::int64_t utc_ns) {
        if (connection_ == nullptr) return;
        connection_->slot_ = nullptr;
        connection_->closing_ = true;
        connection_ = nullptr;
        session_.on_disconnect(utc_ns);
    }
    [[nodiscard]] Connection* connection() const noexcept { return connection_; }
    [[nodiscard]] bool wants_to_close() const noexcept { return connection_ != nullptr && connection_->closing_; }

    void send(std::uint64_t sequence, std::string_view bytes) override {
        if (connection_ == nullptr || connection_->over_) return;
        if (!connection_->send(bytes)) {
            tallies_->too_slow.add();
            connection_->over_ = true;
            return;
        }
        if (sequence != 0) store_->mark_written(sequence);
    }
    void disconnect(fix::Disconnect) override {
        if (connection_ != nullptr) connection_->closing_ = true;
    }
    bool congested() const override { return connection_ != nullptr && connection_->congested(); }
    bool may_log_on(const fix::Message& logon) override { return application_->may_log_on(*this, logon); }
    void on_logon() override { application_->on_logon(*this); }
    void on_logout(std::string_view text) override { application_->on_logout(*this, text); }
    fix::Verdict on_message(const fix::Message& message) override { return application_->on_message(*this, message); }
    void on_reject(const fix::Message& reject) override { application_->on_reject(*this, reject); }

private:
    static std::unique_ptr<fix::MessageStore> make_store(const AcceptedSession& options, std::int64_t utc_ns) {
        if (options.store_file.empty()) return std::make_unique<fix::MemoryStore>(utc_ns, options.store_bytes);
        return std::make_unique<fix::FileStore>(options.store_file, utc_ns,
                                                fix::FileStore::Options{.data_bytes = options.store_bytes});
    }

    Application* application_;
    Tallies* tallies_;
    std::unique_ptr<fix::MessageStore> store_;
    Connection* connection_{nullptr};
    fix::Session session_;
};

Acceptor::Acceptor(const Options& options) : options_(options) {
    const auto where = options.address + ":" + std::to_string(options.port);
    sockaddr_storage address{};
    const auto size = net::SocketAddress::parse_host(options.address).with_port(options.port).to_kernel(address);
    listener_ = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener_ < 0) fail("a socket for " + where);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    socklen_t room = sizeof address;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, kListenBacklog) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &room) != 0) {
        const auto error = errno;
        ::close(listener_);
        throw std::system_error(error, std::system_category(), "cannot listen on " + where);
    }
    port_ = net::SocketAddress::from_kernel(address).port();
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
    if (epoll_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event) != 0) {
        const auto error = errno;
        ::close(listener_);
        if (epoll_ >= 0) ::close(epoll_);
        throw std::system_error(error, std::system_category(), "cannot watch " + where);
    }
}

Acceptor::~Acceptor() {
    ::close(listener_);
    ::close(epoll_);
}

void Acceptor::add(AcceptedSession session, Application& application) {
    const auto& config = session.config;
    for (const auto& slot : slots_) {
        const auto& known = slot->session().config();
        if (known.version == config.version && known.sender_comp_id == config.sender_comp_id &&
            known.target_comp_id == config.target_comp_id) {
            throw std::invalid_argument("the session " + config.sender_comp_id + " - " + config.target_comp_id +
                                        " is there twice");
        }
    }
    slots_.push_back(std::make_unique<Slot>(std::move(session), application, tallies_, core::utc_nanos()));
}

void Acceptor::poll(std::chrono::milliseconds patience) {
    std::array<epoll_event, kEventsAtOnce> events;
    const auto ready = ::epoll_wait(epoll_, events.data(), kEventsAtOnce, wait_ms(patience, core::utc_nanos()));
    const auto utc_ns = core::utc_nanos();
    for (int i = 0; i < ready; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        auto* connection = static_cast<Connection*>(event.data.ptr);
        if (connection == nullptr) {
            accept_all(utc_ns);
            continue;
        }
        if ((event.events & EPOLLOUT) != 0) {
            connection->flush();
            if (connection->slot_ != nullptr && !connection->congested()) {
                connection->slot_->session().on_writable(utc_ns);
            }
        }
        if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read(*connection, utc_ns);
    }
    run_timers(utc_ns);
    close_finished(utc_ns);
}

void Acceptor::accept_all(std::int64_t utc_ns) {
    for (;;) {
        const auto socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) return;
        tallies_.accepted.add();
        if (connections_.size() >= options_.max_connections) {
            tallies_.full.add();
            ::close(socket);
            continue;
        }
        const int on = 1;
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        auto connection = std::make_unique<Connection>(socket, options_.backlog_bytes, utc_ns);
        epoll_event event{.events = EPOLLIN, .data = {.ptr = connection.get()}};
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) == 0) connections_.push_back(std::move(connection));
    }
}

void Acceptor::read(Connection& connection, std::int64_t utc_ns) {
    if (!connection.receive()) connection.over_ = true;
    if (connection.closing_) {
        connection.consume(connection.input().size());  // nobody listens any more
        return;
    }
    if (connection.slot_ == nullptr) identify(connection, utc_ns);
    if (connection.slot_ != nullptr) {
        connection.consume(connection.slot_->session().on_bytes(connection.input(), utc_ns));
    }
}

/// Finds the session of the first message; the bytes stay for it.
void Acceptor::identify(Connection& connection, std::int64_t utc_ns) {
    const auto frame = fix::next_frame(connection.input());
    if (!frame && frame.error().error == fix::FrameError::incomplete) return;
    const auto message = frame ? parser_.parse(*frame) : std::unexpected(frame.error().error);
    auto* slot = message ? slot_of(*message) : nullptr;
    if (slot == nullptr) {
        tallies_.unknown.add();
        connection.closing_ = true;
    } else if (slot->connection() != nullptr) {
        tallies_.duplicate.add();
        connection.closing_ = true;
    } else {
        slot->connect(connection, utc_ns);
    }
}

Acceptor::Slot* Acceptor::slot_of(const fix::Message& message) const noexcept {
    for (const auto& slot : slots_) {
        const auto& config = slot->session().config();
        if (fix::begin_string(config.version) == message.begin_string() &&
            message.text(fix::tag::kSenderCompId) == config.target_comp_id &&
            message.text(fix::tag::kTargetCompId) == config.sender_comp_id) {
            return slot.get();
        }
    }
    return nullptr;
}

void Acceptor::run_timers(std::int64_t utc_ns) {
    for (const auto& slot : slots_) {
        if (slot->connection() == nullptr) continue;
        if (slot->session().next_deadline_ns() <= utc_ns) slot->session().on_timer(utc_ns);
        if (slot->connection()->over_ || slot->wants_to_close()) slot->let_go(utc_ns);
    }
}

void Acceptor::close_finished(std::int64_t utc_ns) {
    const auto first_message_ns = std::chrono::nanoseconds{options_.first_message_timeout}.count();
    std::erase_if(connections_, [&](const std::unique_ptr<Connection>& held) {
        auto& connection = *held;
        if (connection.slot_ == nullptr && utc_ns - connection.accepted_ns_ >= first_message_ns) {
            connection.closing_ = true;
        }
        if (connection.closing_ && connection.closing_ns_ == 0) connection.closing_ns_ = utc_ns;
        if (connection.closing_ && connection.waiting() == 0 && !connection.shut_) {
            ::shutdown(connection.socket_, SHUT_WR);
            connection.shut_ = true;
        }
        const bool lingered = connection.closing_ && utc_ns - connection.closing_ns_ >= kLingerNanos;
        if (connection.slot_ == nullptr && (connection.over_ || lingered)) return true;
        const bool wants_writable = connection.waiting() != 0;
        if (wants_writable != connection.watches_writable_) {
            connection.watches_writable_ = wants_writable;
            epoll_event event{.events = EPOLLIN, .data = {.ptr = &connection}};
            if (wants_writable) event.events |= EPOLLOUT;
            ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.socket_, &event);
        }
        return false;
    });
}

int Acceptor::wait_ms(std::chrono::milliseconds patience, std::int64_t utc_ns) const noexcept {
    auto deadline = utc_ns + std::chrono::nanoseconds{patience}.count();
    for (const auto& slot : slots_) deadline = std::min(deadline, slot->session().next_deadline_ns());
    for (const auto& connection : connections_) {
        if (connection->closing_ns_ != 0) deadline = std::min(deadline, connection->closing_ns_ + kLingerNanos);
    }
    if (deadline <= utc_ns) return 0;
    // Rounded up: a wait that ends before the deadline would be followed by one of nothing.
    return static_cast<int>(std::min<std::int64_t>((deadline - utc_ns + 999'999) / 1'000'000, 60'000));
}

void Acceptor::logout_all(std::string_view reason) {
    for (const auto& slot : slots_) slot->logout(reason);
}

std::size_t Acceptor::connected() const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(slots_, [](const auto& slot) { return slot->connection() != nullptr; }));
}

}  // namespace millpond::engine
