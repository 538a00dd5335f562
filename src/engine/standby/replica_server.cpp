#include <millpond/engine/replica_server.hpp>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <sys/epoll.h>

#include <millpond/core/clock.hpp>
#include <millpond/fix/store_identity.hpp>
#include <millpond/fix/utc_time.hpp>
#include <millpond/tls/failure.hpp>

#include "src/engine/io/tcp_sockets.hpp"
#include "src/engine/io/tls_transport.hpp"
#include "src/engine/standby/replica_listener.hpp"
#include "src/engine/standby/replica_source.hpp"
#include "src/engine/store/store_opening.hpp"

namespace millpond::engine {
namespace {

using replication::Reason;

constexpr std::size_t kMaxLingeringPrimaries = 16;
constexpr std::int64_t kSessionPatienceNs =
    250'000'000;  // less than a primary's timeout, so that the primary gets the reason
constexpr std::size_t kHelloBytes = 2 * (replication::kHeaderBytes + replication::kMaxControlBytes);
constexpr std::size_t kReplicaInputBytes = std::size_t{256} * 1024;
constexpr std::size_t kReplicaMessagesBuffered = 4;  // minimum buffer, in messages of maximum size
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

/// SendingTime of the newest message; 0 if there is none.
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
        case ReplicaRefusal::tls: return tls::kHandshakeFailed;
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

void ReplicaServer::renew(std::unique_ptr<tls::Context> tls, std::function<bool(std::string_view token)> admits) {
    io_->call([&] { listener_->renew(std::move(tls), std::move(admits)); });
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
      loop_(&io.loop()),
      options_(std::move(options)),
      tls_(options_.tls ? std::make_unique<tls::Context>(tls::Role::server, *options_.tls) : nullptr),
      lingering_(io.loop(), kMaxLingeringPrimaries) {
    auto listening = listening_socket(options_.address, options_.port);
    socket_ = std::move(listening.socket);
    port_ = listening.port;
}

void ReplicaServer::Listener::begin() {
    slot_ = loop_->join(*this);
    loop_->watch(socket_.get(), EPOLLIN, *this, false);
}

void ReplicaServer::Listener::end() {
    loop_->unwatch(socket_.get(), *this);
    primaries_.clear();
    lingering_.clear();
    for (const auto& replica : replicas_) {
        if (replica->store != nullptr) keeper_.forget(*replica->store);
    }
    loop_->leave(slot_);
}

ReplicaServer::Listener::Replica* ReplicaServer::Listener::find(std::string_view name) const noexcept {
    const auto found =
        std::ranges::find_if(replicas_, [&](const auto& replica) { return replica->status.name == name; });
    return found == replicas_.end() ? nullptr : found->get();
}

bool ReplicaServer::Listener::add(const SessionOptions& session) {
    const auto identity = fix::StoreIdentity::of(session.config);
    if (session.store.file.empty())
        throw std::invalid_argument(identity.name() + ": a standby needs a store in a file");
    auto replica = std::make_unique<Replica>(Replica{.identity = identity.text(),
                                                     .max_message = session.config.max_message_bytes,
                                                     .store = {},
                                                     .sink = {},
                                                     .status = {.name = identity.name()}});
    auto opened = open_store(session, core::utc_nanos());
    replica->store.reset(static_cast<fix::FileStore*>(opened.release()));
    const bool is_replica = ReplicaSink::attach(*replica->store);
    replica->sink = std::make_unique<ReplicaSink>(*replica->store, replica->max_message);
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
        {
            const std::lock_guard guard{lock_};
            replicas_.push_back(std::move(replica));
        }
        retry_waiting(loop_->now());
    });
    return is_replica;
}

void ReplicaServer::Listener::remove(std::string_view name) {
    const auto* const replica = find(name);
    if (replica == nullptr) return;
    disconnect_all(*replica, "the session is removed", loop_->now());
    remove_disconnected();
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
    if (store.standby_state().role == fix::StoreRole::filling && !force) {
        return std::unexpected(replica->status.name +
                               ": this copy may lack messages that the counterparty has: it was never whole, or the "
                               "primary went on without it");
    }
    const auto now = loop_->now();
    ReplicaSink::promote(store);
    show(*replica, now);
    const auto epoch = store.standby_state().epoch;
    for (const auto& primary : primaries_) {
        if (primary->replica != replica) continue;
        send_refusal(*primary, Reason::superseded, epoch, "the standby has taken over");
        disconnect(*primary, {}, now);
    }
    remove_disconnected();
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
        limit_unidentified(now);
        send_at_once(accepted->socket.get());
        auto transport = tls_ ? make_tls_transport(*tls_, std::move(accepted->socket), {})
                              : make_tcp_transport(std::move(accepted->socket));
        primaries_.push_back(std::make_unique<Primary>(
            Primary{.connection = std::make_unique<Connection>(std::move(transport), accepted->peer, now),
                    .input = InputBuffer{kHelloBytes},
                    .output = OutputQueue{kReplicaPieces, kHelloBytes},
                    .replica = nullptr,
                    .heard_ns = now.monotonic_ns}));
        primaries_.back()->connection->watch(*loop_, *this);
    }
    loop_->wants_timer(slot_, next_deadline_ns());
}

