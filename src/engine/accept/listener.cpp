#include "src/engine/accept/listener.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/epoll.h>

#include <millpond/fix/session_ids.hpp>
#include <millpond/fix/store_identity.hpp>

#include "src/engine/io/tcp_sockets.hpp"
#include "src/engine/io/tls_transport.hpp"
#include "src/engine/store/store_opening.hpp"

namespace millpond::engine {
namespace {

constexpr std::size_t kMaxLingeringRefused = 64;

}  // namespace

Acceptor::Listener::Listener(IoThread& io, const Options& options)
    : io_(&io),
      loop_(&io.loop()),
      options_(options),
      tls_(options.tls ? std::make_unique<tls::Context>(tls::Role::server, *options.tls) : nullptr),
      lingering_(io.loop(), kMaxLingeringRefused) {
    auto listening = listening_socket(options.address, options.port);
    socket_ = std::move(listening.socket);
    port_ = listening.port;
}

Acceptor::Listener::~Listener() = default;

void Acceptor::Listener::begin() {
    slot_ = loop_->join(*this);
    answers_->open(*loop_, slot_);
    loop_->watch(socket_.get(), EPOLLIN, *this, false);
}

void Acceptor::Listener::end() {
    ended_ = true;
    answers_->close();
    loop_->unwatch(socket_.get(), *this);
    pending_.clear();
    lingering_.clear();
    for (auto& from : templates_) {
        for (const auto& host : std::exchange(from.made, {})) remove(*host);
    }
    loop_->leave(slot_);
}

SessionHandle& Acceptor::Listener::add(SessionOptions session, Application& application, IoThread* on) {
    session.config.role = fix::Role::acceptor;
    const auto identity = session.config;
    std::shared_ptr<SessionHost> same;
    io_->call([&] {  // in one step: the peer of a template's session may reconnect at any time
        remove_made(identity);
        same = roster_.find(identity);
    });
    if (same != nullptr) throw std::invalid_argument("the session " + same->name() + " is there twice");
    auto& thread = on != nullptr ? *on : *io_;
    auto host = std::make_shared<SessionHost>(std::move(session), application, thread);
    thread.call([&] { begin(*host, nullptr); });
    io_->call([&] {
        remove_made(identity);  // its peer may have reconnected meanwhile
        roster_.add(host);
    });
    return host->handle();
}

void Acceptor::Listener::remove_made(const fix::SessionConfig& identity) {
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
    // Remove the files of a session that never logged on.
    if (host.file() != nullptr && !host.has_logged_on()) host.file()->remove_new_files();
    roster_.remove(host);
}

void Acceptor::Listener::add_template(SessionOptions model, Application& application, std::size_t max_sessions,
                                      std::function<bool(std::string_view name)> is_disabled) {
    check_store(model);
    io_->call([&] {
        // Templates with more ids come first.
        const auto ids = fix::sub_ids(model.config);
        const auto place =
            std::ranges::find_if(templates_, [&](const Template& one) { return fix::sub_ids(one.model.config) < ids; });
        templates_.insert(place, {std::move(model), &application, max_sessions, std::move(is_disabled), {}});
    });
}

void Acceptor::Listener::remove(const SessionHandle& session) {
    const auto all = roster_.all();
    const auto found = std::ranges::find_if(all, [&](const auto& one) { return &one->handle() == &session; });
    if (found == all.end()) return;
    const auto& host = *found;
    // New connections no longer find the session. A connection that was passed to it comes before the end in the queue
    // of its thread.
    io_->call([&] {
        roster_.remove(*host);
        for (auto& from : templates_) std::erase(from.made, host);
    });
    host->io().call([&] { end(*host); });
}

std::vector<std::shared_ptr<SessionHandle>> Acceptor::Listener::remove_template(const fix::SessionConfig& ids) {
    std::vector<std::shared_ptr<SessionHandle>> made;
    auto identity = fix::StoreIdentity::of(ids);
    identity.target_comp_id.clear();
    io_->call([&] {
        std::erase_if(templates_, [&](const Template& from) {
            auto own = fix::StoreIdentity::of(from.model.config);
            own.target_comp_id.clear();
            if (own != identity) return false;
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
        limit_pending(peer, now);
        if (pending_.size() + roster_.claimed() >= options_.max_connections) {
            count_refusal({.reason = RefusalReason::full, .detail = "max_connections"}, peer);
            continue;
        }
        add_pending(std::move(accepted->socket), peer, now);
    }
    loop_->wants_timer(slot_, next_deadline_ns());
}

void Acceptor::Listener::pause_accepting(int error, core::Moment now) {
    const auto why = std::generic_category().message(error);
    count_refusal({.reason = RefusalReason::full, .detail = why}, {});
    pause_.begin(*loop_, socket_.get(), *this, now);
}

void Acceptor::Listener::limit_pending(const net::SocketAddress& peer, core::Moment now) {
    const auto host = peer.with_port(0);
    const auto is_same = [&](const std::unique_ptr<PendingConnection>& one) {
        return one->connection->peer().with_port(0) == host;
    };
    const auto any = [](const std::unique_ptr<PendingConnection>&) { return true; };
    const auto close_oldest = [&](const auto& among, std::string_view bound) {
        auto& oldest = **std::ranges::find_if(pending_, among);
        check(oldest, now);  // its Logon may have been received
        if (oldest.connection != nullptr) reject(oldest, {.reason = RefusalReason::full, .detail = bound}, now);
        remove_finished();
    };
    while (!pending_.empty() && static_cast<std::size_t>(std::ranges::count_if(pending_, is_same)) >=
                                    std::max<std::size_t>(options_.max_before_logon_per_address, 1)) {
        close_oldest(is_same, "max_before_logon_per_address");
    }
    while (!pending_.empty() && pending_.size() >= options_.max_before_logon) {
        close_oldest(any, "max_before_logon");
    }
    while (!pending_.empty() && pending_.size() + roster_.claimed() >= options_.max_connections) {
        close_oldest(any, "max_connections");
    }
}

void Acceptor::Listener::add_pending(core::Descriptor socket, const net::SocketAddress& peer, core::Moment now) {
    send_at_once(socket.get());
    auto transport = tls_ ? make_tls_transport(*tls_, std::move(socket), {}) : make_tcp_transport(std::move(socket));
    auto pending = std::make_unique<PendingConnection>(std::make_unique<Connection>(std::move(transport), peer, now),
                                                       InputBuffer{options_.first_message_bytes});
    pending->connection->watch(*loop_, *this);
    pending_.push_back(std::move(pending));
}

void Acceptor::Listener::on_ready(Connection& connection, core::Moment now) {
    const auto found =
        std::ranges::find_if(pending_, [&](const auto& one) { return one->connection.get() == &connection; });
    if (found == pending_.end()) return;
    check(**found, now);
    remove_finished();
}

void Acceptor::Listener::check(PendingConnection& pending, core::Moment now) {
    const bool alive = pending.connection->receive(pending.input);
    identify(pending, now);
    if (pending.connection == nullptr || alive) return;
    auto& transport = pending.connection->transport();
    if (transport.failed_to_begin()) {
        count_refusal({.reason = RefusalReason::tls, .detail = transport.failure()}, pending.connection->peer());
    }
    pending.connection->unwatch();
    loop_->retire(std::move(pending.connection));
}

void Acceptor::Listener::on_signal(core::Moment now) {
    apply_answers(now);
    remove_finished();
}

void Acceptor::Listener::reject(PendingConnection& pending, const Refusal& why, core::Moment now) {
    count_refusal(why, pending.connection->peer());
    lingering_.add(std::move(pending.connection), now);
    loop_->wants_timer(slot_, next_deadline_ns());
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
    auto refusal = why;
    refusal.peer = peer;
    options_.observer->on_refused(refusal);
}

void Acceptor::Listener::on_host_closed(Closed reason, core::Moment now) {
    static_cast<void>(reason), static_cast<void>(now);
    loop_->signal(slot_);  // the session is still on the stack
}

/// Removes connections that have found their session or ended, and sessions of templates whose peer never logged on.
void Acceptor::Listener::remove_finished() {
    std::erase_if(pending_, [](const auto& one) { return one->connection == nullptr; });
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
    for (const auto& pending : pending_) {
        if (now.monotonic_ns - pending->connection->since_ns() < patience) continue;
        const auto& transport = pending->connection->transport();
        const bool handshake = transport.failed_to_begin();
        auto reason = handshake ? RefusalReason::tls : RefusalReason::silent;
        if (pending->asked) reason = RefusalReason::not_admitted;
        reject(*pending, {.reason = reason, .detail = pending->asked ? "no answer in time" : transport.failure()}, now);
    }
    lingering_.run(now);
    pause_.run(*loop_, socket_.get(), *this, now);
    remove_finished();
    return next_deadline_ns();
}

std::int64_t Acceptor::Listener::next_deadline_ns() const noexcept {
    const auto patience = std::chrono::nanoseconds{options_.first_message_timeout}.count();
    auto next = std::min(lingering_.next_deadline_ns(), pause_.next_deadline_ns());
    for (const auto& pending : pending_) {
        if (pending->connection == nullptr) continue;
        next = std::min(next, pending->connection->since_ns() + patience);
    }
    return next;
}

void Acceptor::Listener::on_drain(core::Moment now, std::int64_t deadline_ns) {
    static_cast<void>(deadline_ns);
    // Stop accepting connections.
    loop_->unwatch(socket_.get(), *this);
    for (const auto& pending : pending_) lingering_.add(std::move(pending->connection), now);
    pending_.clear();
}

}  // namespace millpond::engine
