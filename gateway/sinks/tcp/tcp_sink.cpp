#include "gateway/sinks/tcp/tcp_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/uio.h>

#include <millpond/core/clock.hpp>

#include "gateway/json_lines/client_socket.hpp"

namespace millpond::gateway::tcp {
namespace {

/// Interval for work without an event or socket (timeouts of clients).
constexpr std::int64_t kStepEveryNs = 10'000'000;
/// Maximum number of accepted clients in a step, so that clients that connect in a loop do not delay lines.
constexpr int kMaxAccepted = 64;
/// Pause after a failed accept, most likely for lack of descriptors.
constexpr std::int64_t kAcceptPauseNs = 100'000'000;
/// Maximum number of unauthenticated clients; beyond it the oldest is closed.
constexpr std::size_t kMaxPending = 64;

core::Descriptor epoll_with(int listener) {
    core::Descriptor epoll{epoll_create1(EPOLL_CLOEXEC)};
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    if (!epoll || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, listener, &event) != 0)
        throw std::system_error(errno, std::generic_category(), "epoll");
    return epoll;
}

}  // namespace

TcpSink::TcpSink(const Settings& settings, ClientAccess access, service::LogFunction log)
    : JsonLinesSink(settings, "tcp", log),
      settings_(settings),
      access_(std::move(access)),
      log_(std::move(log)),
      listener_(settings),
      epoll_(epoll_with(listener_.fd())),
      context_{settings_, counters_, log_, epoll_.get(), called_} {}

void TcpSink::accept_all(std::int64_t now_ns) {
    for (int i = 0; i < kMaxAccepted; ++i) {
        auto accepted = listener_.accept();
        if (accepted.socket) {
            accept(std::move(accepted), now_ns);
            continue;
        }
        if (accepted.error != 0) {
            log_(service::Severity::warning, settings_.name + ".accept",
                 fmt::format("tcp sink '{}': cannot accept: {}", settings_.name,
                             std::generic_category().message(accepted.error)));
            pause_accepting(now_ns);
        }
        return;
    }
    client_waits_ = true;  // possibly; lines are sent first
}

void TcpSink::pause_accepting(std::int64_t now_ns) {
    watch_listener(0);
    accepts_again_ns_ = now_ns + kAcceptPauseNs;
}

void TcpSink::watch_listener(std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.ptr = nullptr;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.fd(), &event);
}

void TcpSink::log_rejected(std::string_view peer, std::string_view reason) {
    counters_.refused.add();
    log_(service::Severity::warning, settings_.name + ".refused",
         fmt::format("tcp sink '{}': refused {}: {}", settings_.name, peer, reason));
}

void TcpSink::accept(Listener::Accepted accepted, std::int64_t now_ns) {
    Stream stream{std::move(accepted.socket), access_.tls};
    const auto peer = accepted.peer.to_string();
    if (!can_accept()) {
        const auto reason = fmt::format("{} clients are connected already", settings_.max_clients);
        if (!access_.tls.on()) {
            auto bye = json_lines::text_line("bye", reason);
            const iovec part{bye.data(), bye.size()};
            [[maybe_unused]] const auto sent = stream.send(&part, 1);
        }
        return log_rejected(peer, reason);
    }
    json_lines::set_client_options(stream.socket(), settings_.send_buffer);
    if (!access_.tls.on() && !access_.token.required()) return admit(std::move(stream), {}, peer, now_ns);
    if (pending_.size() == kMaxPending) {
        log_rejected(pending_.front()->peer(), "too many unauthenticated clients");
        pending_.erase(pending_.begin());
    }
    pending_.push_back(
        std::make_unique<PendingConnection>(access_.token, epoll_.get(), std::move(stream), peer, now_ns));
}

void TcpSink::poll_pending(std::int64_t now_ns) {
    std::erase_if(pending_, [&](const std::unique_ptr<PendingConnection>& pending) {
        const auto verdict = pending->poll(now_ns);
        if (verdict == PendingConnection::Verdict::waits) return false;
        if (verdict == PendingConnection::Verdict::refused || !can_accept()) {
            log_rejected(pending->peer(), verdict == PendingConnection::Verdict::refused ? pending->reason() : "full");
            return true;
        }
        auto [stream, received] = pending->release();
        admit(std::move(stream), std::move(received), pending->peer(), now_ns);
        return true;
    });
}