void ReplicaServer::Listener::pause_accepting(int error, core::Moment now) {
    count(ReplicaRefusal::full, {}, {}, std::generic_category().message(error));
    pause_.begin(*loop_, socket_.get(), *this, now);
}

/// Disconnects the oldest unidentified connection if there are too many.
void ReplicaServer::Listener::limit_unidentified(core::Moment now) {
    const auto is_unidentified = [](const auto& primary) { return primary->replica == nullptr; };
    if (static_cast<std::size_t>(std::ranges::count_if(primaries_, is_unidentified)) < kMaxUnidentified) return;
    auto& oldest = **std::ranges::find_if(primaries_, is_unidentified);
    count_unidentified(oldest, "too many connections without a Hello");
    disconnect(oldest, {}, now);
    remove_disconnected();
}

void ReplicaServer::Listener::on_ready(Connection& connection, core::Moment now) {
    const auto found =
        std::ranges::find_if(primaries_, [&](const auto& primary) { return primary->connection.get() == &connection; });
    if (found == primaries_.end()) return;
    auto& primary = **found;
    bool is_alive = true;
    bool goes_on = true;
    do {
        is_alive = primary.connection->receive(primary.input);
        goes_on = read(primary, now);
    } while (is_alive && goes_on && primary.connection->transport().holds_input());
    finish(primary, is_alive, goes_on, now);
    remove_disconnected();
    loop_->wants_timer(slot_, next_deadline_ns());
}

/// Sends the output of a primary, and disconnects it if it is refused or gone.
void ReplicaServer::Listener::finish(Primary& primary, bool is_alive, bool goes_on, core::Moment now) {
    is_alive = primary.connection->send(primary.output, [](std::uint64_t) {}) && is_alive;
    if (!goes_on) {
        if (primary.replica != nullptr) {
            const auto& sink = *primary.replica->sink;
            count(refusal_of(sink.reason()), primary.connection->peer(), primary.replica->status.name, sink.failure());
        }
        disconnect(primary, primary.replica != nullptr ? primary.replica->sink->failure() : std::string_view{}, now);
    } else if (!is_alive) {
        if (primary.replica == nullptr) count_unidentified(primary, "the connection ended before its Hello");
        disconnect(primary, "the primary closed the connection", now);
    }
}

/// Retries the primaries that wait for a session.
void ReplicaServer::Listener::retry_waiting(core::Moment now) {
    for (const auto& primary : primaries_) {
        if (primary->awaits_session && primary->connection != nullptr) finish(*primary, true, read(*primary, now), now);
    }
    remove_disconnected();
}

