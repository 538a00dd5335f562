#include "src/engine/connect/dialer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "src/engine/io/tcp_sockets.hpp"
#include "src/engine/io/tls_transport.hpp"

namespace millpond::engine {
namespace {

constexpr std::int64_t kScheduleNanos = 1'000'000'000;  // interval at which the schedule is checked
constexpr std::size_t kNothingRead = 1;
constexpr std::size_t kHandshakeBytes = 512;  // bytes of a proxy's answer to read at once

std::int64_t nanos(std::chrono::milliseconds time) { return std::chrono::nanoseconds{time}.count(); }

Initiator::Options checked(Initiator::Options options) {
    if (options.hosts.empty()) throw std::invalid_argument("an initiator needs a host");
    if (options.reconnect.jitter < 0 || options.reconnect.jitter >= 1) {
        throw std::invalid_argument("reconnect: a jitter of " + std::to_string(options.reconnect.jitter) +
                                    " is not from 0 to below 1");
    }
    if (options.proxy) {
        for (const auto& host : options.hosts) static_cast<void>(ProxyHandshake{*options.proxy, host});
    }
    return options;
}

}  // namespace

Initiator::Dialer::Dialer(SessionOptions session, Options options, Application& application, IoThread& io)
    : loop_(&io.loop()),
      options_(checked(std::move(options))),
      tls_(options_.tls ? std::make_unique<tls::Context>(tls::Role::client, *options_.tls) : nullptr),
      backoff_ns_(nanos(options_.reconnect.first)),
      random_(std::random_device{}()) {
    session.config.role = fix::Role::initiator;
    host_ = std::make_shared<SessionHost>(std::move(session), application, io);
}

void Initiator::Dialer::begin() {
    slot_ = loop_->join(*this);
    host_->begin(this);
    loop_->wants_timer(slot_, 0);
}

void Initiator::Dialer::end() {
    drop_socket();
    host_->end();
    loop_->leave(slot_);
}

void Initiator::Dialer::wait_until(std::int64_t monotonic_ns) {
    next_ns_ = monotonic_ns;
    loop_->wants_timer(slot_, monotonic_ns);
}

std::int64_t Initiator::Dialer::on_timer(core::Moment now) {
    if (now.monotonic_ns >= next_ns_) {
        switch (phase_) {
            case Phase::waiting: look_up(now); break;
            case Phase::looking_up: connect_next(now); break;
            case Phase::connecting: address_failed("timed out waiting for an answer", now); break;
            case Phase::tunnelling: address_failed("timed out waiting for the proxy", now); break;
            case Phase::connected: next_ns_ = core::kNever; break;
        }
    }
    return next_ns_;
}

void Initiator::Dialer::look_up(core::Moment now) {
    if (!host_->may_be_connected(now)) {
        next_ns_ = host_->enabled() ? now.monotonic_ns + kScheduleNanos : core::kNever;
        return;
    }
    const auto& host = next_hop();
    lookup_.emplace(host.name, host.port);
    phase_ = Phase::looking_up;
    give_up_ns_ = now.monotonic_ns + nanos(options_.reconnect.connect_timeout);
    addresses_.clear();
    connect_next(now);
}

/// Tries the next address of the host, or the next host if none is left.
void Initiator::Dialer::connect_next(core::Moment now) {
    if (lookup_) {
        auto found = lookup_->result();
        if (!found && now.monotonic_ns < give_up_ns_) {
            next_ns_ = now.monotonic_ns + NameLookup::kPollNanos;
            return;
        }
        lookup_.reset();
        if (!found) found = {.addresses = {}, .error = "the name lookup timed out"};
        addresses_ = std::move(found->addresses);
        std::ranges::reverse(addresses_);
        if (addresses_.empty()) {
            const auto& host = next_hop();
            host_->report_unreachable({}, host.name + ":" + std::to_string(host.port) + ": " + found->error);
        }
    }
    while (!addresses_.empty()) {
        address_ = addresses_.back();
        addresses_.pop_back();
        if (open_socket()) {
            phase_ = Phase::connecting;
            wait_until(now.monotonic_ns + nanos(options_.reconnect.connect_timeout));
            return;
        }
        const auto error = errno;
        socket_ = {};
        host_->report_unreachable(address_, std::generic_category().message(error));
    }
    host_failed(now);
}

const Host& Initiator::Dialer::next_hop() const noexcept {
    return options_.proxy ? options_.proxy->host : options_.hosts[at_host_];
}

/// Starts to connect to address_. Returns false, with errno, if that failed.
bool Initiator::Dialer::open_socket() {
    socket_ = connecting_socket(address_, options_.local_address);
    if (!socket_) return false;
    loop_->watch(socket_.get(), EPOLLOUT, *this, false);
    return true;
}

void Initiator::Dialer::on_ready(std::uint32_t events, core::Moment now) {
    static_cast<void>(events);
    if (!socket_) return;
    if (phase_ == Phase::tunnelling) {
        continue_handshake(now);
        return;
    }
    if (const auto error = connect_error(socket_.get()); error != 0) {
        address_failed(std::generic_category().message(error), now);
    } else if (!options_.proxy) {
        connected(now);
    } else {
        phase_ = Phase::tunnelling;
        wait_until(now.monotonic_ns + nanos(options_.reconnect.connect_timeout));
        handshake_.emplace(*options_.proxy, options_.hosts[at_host_]);
        continue_handshake(now);
    }
}

/// Exchanges messages with the proxy until the socket is not ready.
void Initiator::Dialer::continue_handshake(core::Moment now) {
    std::array<char, kHandshakeBytes> bytes;
    while (handshake_->state() == ProxyHandshake::State::running) {
        const auto output = handshake_->output();
        const auto moved = output.empty()
                               ? ::recv(socket_.get(), bytes.data(), std::min(bytes.size(), handshake_->wanted()), 0)
                               : ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
        if (moved < 0 && (errno == EAGAIN || errno == EINTR)) {
            loop_->change(socket_.get(), output.empty() ? EPOLLIN : EPOLLOUT, *this);
            return;
        }
        if (moved <= 0) {
            address_failed(moved == 0 ? "the proxy closed the connection" : std::generic_category().message(errno),
                           now);
            return;
        }
        if (output.empty()) {
            handshake_->receive({bytes.data(), static_cast<std::size_t>(moved)});
        } else {
            handshake_->sent(static_cast<std::size_t>(moved));
        }
    }
    if (handshake_->state() == ProxyHandshake::State::done) {
        connected(now);
    } else {
        address_failed(handshake_->failure(), now);
    }
}

void Initiator::Dialer::address_failed(std::string_view why, core::Moment now) {
    drop_socket();
    host_->report_unreachable(address_, why);
    connect_next(now);
}

void Initiator::Dialer::connected(core::Moment now) {
    loop_->unwatch(socket_.get(), *this);
    auto socket = std::move(socket_);
    if (!host_->claim()) return;  // the session is connected, which cannot happen
    phase_ = Phase::connected;
    next_ns_ = core::kNever;
    logged_on_ = false;
    connected_ns_ = now.monotonic_ns;
    auto transport = tls_ ? make_tls_transport(*tls_, std::move(socket), options_.hosts[at_host_].name)
                          : make_tcp_transport(std::move(socket));
    host_->connect(std::make_unique<Connection>(std::move(transport), address_, now), InputBuffer{kNothingRead}, now);
}

void Initiator::Dialer::drop_socket() noexcept {
    if (!socket_) return;
    loop_->unwatch(socket_.get(), *this);
    socket_ = {};
}

void Initiator::Dialer::host_failed(core::Moment now) {
    phase_ = Phase::waiting;
    at_host_ = (at_host_ + 1) % options_.hosts.size();
    if (++failed_hosts_ < options_.hosts.size()) {
        wait_until(now.monotonic_ns);
        return;
    }
    failed_hosts_ = 0;
    wait_until(now.monotonic_ns + jittered(backoff_ns_));
    backoff_ns_ = std::min(backoff_ns_ * 2, nanos(options_.reconnect.max));
}

std::int64_t Initiator::Dialer::jittered(std::int64_t time) {
    std::uniform_real_distribution<double> part{1 - options_.reconnect.jitter, 1 + options_.reconnect.jitter};
    return static_cast<std::int64_t>(static_cast<double>(time) * part(random_));
}

void Initiator::Dialer::on_host_closed(Closed reason, core::Moment now) {
    static_cast<void>(reason);
    if (phase_ != Phase::connected) return;
    if (!logged_on_) {
        host_failed(now);
        return;
    }
    // After a good session the host is tried again at once, unless it accepts connections only to close them.
    phase_ = Phase::waiting;
    failed_hosts_ = 0;
    backoff_ns_ = nanos(options_.reconnect.first);
    const auto soonest = connected_ns_ + jittered(backoff_ns_);
    wait_until(std::max(now.monotonic_ns, soonest));
}

void Initiator::Dialer::on_host_enabled(bool enabled, core::Moment now) {
    if (enabled) {
        if (phase_ == Phase::waiting) wait_until(now.monotonic_ns);
        return;
    }
    if (phase_ == Phase::connected) return;
    drop_socket();
    lookup_.reset();
    phase_ = Phase::waiting;
    wait_until(core::kNever);
}

void Initiator::Dialer::on_drain(core::Moment now, std::int64_t deadline_ns) {
    static_cast<void>(now), static_cast<void>(deadline_ns);
}

}  // namespace millpond::engine
