#include <millpond/engine/replica_server.hpp>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <sys/epoll.h>

#include <millpond/core/clock.hpp>
#include <millpond/fix/utc_time.hpp>

#include "replica_listener.hpp"
#include "replica_source.hpp"
#include "store_opening.hpp"
#include "tcp_sockets.hpp"
#include "tls_transport.hpp"

namespace millpond::engine {
namespace {

using replication::Reason;

constexpr std::size_t kGuestsLeavingAtMost = 16;
constexpr std::size_t kHelloBytes = 2 * (replication::kHeaderBytes + replication::kMostControlBytes);
constexpr std::size_t kReplicaInputBytes = std::size_t{256} * 1024;
constexpr std::size_t kReplicaMessagesBuffered = 4;  // of the longest, where that is more
constexpr std::size_t kReplicaPieces = 256;

ReplicaRefusal refusal_of(Reason reason) noexcept {
    switch (reason) {
        case Reason::version: return ReplicaRefusal::version;
        case Reason::not_admitted: return ReplicaRefusal::token;
        case Reason::unknown_session: return ReplicaRefusal::unknown_session;
        case Reason::superseded: return ReplicaRefusal::superseded;
        case Reason::store: return ReplicaRefusal::store;
        case Reason::replaced:
        case Reason::protocol: break;
    }
    return ReplicaRefusal::protocol;
}

/// SendingTime of the newest message; 0: there is none.
std::int64_t newest_utc_ns(const fix::FileStore& store) noexcept {
    const auto newest = store.retrieve(store.next_sender() - 1);
    constexpr std::string_view kSendingTime =
        "\x01"
        "52=";
    const auto at = newest ? newest->find(kSendingTime) : std::string_view::npos;
    if (at == std::string_view::npos) return 0;
    const auto begin = at + kSendingTime.size();
    return fix::parse_utc_timestamp(newest->substr(begin, newest->find('\x01', begin) - begin)).value_or(0);
}

}  // namespace

std::string_view name(ReplicaRefusal reason) noexcept {
    switch (reason) {
        case ReplicaRefusal::not_allowed: return "address not allowed";
        case ReplicaRefusal::tls: return "TLS handshake failed";
        case ReplicaRefusal::not_a_primary: return "not a primary";
        case ReplicaRefusal::version: return "other version of the protocol";
        case ReplicaRefusal::token: return "wrong token";
        case ReplicaRefusal::unknown_session: return "unknown session";
        case ReplicaRefusal::superseded: return "superseded";
        case ReplicaRefusal::full: return "too many connections";
        case ReplicaRefusal::store: return "store";
        case ReplicaRefusal::protocol: return "protocol";
    }
    return "unknown";
}

ReplicaServer::ReplicaServer(IoThread& io, Options options)
    : io_(&io), listener_(std::make_unique<Listener>(io, std::move(options))) {
    io_->call([&] { listener_->begin(); });
}

ReplicaServer::~ReplicaServer() {
    io_->call([&] { listener_->end(); });
}

std::uint16_t ReplicaServer::port() const noexcept { return listener_->port(); }

bool ReplicaServer::add(const SessionOptions& session) { return listener_->add(session); }

void ReplicaServer::remove(std::string_view name) {
    io_->call([&] { listener_->remove(name); });
}

std::vector<ReplicaStatus> ReplicaServer::replicas() const { return listener_->replicas(); }

std::vector<metrics::Registration> ReplicaServer::add_metrics(metrics::Registry& registry) const {
    return listener_->add_metrics(registry);
}

std::expected<std::uint64_t, std::string> ReplicaServer::promote(std::string_view name, bool force) {
    std::expected<std::uint64_t, std::string> result;
    io_->call([&] { result = listener_->promote(name, force); });
    return result;
}

ReplicaServer::Listener::Listener(IoThread& io, Options options)
    : io_(&io),
      options_(std::move(options)),
      tls_(options_.tls ? std::make_unique<TlsContext>(TlsRole::server, *options_.tls) : nullptr),
      farewell_(io, kGuestsLeavingAtMost) {
    auto listening = listening_socket(options_.address, options_.port);
    socket_ = std::move(listening.socket);
    port_ = listening.port;
}

void ReplicaServer::Listener::begin() {
    slot_ = io_->join(*this);
    io_->watch(socket_.get(), EPOLLIN, *this, false);
}

void ReplicaServer::Listener::end() {
    io_->unwatch(socket_.get(), *this);
    guests_.clear();
    farewell_.clear();
    for (const auto& replica : replicas_) {
        if (replica->store != nullptr) keeper_.forget(*replica->store);
    }
    io_->leave(slot_);
}

ReplicaServer::Listener::Replica* ReplicaServer::Listener::find(std::string_view name) const noexcept {
    const auto found =
        std::ranges::find_if(replicas_, [&](const auto& replica) { return replica->status.name == name; });
    return found == replicas_.end() ? nullptr : found->get();
}

bool ReplicaServer::Listener::add(const SessionOptions& session) {
    const auto identity = identity_of(session.config);
    if (session.store.file.empty())
        throw std::invalid_argument(identity.name() + ": a standby needs a store in a file");
    auto replica = std::make_unique<Replica>(Replica{.identity = identity.text(),
                                                     .most_message = session.config.max_message_bytes,
                                                     .store = {},
                                                     .sink = {},
                                                     .status = {.name = identity.name()}});
    auto opened = open_store(session, core::utc_nanos());
    replica->store.reset(static_cast<fix::FileStore*>(opened.release()));
    const bool is_replica = ReplicaSink::attach(*replica->store);
    replica->sink = std::make_unique<ReplicaSink>(*replica->store, replica->most_message);
    replica->status.heard_utc_ns = newest_utc_ns(*replica->store);
    show(*replica, {});
    io_->call([&] {
        if (find(replica->status.name) != nullptr) {
            throw std::invalid_argument("the session " + replica->status.name + " is there twice");
        }
        if (is_replica) {
            keeper_.keep(*replica->store);
        } else {
            replica->status.is_promoted = true;
            replica->sink.reset();
            replica->store.reset();
        }
        const std::lock_guard guard{lock_};
        replicas_.push_back(std::move(replica));
    });
    return is_replica;
}

void ReplicaServer::Listener::remove(std::string_view name) {
    const auto* const replica = find(name);
    if (replica == nullptr) return;
    part_from(*replica, "the session is removed", io_->now());
    forget_parted();
    if (replica->store != nullptr) keeper_.forget(*replica->store);
    const std::lock_guard guard{lock_};
    std::erase_if(replicas_, [&](const auto& one) { return one.get() == replica; });
}

std::vector<ReplicaStatus> ReplicaServer::Listener::replicas() const {
    const std::lock_guard guard{lock_};
    std::vector<ReplicaStatus> all;
    for (const auto& replica : replicas_) all.push_back(replica->status);
    return all;
}

std::vector<metrics::Registration> ReplicaServer::Listener::add_metrics(metrics::Registry& registry) const {
    std::vector<metrics::Registration> list;
    for (std::size_t i = 0; i < refusals_.size(); ++i) {
        std::string reason{engine::name(static_cast<ReplicaRefusal>(i))};
        std::ranges::replace(reason, ' ', '_');
        list.push_back(registry.add_counter(
            {"millpond_fix_replica_refusals_total", "Primaries that this standby turned away.", {{"reason", reason}}},
            refusals_[i]));
    }
    return list;
}

std::expected<std::uint64_t, std::string> ReplicaServer::Listener::promote(std::string_view name, bool force) {
    auto* const replica = find(name);
    if (replica == nullptr) return std::unexpected("there is no standby of a session '" + std::string{name} + "'");
    if (replica->store == nullptr) return replica->status.epoch;
    auto& store = *replica->store;
    if (store.standing().role == fix::StoreRole::filling && !force) {
        return std::unexpected(replica->status.name +
                               ": this copy may lack messages that the counterparty has: it was never whole, or the "
                               "primary went on without it");
    }
    const auto now = io_->now();
    ReplicaSink::promote(store);
    show(*replica, now);
    const auto epoch = store.standing().epoch;
    for (const auto& guest : guests_) {
        if (guest->replica != replica) continue;
        tell(*guest, Reason::superseded, epoch, "the standby has taken over");
        part(*guest, {}, now);
    }
    forget_parted();
    keeper_.forget(store);
    replica->sink.reset();
    replica->store.reset();
    const std::lock_guard guard{lock_};
    replica->status.is_promoted = true;
    return epoch;
}

void ReplicaServer::Listener::on_ready(std::uint32_t events, core::Moment now) {
    static_cast<void>(events);
    for (;;) {
        auto accepted = accepted_socket(socket_.get());
        if (!accepted) {
            if (accepted.error() != 0) pause_accepting(accepted.error(), now);
            break;
        }
        if (!options_.allowed.contains(accepted->peer)) {
            count(ReplicaRefusal::not_allowed, accepted->peer, {}, {});
            continue;
        }
        make_room(now);
        send_at_once(accepted->socket.get());
        auto transport = tls_ ? make_tls_transport(*tls_, std::move(accepted->socket), {})
                              : make_tcp_transport(std::move(accepted->socket));
        guests_.push_back(std::make_unique<Guest>(
            Guest{.connection = std::make_unique<Connection>(std::move(transport), accepted->peer, now),
                  .input = InputBuffer{kHelloBytes},
                  .output = OutputQueue{kReplicaPieces, kHelloBytes},
                  .replica = nullptr,
                  .heard_ns = now.monotonic_ns}));
        guests_.back()->connection->watch(*io_, *this);
    }
    io_->wants_timer(slot_, next_deadline_ns());
}

void ReplicaServer::Listener::pause_accepting(int error, core::Moment now) {
    count(ReplicaRefusal::full, {}, {}, std::generic_category().message(error));
    pause_.begin(*io_, socket_.get(), *this, now);
}

/// If there are too many strangers, the oldest is disconnected.
void ReplicaServer::Listener::make_room(core::Moment now) {
    const auto is_stranger = [](const auto& guest) { return guest->replica == nullptr; };
    if (static_cast<std::size_t>(std::ranges::count_if(guests_, is_stranger)) < kMostStrangers) return;
    auto& oldest = **std::ranges::find_if(guests_, is_stranger);
    count_stranger(oldest, "too many connections without a Hello");
    part(oldest, {}, now);
    forget_parted();
}

void ReplicaServer::Listener::on_ready(Connection& connection, core::Moment now) {
    const auto found =
        std::ranges::find_if(guests_, [&](const auto& guest) { return guest->connection.get() == &connection; });
    if (found == guests_.end()) return;
    auto& guest = **found;
    bool is_alive = true;
    bool goes_on = true;
    do {
        is_alive = guest.connection->receive(guest.input);
        goes_on = take(guest, now);
    } while (is_alive && goes_on && guest.connection->transport().holds_input());
    is_alive = guest.connection->send(guest.output, [](std::uint64_t) {}) && is_alive;
    if (!goes_on) {
        if (guest.replica != nullptr) {
            const auto& sink = *guest.replica->sink;
            count(refusal_of(sink.reason()), connection.peer(), guest.replica->status.name, sink.failure());
        }
        part(guest, guest.replica != nullptr ? guest.replica->sink->failure() : std::string_view{}, now);
    } else if (!is_alive) {
        if (guest.replica == nullptr) count_stranger(guest, "the connection ended before its Hello");
        part(guest, "the primary closed the connection", now);
    }
    forget_parted();
    io_->wants_timer(slot_, next_deadline_ns());
}

bool ReplicaServer::Listener::take(Guest& guest, core::Moment now) {
    if (guest.input.filled().empty()) return true;
    if (guest.replica == nullptr && !take_hello(guest, now)) return false;
    if (guest.replica == nullptr) return true;
    guest.heard_ns = now.monotonic_ns;
    auto& sink = *guest.replica->sink;
    guest.input.consume(sink.take(guest.input.filled(), guest.output));
    const auto dropped = sink.take_dropped();
    if (dropped != 0 && options_.dropped) options_.dropped(guest.replica->status.name, dropped);
    show(*guest.replica, now);
    return sink.failure().empty();
}

void ReplicaServer::Listener::count(ReplicaRefusal reason, const net::SocketAddress& peer, std::string_view session,
                                    std::string_view detail) {
    refusals_[static_cast<std::size_t>(reason)].add();
    if (options_.refused) options_.refused(reason, peer, session, detail);
}

/// It has not said which session it is of.
void ReplicaServer::Listener::count_stranger(const Guest& guest, std::string_view why) {
    const auto& transport = guest.connection->transport();
    if (transport.failed_to_begin()) {
        count(ReplicaRefusal::tls, guest.connection->peer(), {}, transport.failure());
    } else {
        count(ReplicaRefusal::not_a_primary, guest.connection->peer(), {}, why);
    }
}

void ReplicaServer::Listener::tell(Guest& guest, Reason reason, std::uint64_t epoch, std::string_view text) {
    static_cast<void>(write_frame(guest.output, replication::Refused{.reason = reason, .epoch = epoch, .text = text}));
}

/// False.
bool ReplicaServer::Listener::refuse(Guest& guest, Reason reason, std::uint64_t epoch, std::string_view session,
                                     std::string_view text) {
    tell(guest, reason, epoch, text);
    count(refusal_of(reason), guest.connection->peer(), session, text);
    return false;
}

/// A primary for a session that runs here.
bool ReplicaServer::Listener::refuse_of_promoted(Guest& guest, const Replica& replica, std::uint64_t epoch) {
    const auto own = replica.status.epoch;
    if (epoch < own) {
        return refuse(guest, Reason::superseded, own, replica.status.name,
                      "the session runs here with epoch " + std::to_string(own) + ", the primary is of epoch " +
                          std::to_string(epoch));
    }
    if (epoch == own) {
        return refuse(guest, Reason::store, own, replica.status.name,
                      "both machines run the session with epoch " + std::to_string(own) +
                          ": stop one, remove its store, and start it as the standby");
    }
    if (options_.superseded) options_.superseded(replica.status.name, epoch);
    return refuse(guest, Reason::store, own, replica.status.name,
                  "the standby runs the session itself, until it knows that another machine has taken over");
}

/// Identifies the primary. False: it is refused.
bool ReplicaServer::Listener::take_hello(Guest& guest, core::Moment now) {
    const auto read = replication::read_frame(guest.input.filled(), 0);
    if (!read && read.error() == replication::Fault::incomplete) return true;
    const auto* const hello = read ? std::get_if<replication::Hello>(&read->frame) : nullptr;
    if (hello == nullptr) {
        count_stranger(guest, "its first bytes are no Hello");
        return false;
    }
    const auto session = fix::StoreIdentity::of_text(hello->identity).name();
    if (hello->version != replication::kVersion) {
        return refuse(guest, Reason::version, 0, {},
                      "the primary speaks version " + std::to_string(hello->version) +
                          " of the replication protocol, the standby " + std::to_string(replication::kVersion));
    }
    if (options_.admits && !options_.admits(hello->token)) {
        return refuse(guest, Reason::not_admitted, 0, session, "the token is wrong");
    }
    const auto found =
        std::ranges::find_if(replicas_, [&](const auto& one) { return one->identity == hello->identity; });
    if (found == replicas_.end()) {
        return refuse(guest, Reason::unknown_session, 0, session, "the standby has no session with these CompIDs");
    }
    auto& replica = **found;
    if (replica.store == nullptr) return refuse_of_promoted(guest, replica, hello->position.epoch);
    {
        const std::lock_guard guard{lock_};
        ++replica.status.connections;
    }
    // The first connection may be half open, and the primary has given it up.
    for (const auto& other : guests_) {
        if (other->replica != &replica) continue;
        tell(*other, Reason::replaced, 0, "a newer connection came for the session");
        part(*other, "a newer connection came", now);
    }
    if (!replica.sink->greet(*hello, guest.output)) {
        count(refusal_of(replica.sink->reason()), guest.connection->peer(), session, replica.sink->failure());
        const std::lock_guard guard{lock_};
        ++replica.status.refused;
        replica.status.error = replica.sink->failure();
        return false;
    }
    guest.replica = &replica;
    {
        const std::lock_guard guard{lock_};
        replica.status.peer = guest.connection->peer().to_string();
        replica.status.error.clear();
    }
    InputBuffer larger{std::max(
        kReplicaInputBytes, kReplicaMessagesBuffered *
                                (replica.most_message + replication::kHeaderBytes + replication::kRecordExtraBytes))};
    guest.input.consume(read->bytes);
    static_cast<void>(larger.take_over(guest.input));
    guest.input = std::move(larger);
    return true;
}

/// Ends the connection after its output is written.
void ReplicaServer::Listener::part(Guest& guest, std::string_view why, core::Moment now) {
    if (guest.connection == nullptr) return;
    if (auto* const replica = std::exchange(guest.replica, nullptr)) {
        const std::lock_guard guard{lock_};
        replica->status.peer.clear();
        replica->status.is_filled = false;
        if (!why.empty()) replica->status.error = why;
        if (replica->sink != nullptr && !replica->sink->failure().empty()) ++replica->status.refused;
    }
    farewell_.add(std::move(guest.connection), guest.output, now);
}

void ReplicaServer::Listener::part_from(const Replica& replica, std::string_view why, core::Moment now) {
    for (const auto& guest : guests_) {
        if (guest->replica == &replica) part(*guest, why, now);
    }
}

void ReplicaServer::Listener::forget_parted() {
    std::erase_if(guests_, [](const auto& guest) { return guest->connection == nullptr; });
}

void ReplicaServer::Listener::show(Replica& replica, core::Moment now) {
    const auto& store = *replica.store;
    const auto standing = store.standing();
    const std::lock_guard guard{lock_};
    auto& status = replica.status;
    status.is_whole = standing.role != fix::StoreRole::filling;
    status.is_filled = replica.sink->is_filled();
    status.epoch = standing.epoch;
    status.next_sender = store.next_sender();
    status.next_target = store.next_target();
    status.records = replica.sink->records();
    status.store_failures = store.counters().failures.read();
    if (now.utc_ns != 0) status.heard_utc_ns = now.utc_ns;
}

std::int64_t ReplicaServer::Listener::on_timer(core::Moment now) {
    for (const auto& guest : guests_) {
        if (now.monotonic_ns - guest->heard_ns < options_.silence.count()) continue;
        if (guest->replica == nullptr) count_stranger(*guest, "no Hello in time");
        part(*guest, "the primary is silent", now);
    }
    forget_parted();
    farewell_.run(now);
    pause_.run(*io_, socket_.get(), *this, now);
    return next_deadline_ns();
}

std::int64_t ReplicaServer::Listener::next_deadline_ns() const noexcept {
    auto next = std::min(farewell_.next_deadline_ns(), pause_.next_deadline_ns());
    for (const auto& guest : guests_) next = std::min(next, guest->heard_ns + options_.silence.count());
    return next;
}

}  // namespace millpond::engine