bool ReplicaServer::Listener::read(Primary& primary, core::Moment now) {
    if (primary.input.filled().empty()) return true;
    if (primary.replica == nullptr && !read_hello(primary, now)) return false;
    if (primary.replica == nullptr) return true;
    primary.heard_ns = now.monotonic_ns;
    auto& sink = *primary.replica->sink;
    primary.input.consume(sink.receive(primary.input.filled(), primary.output));
    const auto dropped = sink.consume_dropped();
    if (dropped != 0 && options_.dropped) options_.dropped(primary.replica->status.name, dropped);
    show(*primary.replica, now);
    return sink.failure().empty();
}

void ReplicaServer::Listener::count(ReplicaRefusal reason, const net::SocketAddress& peer, std::string_view session,
                                    std::string_view detail) {
    refusals_[static_cast<std::size_t>(reason)].add();
    if (options_.refused) options_.refused(reason, peer, session, detail);
}

/// Counts a connection that ends without having named its session.
void ReplicaServer::Listener::count_unidentified(const Primary& primary, std::string_view why) {
    const auto& transport = primary.connection->transport();
    if (transport.failed_to_begin()) {
        count(ReplicaRefusal::tls, primary.connection->peer(), {}, transport.failure());
    } else {
        count(ReplicaRefusal::not_a_primary, primary.connection->peer(), {}, why);
    }
}

void ReplicaServer::Listener::send_refusal(Primary& primary, Reason reason, std::uint64_t epoch,
                                           std::string_view text) {
    static_cast<void>(
        write_frame(primary.output, replication::Refused{.reason = reason, .epoch = epoch, .text = text}));
}

/// Sends and counts a refusal. Returns false.
bool ReplicaServer::Listener::refuse(Primary& primary, Reason reason, std::uint64_t epoch, std::string_view session,
                                     std::string_view text) {
    send_refusal(primary, reason, epoch, text);
    count(refusal_of(reason), primary.connection->peer(), session, text);
    return false;
}

/// Refuses a primary of a session that runs here. Returns false.
bool ReplicaServer::Listener::refuse_promoted(Primary& primary, const Replica& replica, std::uint64_t epoch) {
    const auto own = replica.status.epoch;
    if (epoch < own) {
        return refuse(primary, Reason::superseded, own, replica.status.name,
                      "the session runs here with epoch " + std::to_string(own) + ", the primary is of epoch " +
                          std::to_string(epoch));
    }
    if (epoch == own) {
        return refuse(primary, Reason::store, own, replica.status.name,
                      "both machines run the session with epoch " + std::to_string(own) +
                          ": stop one, remove its store, and start it as the standby");
    }
    if (options_.superseded) options_.superseded(replica.status.name, epoch);
    return refuse(primary, Reason::store, own, replica.status.name,
                  "the standby runs the session itself, until it knows that another machine has taken over");
}

/// Reads the Hello of a primary. Returns false if it is refused.
bool ReplicaServer::Listener::read_hello(Primary& primary, core::Moment now) {
    const auto read = replication::read_frame(primary.input.filled(), 0);
    if (!read && read.error() == replication::Fault::incomplete) return true;
    const auto* const hello = read ? std::get_if<replication::Hello>(&read->frame) : nullptr;
    if (hello == nullptr) {
        count_unidentified(primary, "its first bytes are no Hello");
        return false;
    }
    const auto session = fix::StoreIdentity::of_text(hello->identity).name();
    if (hello->version != replication::kVersion) {
        return refuse(primary, Reason::version, 0, {},
                      "the primary speaks version " + std::to_string(hello->version) +
                          " of the replication protocol, the standby " + std::to_string(replication::kVersion));
    }
    if (options_.admits && !options_.admits(hello->token)) {
        return refuse(primary, Reason::not_admitted, 0, session, "the token is wrong");
    }
    const auto found =
        std::ranges::find_if(replicas_, [&](const auto& one) { return one->identity == hello->identity; });
    // The session may be added soon: at a start, a takeover or a reload.
    primary.awaits_session = found == replicas_.end() && now.monotonic_ns - primary.heard_ns < kSessionPatienceNs;
    if (primary.awaits_session) return true;
    if (found == replicas_.end()) {
        return refuse(primary, Reason::unknown_session, 0, session, "the standby has no session with these ids");
    }
    auto& replica = **found;
    if (replica.store == nullptr) return refuse_promoted(primary, replica, hello->position.epoch);
    {
        const std::lock_guard guard{lock_};
        ++replica.status.connections;
    }
    // The earlier connection may be half open and abandoned by the primary.
    for (const auto& other : primaries_) {
        if (other->replica != &replica) continue;
        send_refusal(*other, Reason::replaced, 0, "a newer connection came for the session");
        disconnect(*other, "a newer connection came", now);
    }
    if (!replica.sink->greet(*hello, primary.output)) {
        count(refusal_of(replica.sink->reason()), primary.connection->peer(), session, replica.sink->failure());
        const std::lock_guard guard{lock_};
        ++replica.status.refused;
        replica.status.error = replica.sink->failure();
        return false;
    }
    primary.replica = &replica;
    {
        const std::lock_guard guard{lock_};
        replica.status.peer = primary.connection->peer().to_string();
        replica.status.error.clear();
    }
    InputBuffer larger{std::max(
        kReplicaInputBytes,
        kReplicaMessagesBuffered * (replica.max_message + replication::kHeaderBytes + replication::kRecordExtraBytes))};
    primary.input.consume(read->bytes);
    static_cast<void>(larger.copy_from(primary.input));
    primary.input = std::move(larger);
    return true;
}

