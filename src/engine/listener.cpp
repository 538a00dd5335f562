#include "listener.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/epoll.h>

#include "store_opening.hpp"
#include "tcp_sockets.hpp"
#include "tls_transport.hpp"

namespace millpond::engine {
namespace {

constexpr std::size_t kStrangersLeavingAtMost = 64;

}  // namespace

Acceptor::Listener::Listener(IoThread& io, const Options& options)
    : io_(&io),
      options_(options),
      tls_(options.tls ? std::make_unique<TlsContext>(TlsRole::server, *options.tls) : nullptr),
      farewell_(io, kStrangersLeavingAtMost) {
    auto listening = listening_socket(options.address, options.port);
    socket_ = std::move(listening.socket);
    port_ = listening.port;
}

Acceptor::Listener::~Listener() = default;

void Acceptor::Listener::begin() {
    slot_ = io_->join(*this);
    answers_->open(*io_, slot_);
    io_->watch(socket_.get(), EPOLLIN, *this, false);
}

void Acceptor::Listener::end() {
    ended_ = true;
    answers_->close();
    io_->unwatch(socket_.get(), *this);
    strangers_.clear();
    farewell_.clear();
    for (auto& from : templates_) {
        for (const auto& host : std::exchange(from.made, {})) remove(*host);
    }
    io_->leave(slot_);
}

SessionHandle& Acceptor::Listener::add(SessionOptions session, Application& application, IoThread* on) {
    session.config.role = fix::Role::acceptor;
    const auto identity = session.config;
    std::shared_ptr<SessionHost> same;
    io_->call([&] {  // both at once: the peer of one by template may reconnect at any time
        make_way(identity);
        same = roster_.find(identity);
    });
    if (same != nullptr) throw std::invalid_argument("the session " + same->name() + " is there twice");
    auto& thread = on != nullptr ? *on : *io_;
    auto host = std::make_shared<SessionHost>(std::move(session), application, thread);
    thread.call([&] { begin(*host, nullptr); });
    io_->call([&] {
        make_way(identity);  // its peer may have reconnected meanwhile
        roster_.add(host);
    });
    return host->handle();
}

void Acceptor::Listener::make_way(const fix::SessionConfig& identity) {
    const auto same = roster_.find(identity);
    for (auto& from : templates_) {
        if (std::erase(from.made, same) != 0) remove(*same);
    }
}

void Acceptor::Listener::begin(SessionHost& host, HostObserver* observer) {
    host.begin(observer);
    if (host.file() != nullptr) keeper_.keep(*host.file());
}

void Acceptor::Listener::end(SessionHost& host) {
    host.end();
    if (host.file() != nullptr) keeper_.forget(*host.file());
}

void Acceptor::Listener::remove(SessionHost& host) {
    end(host);
    // The files of a session that never logged on.
    if (host.file() != nullptr && !host.has_logged_on()) host.file()->remove_new_files();
    roster_.remove(host);
}

void Acceptor::Listener::add_template(SessionOptions model, Application& application, std::size_t most,
                                      std::function<bool(std::string_view name)> is_disabled) {
    check_store(model);
    io_->call([&] { templates_.push_back({std::move(model), &application, most, std::move(is_disabled), {}}); });
}

void Acceptor::Listener::remove(const SessionHandle& session) {
    const auto all = roster_.all();
    const auto found = std::ranges::find_if(all, [&](const auto& one) { return &one->handle() == &session; });
    if (found == all.end()) return;
    const auto& host = *found;
    // New connections no longer find it; one that was handed to it precedes the end in the queue of its thread.
    io_->call([&] {
        roster_.remove(*host);
        for (auto& from : templates_) std::erase(from.made, host);
    });
    host->io().call([&] { end(*host); });
}

std::vector<std::shared_ptr<SessionHandle>> Acceptor::Listener::remove_template(const fix::SessionConfig& ids) {
    std::vector<std::shared_ptr<SessionHandle>> made;
    io_->call([&] {
        std::erase_if(templates_, [&](const Template& from) {
            const auto& config = from.model.config;
            if (config.version != ids.version || config.sender_comp_id != ids.sender_comp_id) return false;
            for (const auto& host : from.made) made.emplace_back(host, &host->handle());
            return true;
        });
    });
    return made;
}

void Acceptor::Listener::on_ready(std::uint32_t events, core::Moment now) {
    static_cast<void>(events);
    for (;;) {
        auto accepted = accepted_socket(socket_.get());
        if (!accepted) {
            if (accepted.error() != 0) pause_accepting(accepted.error(), now);
            break;
        }
        counters_.accepted.add();
        const auto& peer = accepted->peer;
        if (!options_.allowed.contains(peer)) {
            count_refusal({.reason = RefusalReason::not_allowed}, peer);
            continue;
        }
        make_room(peer, now);
        if (strangers_.size() + roster_.claimed() >= options_.max_connections) {
            count_refusal({.reason = RefusalReason::full, .detail = "max_connections"}, peer);
            continue;
        }
        take(std::move(accepted->socket), peer, now);
    }
    io_->wants_timer(slot_, next_deadline_ns());
}

void Acceptor::Listener::pause_accepting(int error, core::Moment now) {
    const auto why = std::generic_category().message(error);
    count_refusal({.reason = RefusalReason::full, .detail = why}, {});
    pause_.begin(*io_, socket_.get(), *this, now);
}

void Acceptor::Listener::make_room(const net::SocketAddress& peer, core::Moment now) {
    const auto host = peer.with_port(0);
    const auto is_same = [&](const std::unique_ptr<Stranger>& one) {
        return one->connection->peer().with_port(0) == host;
    };
    const auto any = [](const std::unique_ptr<Stranger>&) { return true; };
    const auto close_oldest = [&](const auto& among, std::string_view bound) {
        auto& oldest = **std::ranges::find_if(strangers_, among);
        look_at(oldest, now);  // its Logon may have been received
        if (oldest.connection != nullptr) turn_away(oldest, {.reason = RefusalReason::full, .detail = bound}, now);
        forget_strangers();
    };
    while (!strangers_.empty() && static_cast<std::size_t>(std::ranges::count_if(strangers_, is_same)) >=
                                      std::max<std::size_t>(options_.max_before_logon_per_address, 1)) {
        close_oldest(is_same, "max_before_logon_per_address");
    }
    while (!strangers_.empty() && strangers_.size() >= options_.max_before_logon) {
        close_oldest(any, "max_before_logon");
    }
    while (!strangers_.empty() && strangers_.size() + roster_.claimed() >= options_.max_connections) {
        close_oldest(any, "max_connections");
    }
}

void Acceptor::Listener::take(core::Descriptor socket, const net::SocketAddress& peer, core::Moment now) {
    send_at_once(socket.get());
    auto transport = tls_ ? make_tls_transport(*tls_, std::move(socket), {}) : make_tcp_transport(std::move(socket));
    auto stranger = std::make_unique<Stranger>(std::make_unique<Connection>(std::move(transport), peer, now),
                                               InputBuffer{options_.first_message_bytes});
    stranger->connection->watch(*io_, *this);
    strangers_.push_back(std::move(stranger));
}

void Acceptor::Listener::on_ready(Connection& connection, core::Moment now) {
    const auto found =
        std::ranges::find_if(strangers_, [&](const auto& one) { return one->connection.get() == &connection; });
    if (found == strangers_.end()) return;
    look_at(**found, now);
    forget_strangers();
}

void Acceptor::Listener::look_at(Stranger& stranger, core::Moment now) {
    const bool alive = stranger.connection->receive(stranger.input);
    identify(stranger, now);
    if (stranger.connection == nullptr || alive) return;
    auto& transport = stranger.connection->transport();
    if (transport.failed_to_begin()) {
        count_refusal({.reason = RefusalReason::tls, .detail = transport.failure()}, stranger.connection->peer());
    }
    stranger.connection->unwatch();
    io_->retire(std::move(stranger.connection));
}

void Acceptor::Listener::on_signal(core::Moment now) {
    take_answers(now);
    forget_strangers();
}

void Acceptor::Listener::turn_away(Stranger& stranger, const Refusal& why, core::Moment now) {
    count_refusal(why, stranger.connection->peer());
    farewell_.add(std::move(stranger.connection), now);
    io_->wants_timer(slot_, next_deadline_ns());
}

void Acceptor::Listener::count_refusal(const Refusal& why, const net::SocketAddress& peer) {
    switch (why.reason) {
        case RefusalReason::not_allowed: counters_.not_allowed.add(); break;
        case RefusalReason::full: counters_.full.add(); break;
        case RefusalReason::silent: counters_.silent.add(); break;
        case RefusalReason::tls: counters_.handshakes_failed.add(); break;
        case RefusalReason::duplicate: counters_.duplicate.add(); break;
        case RefusalReason::no_store: counters_.no_store.add(); break;
        case RefusalReason::not_admitted: counters_.not_admitted.add(); break;
        default: counters_.unknown.add(); break;
    }
    if (options_.observer == nullptr) return;
    auto told = why;
    told.peer = peer;
    options_.observer->on_refused(told);
}

void Acceptor::Listener::on_host_closed(Closed reason, core::Moment now) {
    static_cast<void>(reason), static_cast<void>(now);
    io_->signal(slot_);  // the session is still on the stack
}

/// Removes connections that have found their session or ended, and sessions of templates whose peer never logged on.
void Acceptor::Listener::forget_strangers() {
    std::erase_if(strangers_, [](const auto& one) { return one->connection == nullptr; });
    for (auto& from : templates_) {
        std::erase_if(from.made, [&](const auto& host) {
            if (host->claimed() || host->has_logged_on()) return false;
            remove(*host);
            return true;
        });
    }
}

std::int64_t Acceptor::Listener::on_timer(core::Moment now) {
    const auto patience = std::chrono::nanoseconds{options_.first_message_timeout}.count();
    for (const auto& stranger : strangers_) {
        if (now.monotonic_ns - stranger->connection->since_ns() < patience) continue;
        const auto& transport = stranger->connection->transport();
        const bool handshake = transport.failed_to_begin();
        auto reason = handshake ? RefusalReason::tls : RefusalReason::silent;
        if (stranger->asked) reason = RefusalReason::not_admitted;
        turn_away(*stranger, {.reason = reason, .detail = stranger->asked ? "no answer in time" : transport.failure()},
                  now);
    }
    farewell_.run(now);
    pause_.run(*io_, socket_.get(), *this, now);
    forget_strangers();
    return next_deadline_ns();
}

std::int64_t Acceptor::Listener::next_deadline_ns() const noexcept {
    const auto patience = std::chrono::nanoseconds{options_.first_message_timeout}.count();
    auto next = std::min(farewell_.next_deadline_ns(), pause_.next_deadline_ns());
    for (const auto& stranger : strangers_) {
        if (stranger->connection == nullptr) continue;
        next = std::min(next, stranger->connection->since_ns() + patience);
    }
    return next;
}

void Acceptor::Listener::on_drain(core::Moment now, std::int64_t deadline_ns) {
    static_cast<void>(deadline_ns);
    // Accepts no further peer.
    io_->unwatch(socket_.get(), *this);
    for (const auto& stranger : strangers_) farewell_.add(std::move(stranger->connection), now);
    strangers_.clear();
}

}  // namespace millpond::engine
