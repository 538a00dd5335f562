#include "gateway/sinks/tcp/tcp_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "gateway/lines/client_socket.hpp"

namespace millpond::gateway::tcp {
namespace {

/// What no event and no socket calls for (a client's patience) is seen to after so long.
constexpr std::int64_t kLookEveryNs = 10'000'000;

int epoll_with(int listener) {
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) {
        throw std::system_error(errno, std::generic_category(), "epoll");
    }
    return epoll;
}

}  // namespace

TcpSink::TcpSink(const Options& options, Say say)
    : LineSink(options.backlog),
      options_(options),
      say_(std::move(say)),
      listener_(options),
      epoll_(epoll_with(listener_.descriptor())),
      shared_{options_, counters_, say_, epoll_} {}

TcpSink::~TcpSink() {
    connections_.clear();
    close(epoll_);
}

void TcpSink::accept_all(std::int64_t now_ns) {
    for (;;) {
        const auto accepted = listener_.accept();
        if (accepted.socket >= 0) {
            welcome(accepted, now_ns);
            continue;
        }
        if (accepted.error != 0) {
            say_(Severity::warning, options_.name + ".accept",
                 fmt::format("tcp sink '{}': cannot accept: {}", options_.name,
                             std::generic_category().message(accepted.error)));
        }
        return;
    }
}

void TcpSink::welcome(const Listener::Accepted& accepted, std::int64_t now_ns) {
    const auto peer = accepted.peer.to_string();
    if (connections_.size() >= options_.max_clients) {
        counters_.refused.add();
        const auto bye =
            fmt::format("{{\"type\":\"bye\",\"text\":\"{} clients are connected already\"}}\n", options_.max_clients);
        [[maybe_unused]] const auto sent = send(accepted.socket, bye.data(), bye.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(accepted.socket);
        say_(Severity::warning, options_.name + ".refused",
             fmt::format("tcp sink '{}': refused {}: {} clients are connected already", options_.name, peer,
                         options_.max_clients));
        return;
    }
    lines::set_client_options(accepted.socket, options_.send_buffer);
    connections_.push_back(std::make_unique<Connection>(shared_, accepted.socket, peer, log(), standing(), now_ns));
    join(connections_.back()->client().subscriber());
    counters_.accepted.add();
    say_(Severity::info, options_.name + ".connect",
         fmt::format("tcp sink '{}': client {} connected", options_.name, peer));
}

bool TcpSink::is_due(std::int64_t now_ns) const noexcept {
    return called_ || somebody_knocks_ || served_ != log().end() || now_ns - served_ns_ >= kLookEveryNs;
}

void TcpSink::step(std::int64_t monotonic_ns) {
    if (!is_due(monotonic_ns)) return;
    called_ = false;
    served_ns_ = monotonic_ns;
    served_ = log().end();
    if (std::exchange(somebody_knocks_, false)) accept_all(monotonic_ns);
    const auto over = [&](const std::unique_ptr<Connection>& connection) {
        if (connection->serve(monotonic_ns)) return false;
        if (!connection->client().subscriber().ending()) counters_.left.add();
        leave(connection->client().subscriber());
        const auto last = connection->client().subscriber().account();
        say_(Severity::info, options_.name + ".disconnect",
             fmt::format("tcp sink '{}': client {} is gone: published {} = delivered {} + filtered {} + conflated {} + "
                         "missed {} + queued {}",
                         options_.name, connection->peer(), last.published, last.delivered, last.filtered,
                         last.conflated, last.missed, last.queued));
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
        if (event.data.ptr == nullptr) {
            somebody_knocks_ = true;
        } else {
            static_cast<Connection*>(event.data.ptr)->note(event.events);
            called_ = true;
        }
    }
}

void TcpSink::finish() {
    constexpr std::int64_t kPatienceNs = 500'000'000;
    constexpr std::int64_t kStandstillNs = 200'000'000;  // while no client takes anything
    const auto begin = core::monotonic_nanos();
    const auto serve_while = [&](auto condition) {
        auto moved_ns = core::monotonic_nanos();
        for (auto now = moved_ns; now - begin < kPatienceNs && now - moved_ns < kStandstillNs && condition();) {
            const auto sent = counters_.bytes.read();
            wait(std::chrono::milliseconds{1});
            now = core::monotonic_nanos();
            step(now);
            if (counters_.bytes.read() != sent) moved_ns = now;
        }
    };
    served_ns_ = 0;  // whatever is due, all are served once more
    step(begin);
    serve_while([this] {
        return std::any_of(connections_.begin(), connections_.end(),
                           [](const auto& connection) { return connection->client().subscriber().has_more(); });
    });
    for (const auto& connection : connections_) connection->client().subscriber().end("the gateway ends");
    serve_while([this] { return !connections_.empty(); });
}

}  // namespace millpond::gateway::tcp
