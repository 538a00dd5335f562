#include "gateway/sinks/tcp/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <sys/epoll.h>
#include <sys/uio.h>

#include "gateway/json_lines/request.hpp"
#include "gateway/sinks/client_list.hpp"

namespace millpond::gateway::tcp {
namespace {

constexpr std::size_t kMaxRequestBytes = 4'096;
constexpr double kRequestsPerSecond = 50;
constexpr double kRequestBurst = 200;
constexpr std::int64_t kCloseTimeoutNs = 1'000'000'000;
/// Bytes that a client is sent in a step while quotes or books are pending: a snapshot of thousands of books would
/// delay the other clients.
constexpr std::uint64_t kMaxPendingBytes = 4 * json_lines::LineRuns::kMaxText;
constexpr std::int64_t kProgressChecksPerStall = 8;  // checks of progress during a client's stall timeout

Flow refused() { return errno == EAGAIN || errno == EWOULDBLOCK ? Flow::blocked : Flow::broken; }

}  // namespace

Connection::Connection(const ConnectionContext& shared, Stream stream, std::string received, std::string peer,
                       const json_lines::Source& source, std::int64_t now_ns)
    : context_(shared),
      stream_(std::move(stream)),
      subscriber_(shared.settings.mode, source),
      peer_(std::move(peer)),
      input_(std::move(received)),
      alive_ns_(now_ns),
      allowance_(kRequestsPerSecond, kRequestBurst) {
    readable_ = true;  // a TLS stream may hold bytes that its socket does not report again
    watch(context_.epoll, EPOLL_CTL_ADD, stream_.socket(), EPOLLIN);
}

bool Connection::serve(std::int64_t now_ns) {
    const bool goes_on = pass_on(now_ns);
    counted_.count(context_.counters, subscriber_.account(), bytes_sent_);
    if (goes_on) watch_socket();
    return goes_on;
}

bool Connection::pass_on(std::int64_t now_ns) {
    if (readable_ && !read_closed_ && !subscriber_.ending() && !subscriber_.is_full()) read_requests(now_ns);
    if (broken_) return false;
    if (!subscriber_.failure().empty() && !subscriber_.ending()) subscriber_.end(subscriber_.failure());
    const auto flow = writable_ || subscriber_.ending() ? pump(now_ns) : Flow::blocked;
    writable_ = flow == Flow::idle;
    if (flow == Flow::broken) return false;
    if (subscriber_.ending()) {
        if (ending_since_ns_ == 0) ending_since_ns_ = now_ns;
        const auto patience = std::min<std::int64_t>(kCloseTimeoutNs, context_.settings.stall.count());
        return flow == Flow::blocked && now_ns - ending_since_ns_ < patience;
    }
    if (!subscriber_.failure().empty()) context_.called = true;
    end_if_stalled(flow, now_ns);
    return true;
}

Flow Connection::pump(std::int64_t now_ns) {
    if (subscriber_.is_paused(now_ns) && !subscriber_.ending()) {
        const auto flow = stream_.flush();
        if (flow == Flow::idle) alive_ns_ = now_ns;
        return flow;
    }
    const auto before = bytes_sent_;
    auto flow = Flow::idle;
    bool has_more = false;
    for (;;) {
        if (subscriber_.text().empty() && !subscriber_.ending()) subscriber_.write_pending();
        flow = send_text();
        if (flow != Flow::idle || subscriber_.ending()) break;
        if (subscriber_.has_pending()) {
            if (bytes_sent_ - before < kMaxPendingBytes) continue;
            has_more = context_.called = true;
            break;
        }
        flow = send_lines();
        if (flow != Flow::idle || !subscriber_.has_pending()) break;  // a gap among the lines makes quotes pending
    }
    if (flow == Flow::idle) flow = stream_.flush();
    if (flow == Flow::idle || bytes_sent_ != before) alive_ns_ = now_ns;
    if (bytes_sent_ != before) sent_since_rest_ = true;
    // If the socket is full, the rest follows as soon as it is writable.
    if (flow == Flow::idle && !has_more && std::exchange(sent_since_rest_, false)) subscriber_.pause_from(now_ns);
    return flow;
}

Flow Connection::send_text() {
    for (auto text = subscriber_.text(); !text.empty(); text = subscriber_.text()) {
        const iovec part{const_cast<char*>(text.data()), text.size()};
        const auto sent = stream_.send(&part, 1);
        if (sent < 0) return refused();
        subscriber_.on_text_sent(static_cast<std::size_t>(sent));
        bytes_sent_ += static_cast<std::uint64_t>(sent);
    }
    return Flow::idle;
}

Flow Connection::send_lines() {
    while (subscriber_.has_lines() && !subscriber_.has_pending_books()) {
        json_lines::Subscriber::Gathered gathered;
        subscriber_.gather(gathered);
        std::array<iovec, json_lines::Subscriber::kMaxLines> parts;
        for (std::size_t i = 0; i < gathered.count; ++i) parts[i] = gathered.items[i].bytes;
        ssize_t sent = 0;
        if (gathered.count != 0) {
            sent = stream_.send(parts.data(), gathered.count);
            if (sent < 0) return refused();
        }
        bytes_sent_ += static_cast<std::uint64_t>(sent);
        subscriber_.settle(gathered, static_cast<std::size_t>(sent));
        if (!subscriber_.text().empty()) return Flow::blocked;  // a line was sent partly: the socket is full
    }
    return Flow::idle;
}

void Connection::read_requests(std::int64_t now_ns) {
    if (!input_.empty()) apply_requests(now_ns);
    std::array<char, kMaxRequestBytes> buffer;
    const auto got = stream_.receive(buffer.data(), buffer.size());
    readable_ = stream_.has_unread();
    if (got > 0) {
        input_.append(buffer.data(), static_cast<std::size_t>(got));
        apply_requests(now_ns);
    } else if (got == 0) {
        read_closed_ = true;  // the client may still read; a send fails when it is gone
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        broken_ = true;
    }
}

void Connection::apply_requests(std::int64_t now_ns) {
    std::size_t begin = 0;
    bool overlong = false;
    for (auto end = input_.find('\n'); end != std::string::npos; end = input_.find('\n', begin)) {
        const auto line = std::string_view{input_}.substr(begin, end - begin);
        begin = end + 1;
        overlong = line.size() > kMaxRequestBytes;
        if (overlong) break;
        if (!allowance_.admit(now_ns)) {
            context_.counters.bad_requests.add();
            subscriber_.end("too many requests");
            break;
        }
        try {
            subscriber_.apply(json_lines::parse_request(line));
        } catch (const json_lines::RequestError& error) {
            context_.counters.bad_requests.add();
            subscriber_.reply("error", error.what());
        }
    }
    input_.erase(0, begin);
    if (overlong || input_.size() > kMaxRequestBytes) {
        context_.counters.overlong.add();
        input_.clear();
        subscriber_.end(fmt::format("a request line may have at most {} bytes", kMaxRequestBytes));
        context_.log(service::Severity::warning, context_.settings.name + ".overlong",
                     fmt::format("tcp sink '{}': client {}: over-long request line", context_.settings.name, peer_));
    }
}

void Connection::end_if_stalled(Flow flow, std::int64_t now_ns) {
    const auto stall = context_.settings.stall;
    if (flow != Flow::blocked) return;
    if (progress_.is_due(now_ns, stall.count() / kProgressChecksPerStall) && progress_.moved(stream_.socket())) {
        alive_ns_ = now_ns;
    }
    if (now_ns - alive_ns_ <= stall.count()) return;
    context_.counters.stalled.add();
    subscriber_.end(fmt::format("no data was accepted for {} s", std::chrono::duration<double>(stall).count()));
    context_.log(service::Severity::warning, context_.settings.name + ".stalled",
                 fmt::format("tcp sink '{}': client {} accepted no data for too long and was disconnected",
                             context_.settings.name, client_name(peer_, subscriber_.name())));
}

void Connection::watch_socket() noexcept {
    watch(context_.epoll, EPOLL_CTL_MOD, stream_.socket(),
          (read_closed_ || subscriber_.is_full() || subscriber_.ending() ? 0U : std::uint32_t{EPOLLIN}) |
              (writable_ ? 0U : std::uint32_t{EPOLLOUT}));
}

}  // namespace millpond::gateway::tcp