/// Ends the connection after its output is written.
void ReplicaServer::Listener::disconnect(Primary& primary, std::string_view why, core::Moment now) {
    if (primary.connection == nullptr) return;
    if (auto* const replica = std::exchange(primary.replica, nullptr)) {
        const std::lock_guard guard{lock_};
        replica->status.peer.clear();
        replica->status.is_filled = false;
        if (!why.empty()) replica->status.error = why;
        if (replica->sink != nullptr && !replica->sink->failure().empty()) ++replica->status.refused;
    }
    lingering_.add(std::move(primary.connection), primary.output, now);
}

void ReplicaServer::Listener::disconnect_all(const Replica& replica, std::string_view why, core::Moment now) {
    for (const auto& primary : primaries_) {
        if (primary->replica == &replica) disconnect(*primary, why, now);
    }
}

void ReplicaServer::Listener::remove_disconnected() {
    std::erase_if(primaries_, [](const auto& primary) { return primary->connection == nullptr; });
}

void ReplicaServer::Listener::show(Replica& replica, core::Moment now) {
    const auto& store = *replica.store;
    const auto standby_state = store.standby_state();
    const std::lock_guard guard{lock_};
    auto& status = replica.status;
    status.is_whole = standby_state.role != fix::StoreRole::filling;
    status.is_filled = replica.sink->is_filled();
    status.epoch = standby_state.epoch;
    status.next_sender = store.next_sender();
    status.next_target = store.next_target();
    status.records = replica.sink->records();
    status.store_damaged = store.counters().damaged.read();
    status.store_failures = store.counters().failures.read();
    if (now.utc_ns != 0) status.heard_utc_ns = now.utc_ns;
}

std::int64_t ReplicaServer::Listener::on_timer(core::Moment now) {
    for (const auto& primary : primaries_) {
        if (now.monotonic_ns - primary->heard_ns < options_.silence.count()) continue;
        if (primary->replica == nullptr) count_unidentified(*primary, "no Hello in time");
        disconnect(*primary, "the primary is silent", now);
    }
    retry_waiting(now);
    lingering_.run(now);
    pause_.run(*loop_, socket_.get(), *this, now);
    return next_deadline_ns();
}

std::int64_t ReplicaServer::Listener::next_deadline_ns() const noexcept {
    auto next = std::min(lingering_.next_deadline_ns(), pause_.next_deadline_ns());
    for (const auto& primary : primaries_) {
        next = std::min(next, primary->heard_ns + options_.silence.count());
        if (primary->awaits_session) next = std::min(next, primary->heard_ns + kSessionPatienceNs);
    }
    return next;
}

}  // namespace millpond::engine
