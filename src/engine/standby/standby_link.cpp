#include "src/engine/standby/standby_link.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/epoll.h>

#include "src/engine/io/tcp_sockets.hpp"
#include "src/engine/io/tls_transport.hpp"

namespace millpond::engine {
namespace {

using State = StandbyStatus::State;

constexpr std::size_t kLinkPieces = 8192;
constexpr std::size_t kCopiedBytes = std::size_t{1} << 20U;
constexpr std::size_t kMessagesCopied = 4;  // minimum buffer, in messages of maximum size
constexpr std::size_t kLinkInputBytes = 2 * (replication::kHeaderBytes + replication::kMaxControlBytes);
constexpr std::int64_t kFirstBackoffNanos = 50'000'000;  // doubles up to the next
constexpr std::int64_t kMaxBackoffNanos = 2'000'000'000;
constexpr std::int64_t kMaxSilenceNanos = 1'000'000'000;
constexpr int kPingsPerTimeout = 4;

}  // namespace

std::string_view name(StandbyStatus::State state) noexcept {
    switch (state) {
        case State::off: return "none";
        case State::connecting: return "connecting";
        case State::filling: return "filling";
        case State::attached: return "attached";
        case State::lost: return "lost";
        case State::superseded: return "superseded";
    }
    return "unknown";
}

StandbyLink::StandbyLink(StandbyOptions options, fix::FileStore& store, std::string identity, std::size_t max_message,
                         IoLoop& loop, OnChange on_change)
    : options_(std::move(options)),
      store_(&store),
      loop_(&loop),
      on_change_(std::move(on_change)),
      tls_(options_.tls ? std::make_unique<tls::Context>(tls::Role::client, *options_.tls) : nullptr),
      output_(kLinkPieces, std::max(kCopiedBytes, kMessagesCopied * max_message)),
      input_(kLinkInputBytes),
      source_(store, output_, std::move(identity), options_.token),
      backoff_ns_(kFirstBackoffNanos),
      is_whole_(options_.mode == StandbyMode::received && !runs_without()) {
    if (store.standby_state().is_superseded()) set_state(State::superseded);
    show();
}

/// Whether the session runs while the standby is lost. A machine that took over has no standby at first.
bool StandbyLink::runs_without() const noexcept {
    return options_.on_loss == OnStandbyLoss::go_on || store_->standby_state().is_alone();
}

void StandbyLink::begin() {
    slot_ = loop_->join(*this);
    detached_ns_ = loop_->now().monotonic_ns;
    loop_->wants_timer(slot_, 0);
}

void StandbyLink::restart(core::Moment now) {
    permits_ = false;
    set_state(State::connecting);
    detached_ns_ = now.monotonic_ns;
    backoff_ns_ = kFirstBackoffNanos;
    next_ns_ = 0;
    source_.restart();
    show();
    loop_->wants_timer(slot_, 0);
}

void StandbyLink::end() {
    drop_socket();
    if (connection_ != nullptr) connection_->unwatch();
    connection_.reset();
    loop_->leave(slot_);
}

void StandbyLink::set_state(State state) noexcept {
    state_ = state;
    shown_.store(state, std::memory_order_relaxed);
}

void StandbyLink::show() noexcept {
    behind_.set(source_.behind());
    skipped_.set(source_.skipped());
    goes_on_.store(runs_without(), std::memory_order_relaxed);
}

StandbyStatus StandbyLink::status() const {
    StandbyStatus status{.state = shown_.load(std::memory_order_relaxed),
                         .mode = options_.mode,
                         .on_loss = options_.on_loss,
                         .goes_on = goes_on_.load(std::memory_order_relaxed),
                         .behind = behind_.read(),
                         .losses = losses_.read(),
                         .skipped = skipped_.read()};
    const std::lock_guard guard{error_lock_};
    status.error = error_;
    return status;
}

std::vector<metrics::Registration> StandbyLink::add_metrics(metrics::Registry& registry,
                                                            const std::string& session) const {
    const metrics::Labels labels{{"session", session}};
    std::vector<metrics::Registration> list;
    list.push_back(registry.add_gauge(
        {"millpond_fix_standby_state", "0 none, 1 connecting, 2 filling, 3 attached, 4 lost, 5 superseded.", labels},
        [this] { return static_cast<double>(shown_.load(std::memory_order_relaxed)); }));
    list.push_back(registry.add_gauge(
        {"millpond_fix_standby_behind", "Messages that the standby has not acknowledged.", labels}, behind_));
    list.push_back(registry.add_counter(
        {"millpond_fix_standby_losses_total", "Times that the standby was lost.", labels}, losses_));
    list.push_back(registry.add_counter({"millpond_fix_standby_skipped_total",
                                         "Messages that left the store before the standby could have them.", labels},
                                        skipped_));
    return list;
}

void StandbyLink::publish(core::Moment now) {
    const auto before = source_.serial();
    source_.publish(now.monotonic_ns);
    if (source_.serial() == before) return;
    last_sent_ns_ = now.monotonic_ns;
    flush(now);
    show();
    loop_->wants_timer(slot_, next_deadline_ns());
}

/// Time at which the standby counts as lost; core::kNever if it is lost already, or if nothing is pending.
std::int64_t StandbyLink::lost_at_ns() const noexcept {
    if (state_ == State::lost || state_ == State::superseded) return core::kNever;
    const auto since = state_ == State::attached ? source_.waiting_since_ns() : detached_ns_;
    return since == 0 ? core::kNever : since + options_.timeout.count();
}

std::int64_t StandbyLink::next_deadline_ns() const noexcept {
    auto next = std::min(next_ns_, lost_at_ns());
    if (state_ == State::attached && source_.waiting_since_ns() == 0) {
        next = std::min(next, last_sent_ns_ + std::min(options_.timeout.count() / kPingsPerTimeout, kMaxSilenceNanos));
    }
    return next;
}

std::int64_t StandbyLink::on_timer(core::Moment now) {
    if (state_ == State::superseded) return core::kNever;
    if (now.monotonic_ns >= lost_at_ns()) on_timeout(now);
    if (now.monotonic_ns >= next_ns_) {
        if (connection_ != nullptr) {
            drop("no answer to the Hello in time", now);
        } else if (socket_) {
            drop_socket();
            drop("no connection in time", now);
        } else if (lookup_) {
            connect_next(now);
        } else {
            dial(now);
        }
    }
    if (state_ == State::attached && source_.waiting_since_ns() == 0 && now.monotonic_ns >= next_deadline_ns()) {
        // Send a keep-alive.
        source_.publish(now.monotonic_ns, true);
        last_sent_ns_ = now.monotonic_ns;
        flush(now);
    }
    return next_deadline_ns();
}

/// Handles the timeout of the standby: the session continues without it, or stops.
void StandbyLink::on_timeout(core::Moment now) {
    const bool was_connected = connection_ != nullptr;
    set_state(State::lost);
    losses_.add();
    permits_ = runs_without();
    if (permits_) is_whole_ = false;
    if (was_connected && source_.state() == ReplicaSource::State::attached) {
        drop("no acknowledgement in time", now);
    } else {
        on_change_(now);
    }
}

void StandbyLink::dial(core::Moment now) {
    lookup_.emplace(options_.host.name, options_.host.port);
    addresses_.clear();
    connect_next(now);
}

void StandbyLink::connect_next(core::Moment now) {
    if (lookup_) {
        auto found = lookup_->result();
        if (!found) {
            next_ns_ = now.monotonic_ns + NameLookup::kPollNanos;
            loop_->wants_timer(slot_, next_ns_);
            return;
        }
        lookup_.reset();
        addresses_ = std::move(found->addresses);
        std::ranges::reverse(addresses_);
        if (addresses_.empty()) {
            drop(found->error, now);
            return;
        }
    }
    while (!addresses_.empty()) {
        address_ = addresses_.back();
        addresses_.pop_back();
        socket_ = connecting_socket(address_);
        if (!socket_) continue;
        loop_->watch(socket_.get(), EPOLLOUT, *this, false);
        next_ns_ = now.monotonic_ns + options_.timeout.count();
        loop_->wants_timer(slot_, next_ns_);
        return;
    }
    drop(std::generic_category().message(errno), now);
}

void StandbyLink::on_ready(std::uint32_t events, core::Moment now) {
    static_cast<void>(events);
    if (!socket_) return;
    if (const auto error = connect_error(socket_.get()); error != 0) {
        drop_socket();
        errno = error;
        connect_next(now);
        return;
    }
    connected(now);
}

void StandbyLink::drop_socket() noexcept {
    if (!socket_) return;
    loop_->unwatch(socket_.get(), *this);
    socket_ = {};
}

void StandbyLink::connected(core::Moment now) {
    loop_->unwatch(socket_.get(), *this);
    auto transport = tls_ ? make_tls_transport(*tls_, std::move(socket_), options_.host.name)
                          : make_tcp_transport(std::move(socket_));
    socket_ = {};
    connection_ = std::make_unique<Connection>(std::move(transport), address_, now);
    connection_->watch(*loop_, *this);
    input_.clear();
    next_ns_ = now.monotonic_ns + options_.timeout.count();
    source_.greet(is_whole_, now.monotonic_ns);
    flush(now);
}

void StandbyLink::on_ready(Connection& connection, core::Moment now) {
    if (connection_.get() != &connection) return;
    const bool is_alive = connection_->receive(input_);
    input_.consume(source_.receive(input_.filled(), now.monotonic_ns));
    follow(now);
    if (connection_ == nullptr) return;
    if (!is_alive) {
        const auto& transport = connection_->transport();
        drop(transport.failed_to_begin() ? transport.failure() : "the standby closed the connection", now);
        return;
    }
    flush(now);
    if (connection_ != nullptr) loop_->wants_timer(slot_, next_deadline_ns());
}

/// Applies the state of the replication to the session.
void StandbyLink::follow(core::Moment now) {
    switch (source_.state()) {
        case ReplicaSource::State::refused: drop(source_.failure(), now); return;
        case ReplicaSource::State::superseded: {
            auto standby_state = store_->standby_state();
            standby_state.superseded_by = source_.superseded_by();
            store_->set_standby_state(standby_state);
            set_state(State::superseded);
            permits_ = false;
            drop(source_.failure(), now);
            return;
        }
        case ReplicaSource::State::filling:
            next_ns_ = core::kNever;
            if (state_ == State::connecting) set_state(State::filling);
            break;
        case ReplicaSource::State::attached:
            next_ns_ = core::kNever;
            if (state_ == State::attached) break;
            set_state(State::attached);
            permits_ = true;
            note_copied();
            is_whole_ = options_.mode == StandbyMode::received;
            backoff_ns_ = kFirstBackoffNanos;
            {
                const std::lock_guard guard{error_lock_};
                error_.clear();
            }
            break;
        default: return;
    }
    show();
    on_change_(now);
}

/// Records that the standby is complete: if so configured, the session stops without it from now on.
void StandbyLink::note_copied() noexcept {
    auto standby_state = store_->standby_state();
    if (!standby_state.is_alone()) return;
    standby_state.copied_epoch = standby_state.epoch;
    store_->set_standby_state(standby_state);
}

void StandbyLink::flush(core::Moment now) {
    if (connection_ == nullptr) return;
    do {
        source_.pump();
        if (!connection_->send(output_, [](std::uint64_t) {})) {
            const auto& transport = connection_->transport();
            drop(transport.failed_to_begin() ? transport.failure() : "the standby closed the connection", now);
            return;
        }
    } while (!output_.is_ready() && source_.has_more());
}

/// Ends the connection, or the attempt to connect.
void StandbyLink::drop(std::string_view why, core::Moment now) {
    {
        const std::lock_guard guard{error_lock_};
        error_ = why;
    }
    if (connection_ != nullptr) {
        connection_->unwatch();
        loop_->retire(std::move(connection_));
    }
    source_.disconnect();
    lookup_.reset();
    if (state_ == State::attached || state_ == State::filling) {
        if (state_ == State::attached) detached_ns_ = now.monotonic_ns;
        set_state(State::connecting);
    }
    if (state_ == State::superseded) {
        next_ns_ = core::kNever;
    } else {
        next_ns_ = now.monotonic_ns + backoff_ns_;
        backoff_ns_ = std::min(2 * backoff_ns_, kMaxBackoffNanos);
    }
    show();
    loop_->wants_timer(slot_, next_deadline_ns());
    on_change_(now);
}

}  // namespace millpond::engine
