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
constexpr std::int64_t kLookEveryNs = 10'000'000;
/// Accepted at a time, so that clients that connect in a loop do not delay lines.
constexpr int kMostAccepted = 64;
/// Pause after a failed accept, most likely for lack of descriptors.
constexpr std::int64_t kAcceptPauseNs = 100'000'000;
/// Maximum number of unauthenticated clients; beyond it the oldest is closed.
constexpr std::size_t kMostApplicants = 64;

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

TcpSink::TcpSink(const Options& options, service::Say say)
    : LineSink(options.backlog),
      options_(options),
      say_(std::move(say)),
      listener_(options),
      epoll_(epoll_with(listener_.descriptor())),
      shared_{options_, counters_, say_, epoll_.get()} {}

void TcpSink::accept_all(std::int64_t now_ns) {
    for (int i = 0; i < kMostAccepted; ++i) {
        auto accepted = listener_.accept();
        if (accepted.socket) {
            take(std::move(accepted), now_ns);
            continue;
        }
        if (accepted.error != 0) {
            say_(service::Severity::warning, options_.name + ".accept",
                 fmt::format("tcp sink '{}': cannot accept: {}", options_.name,
                             std::generic_category().message(accepted.error)));
            pause_accepting(now_ns);
        }
        return;
    }
    client_waits_ = true;  // perhaps: the lines go out first
}

void TcpSink::pause_accepting(std::int64_t now_ns) {
    watch_listener(0);
    accepts_again_ns_ = now_ns + kAcceptPauseNs;
}

void TcpSink::watch_listener(std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.ptr = nullptr;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.descriptor(), &event);
}

void TcpSink::say_refused(std::string_view peer, std::string_view reason) {
    counters_.refused.add();
    say_(service::Severity::warning, options_.name + ".refused",
         fmt::format("tcp sink '{}': refused {}: {}", options_.name, peer, reason));
}

void TcpSink::take(Listener::Accepted accepted, std::int64_t now_ns) {
    Stream stream{std::move(accepted.socket), options_.tls};
    const auto peer = accepted.peer.to_string();
    if (!has_room()) {
        const auto reason = fmt::format("{} clients are connected already", options_.max_clients);
        if (!options_.tls.on()) {
            auto bye = json_lines::text_line("bye", reason);
            const iovec part{bye.data(), bye.size()};
            [[maybe_unused]] const auto sent = stream.send(&part, 1);
        }
        return say_refused(peer, reason);
    }
    json_lines::set_client_options(stream.socket(), options_.send_buffer);
    if (!options_.tls.on() && !options_.token.required()) return admit(std::move(stream), {}, peer, now_ns);
    if (applicants_.size() == kMostApplicants) {
        say_refused(applicants_.front()->peer(), "too many unauthenticated clients");
        applicants_.erase(applicants_.begin());
    }
    applicants_.push_back(std::make_unique<Applicant>(options_, epoll_.get(), std::move(stream), peer, now_ns));
}

void TcpSink::look_at_applicants(std::int64_t now_ns) {
    std::erase_if(applicants_, [&](const std::unique_ptr<Applicant>& applicant) {
        const auto verdict = applicant->look(now_ns);
        if (verdict == Applicant::Verdict::waits) return false;
        if (verdict == Applicant::Verdict::refused || !has_room()) {
            say_refused(applicant->peer(), verdict == Applicant::Verdict::refused ? applicant->reason() : "full");
            return true;
        }
        auto [stream, said] = applicant->leave();
        admit(std::move(stream), std::move(said), applicant->peer(), now_ns);
        return true;
    });
}

void TcpSink::admit(Stream stream, std::string said, const std::string& peer, std::int64_t now_ns) {
    connections_.push_back(
        std::make_unique<Connection>(shared_, std::move(stream), std::move(said), peer, log(), standing(), now_ns));
    join(connections_.back()->subscriber());
    counters_.accepted.add();
    say_(service::Severity::info, options_.name + ".connect",
         fmt::format("tcp sink '{}': client {} connected", options_.name, peer));
}

bool TcpSink::has_room() {
    if (connections_.size() < options_.max_clients) return true;
    const auto gone = std::ranges::find_if(connections_, [](const auto& client) { return client->is_half_closed(); });
    if (gone == connections_.end()) return false;
    part_from(**gone);
    connections_.erase(gone);
    return true;
}

void TcpSink::part_from(Connection& connection) {
    if (!connection.subscriber().ending()) counters_.left.add();
    leave(connection.subscriber());
    const auto last = connection.subscriber().account();
    say_(
        service::Severity::info, options_.name + ".disconnect",
        fmt::format("tcp sink '{}': client {} disconnected: published {} = delivered {} + filtered {} + conflated {} + "
                    "missed {} + queued {}",
                    options_.name, connection.peer(), last.published, last.delivered, last.filtered, last.conflated,
                    last.missed, last.queued));
}

bool TcpSink::is_due(std::int64_t now_ns) const noexcept {
    return called_ || client_waits_ || served_ != log().end() || now_ns - served_ns_ >= kLookEveryNs;
}

void TcpSink::step(std::int64_t monotonic_ns) {
    if (!is_due(monotonic_ns)) return;
    called_ = false;
    served_ns_ = monotonic_ns;
    served_ = log().end();
    if (accepts_again_ns_ != 0 && monotonic_ns >= accepts_again_ns_) {
        accepts_again_ns_ = 0;
        watch_listener(EPOLLIN);
    }
    if (std::exchange(client_waits_, false)) accept_all(monotonic_ns);
    look_at_applicants(monotonic_ns);
    const auto over = [&](const std::unique_ptr<Connection>& connection) {
        if (connection->serve(monotonic_ns)) return false;
        part_from(*connection);
        return true;
    };
    std::erase_if(connections_, over);
    find_slowest();
    counters_.clients.set(connections_.size());
}

void TcpSink::wait(std::chrono::nanoseconds longest) {
    std::array<epoll_event, 64> events;
    const timespec timeout{longest.count() / 1'000'000'000, longest.count() % 1'000'000'000};
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
    applicants_.clear();
    served_ns_ = 0;  // all are served once more in any case
    step(begin);
    serve_while([this] {
        return std::any_of(connections_.begin(), connections_.end(),
                           [](const auto& connection) { return connection->subscriber().has_more(); });
    });
    for (const auto& connection : connections_) connection->subscriber().end("the gateway is stopping");
    serve_while([this] { return !connections_.empty(); });
}

}  // namespace millpond::gateway::tcp
