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

namespace millpond::gateway::tcp {
namespace {

constexpr std::size_t kLongestRequest = 4'096;
constexpr double kRequestsPerSecond = 50;
constexpr double kMostRequestsAtOnce = 200;
constexpr std::int64_t kLeastGoodbyeNs = 1'000'000'000;
constexpr std::int64_t kLooksAStall = 8;  // checks of progress within the timeout of a client

Flow refused() { return errno == EAGAIN || errno == EWOULDBLOCK ? Flow::blocked : Flow::broken; }

}  // namespace

Connection::Connection(const Shared& shared, Stream stream, std::string said, std::string peer,
                       const json_lines::LineLog& log, const json_lines::Standing& standing, std::int64_t now_ns)
    : shared_(shared),
      stream_(std::move(stream)),
      subscriber_(shared.options.mode, log, standing),
      peer_(std::move(peer)),
      input_(std::move(said)),
      alive_ns_(now_ns),
      allowance_(kRequestsPerSecond, kMostRequestsAtOnce) {
    readable_ = true;  // a TLS stream may hold bytes that its socket no longer reports
    watch(shared_.epoll, EPOLL_CTL_ADD, stream_.socket(), EPOLLIN);
}

bool Connection::serve(std::int64_t now_ns) {
    const bool goes_on = pass_on(now_ns);
    counted_.count(shared_.counters, subscriber_.account(), bytes_sent_);
    if (goes_on) watch_socket();
    return goes_on;
}

bool Connection::pass_on(std::int64_t now_ns) {
    if (readable_ && !deaf_ && !subscriber_.ending() && !subscriber_.overfull()) read_requests(now_ns);
    if (broken_) return false;
    const auto flow = writable_ || subscriber_.ending() ? pump(now_ns) : Flow::blocked;
    writable_ = flow == Flow::idle;
    if (flow == Flow::broken) return false;
    if (subscriber_.ending()) {
        if (ending_since_ns_ == 0) ending_since_ns_ = now_ns;
        const auto patience = std::min<std::int64_t>(kLeastGoodbyeNs, shared_.options.stall.count());
        return flow == Flow::blocked && now_ns - ending_since_ns_ < patience;
    }
    end_if_stalled(flow, now_ns);
    return true;
}

Flow Connection::pump(std::int64_t now_ns) {
    if (subscriber_.rests(now_ns) && !subscriber_.ending()) {
        const auto flow = stream_.flush();
        if (flow == Flow::idle) alive_ns_ = now_ns;
        return flow;
    }
    const auto before = bytes_sent_;
    auto flow = Flow::idle;
    for (;;) {
        if (subscriber_.text().empty() && !subscriber_.ending()) subscriber_.write_owed();
        flow = send_text();
        if (flow != Flow::idle || subscriber_.ending()) break;
        if (subscriber_.owes()) continue;
        flow = send_lines();
        if (flow != Flow::idle || !subscriber_.owes()) break;  // after a gap among the lines, quotes are owed
    }
    if (flow == Flow::idle) flow = stream_.flush();
    if (flow == Flow::idle || bytes_sent_ != before) alive_ns_ = now_ns;
    if (bytes_sent_ != before) sent_since_rest_ = true;
    // The socket is full: the rest follows as soon as there is room.
    if (flow == Flow::idle && std::exchange(sent_since_rest_, false)) subscriber_.rest_from(now_ns);
    return flow;
}

Flow Connection::send_text() {
    for (auto text = subscriber_.text(); !text.empty(); text = subscriber_.text()) {
        const iovec part{const_cast<char*>(text.data()), text.size()};
        const auto sent = stream_.send(&part, 1);
        if (sent < 0) return refused();
        subscriber_.text_went_out(static_cast<std::size_t>(sent));
        bytes_sent_ += static_cast<std::uint64_t>(sent);
    }
    return Flow::idle;
}

Flow Connection::send_lines() {
    while (subscriber_.has_lines()) {
        json_lines::Subscriber::Gathered gathered;
        subscriber_.gather(gathered);
        std::array<iovec, json_lines::Subscriber::kMostLines> parts;
        for (std::size_t i = 0; i < gathered.count; ++i) parts[i] = gathered.items[i].bytes;
        ssize_t sent = 0;
        if (gathered.count != 0) {
            sent = stream_.send(parts.data(), gathered.count);
            if (sent < 0) return refused();
        }
        bytes_sent_ += static_cast<std::uint64_t>(sent);
        subscriber_.settle(gathered, static_cast<std::size_t>(sent));
        if (!subscriber_.text().empty()) return Flow::blocked;  // a line went out in part: the socket is full
    }
    return Flow::idle;
}

void Connection::read_requests(std::int64_t now_ns) {
    if (!input_.empty()) obey_lines(now_ns);
    std::array<char, kLongestRequest> buffer;
    const auto got = stream_.receive(buffer.data(), buffer.size());
    readable_ = stream_.has_unread();
    if (got > 0) {
        input_.append(buffer.data(), static_cast<std::size_t>(got));
        obey_lines(now_ns);
    } else if (got == 0) {
        deaf_ = true;  // it may still read; a send shows when it is gone
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        broken_ = true;
    }
}

void Connection::obey_lines(std::int64_t now_ns) {
    std::size_t begin = 0;
    bool overlong = false;
    for (auto end = input_.find('\n'); end != std::string::npos; end = input_.find('\n', begin)) {
        const auto line = std::string_view{input_}.substr(begin, end - begin);
        begin = end + 1;
        overlong = line.size() > kLongestRequest;
        if (overlong) break;
        if (!allowance_.admit(now_ns)) {
            shared_.counters.bad_requests.add();
            subscriber_.end("too many requests");
            break;
        }
        try {
            subscriber_.obey(json_lines::parse_request(line));
        } catch (const json_lines::RequestError& error) {
            shared_.counters.bad_requests.add();
            subscriber_.tell("error", error.what());
        }
    }
    input_.erase(0, begin);
    if (overlong || input_.size() > kLongestRequest) {
        shared_.counters.overlong.add();
        input_.clear();
        subscriber_.end(fmt::format("a request line may have at most {} bytes", kLongestRequest));
        shared_.say(service::Severity::warning, shared_.options.name + ".overlong",
                    fmt::format("tcp sink '{}': client {}: over-long request line", shared_.options.name, peer_));
    }
}

void Connection::end_if_stalled(Flow flow, std::int64_t now_ns) {
    const auto stall = shared_.options.stall;
    if (flow != Flow::blocked) return;
    if (taken_.is_due(now_ns, stall.count() / kLooksAStall) && taken_.moved(stream_.socket())) {
        alive_ns_ = now_ns;
    }
    if (now_ns - alive_ns_ <= stall.count()) return;
    shared_.counters.stalled.add();
    subscriber_.end(fmt::format("no data was accepted for {} s", std::chrono::duration<double>(stall).count()));
    shared_.say(service::Severity::warning, shared_.options.name + ".stalled",
                fmt::format("tcp sink '{}': client {} accepted no data for too long and was disconnected",
                            shared_.options.name, peer_));
}

void Connection::watch_socket() noexcept {
    watch(shared_.epoll, EPOLL_CTL_MOD, stream_.socket(),
          (deaf_ || subscriber_.overfull() || subscriber_.ending() ? 0U : std::uint32_t{EPOLLIN}) |
              (writable_ ? 0U : std::uint32_t{EPOLLOUT}));
}

}  // namespace millpond::gateway::tcp