void TcpSink::admit(Stream stream, std::string received, const std::string& peer, std::int64_t now_ns) {
    connections_.push_back(
        std::make_unique<Connection>(context_, std::move(stream), std::move(received), peer, source(), now_ns));
    join(connections_.back()->subscriber(), peer);
    counters_.accepted.add();
    log_(service::Severity::info, settings_.name + ".connect",
         fmt::format("tcp sink '{}': client {} connected", settings_.name, peer));
}

bool TcpSink::can_accept() {
    if (connections_.size() < settings_.max_clients) return true;
    const auto gone = std::ranges::find_if(connections_, [](const auto& client) { return client->is_half_closed(); });
    if (gone == connections_.end()) return false;
    remove(**gone);
    connections_.erase(gone);
    return true;
}

void TcpSink::remove(Connection& connection) {
    if (!connection.subscriber().ending()) counters_.left.add();
    counters_.departed.add();
    leave(connection.subscriber());
    const auto last = connection.subscriber().account();
    log_(
        service::Severity::info, settings_.name + ".disconnect",
        fmt::format("tcp sink '{}': client {} disconnected: published {} = delivered {} + filtered {} + conflated {} + "
                    "missed {} + queued {}",
                    settings_.name, connection.peer(), last.published, last.delivered, last.filtered, last.conflated,
                    last.missed, last.queued));
}

bool TcpSink::is_due(std::int64_t now_ns) const noexcept {
    return called_ || client_waits_ || served_ != lines().end() || now_ns - served_ns_ >= kStepEveryNs;
}

void TcpSink::step(std::int64_t monotonic_ns) {
    if (poll_replays()) called_ = true;
    if (!is_due(monotonic_ns)) return;
    called_ = false;
    served_ns_ = monotonic_ns;
    served_ = lines().end();
    if (accepts_again_ns_ != 0 && monotonic_ns >= accepts_again_ns_) {
        accepts_again_ns_ = 0;
        watch_listener(EPOLLIN);
    }
    if (std::exchange(client_waits_, false)) accept_all(monotonic_ns);
    poll_pending(monotonic_ns);
    const auto over = [&](const std::unique_ptr<Connection>& connection) {
        if (connection->serve(monotonic_ns)) return false;
        remove(*connection);
        return true;
    };
    std::erase_if(connections_, over);
    find_slowest();
    for (auto* subscriber : update_clients(monotonic_ns)) subscriber->end(kDisconnected);
    counters_.clients.set(connections_.size());
}

void TcpSink::wait(std::chrono::nanoseconds max_wait) {
    std::array<epoll_event, 64> events;
    if (called_) max_wait = {};
    const timespec timeout{max_wait.count() / 1'000'000'000, max_wait.count() % 1'000'000'000};
    const int count = epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()), &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        if (event.data.ptr == nullptr) {
            client_waits_ = true;
        } else {
            static_cast<Watched*>(event.data.ptr)->note(event.events);
            called_ = true;
        }
    }
}

void TcpSink::finish() {
    constexpr std::int64_t kPatienceNs = 500'000'000;
    constexpr std::int64_t kStandstillNs = 200'000'000;  // without data accepted by any client
    const auto serve_while = [&](auto condition) {
        const auto begin = core::monotonic_nanos();
        auto moved_ns = begin;
        for (auto now = moved_ns; now - begin < kPatienceNs && now - moved_ns < kStandstillNs && condition();) {
            const auto sent = counters_.bytes.read();
            wait(std::chrono::milliseconds{1});
            now = core::monotonic_nanos();
            step(now);
            if (counters_.bytes.read() != sent) moved_ns = now;
        }
    };
    pending_.clear();
    served_ns_ = 0;  // serves all clients once more
    step(core::monotonic_nanos());
    // A replay has more than can be waited for.
    serve_while([this] {
        return std::any_of(connections_.begin(), connections_.end(), [](const auto& connection) {
            const auto& subscriber = connection->subscriber();
            return subscriber.has_more() && !subscriber.is_parked();
        });
    });
    for (const auto& connection : connections_) connection->subscriber().end(close_reason());
    serve_while([this] { return !connections_.empty(); });
}

}  // namespace millpond::gateway::tcp
