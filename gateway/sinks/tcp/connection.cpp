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

#include "gateway/json_lines/request.hpp"

namespace millpond::gateway::tcp {
namespace {

constexpr std::size_t kLongestRequest = 4'096;
constexpr double kRequestsPerSecond = 50;
constexpr double kMostRequestsAtOnce = 200;
constexpr std::int64_t kLeastGoodbyeNs = 1'000'000'000;
constexpr std::int64_t kLooksAStall = 8;  // whether the client takes anything, in the time that it may take nothing

}  // namespace

Connection::Connection(const Shared& shared, Stream stream, std::string said, std::string peer,
                       const lines::LineLog& log, const lines::Standing& standing, std::int64_t now_ns)
    : shared_(shared),
      client_(std::move(stream), shared.options.mode, log, standing, now_ns),
      peer_(std::move(peer)),
      input_(std::move(said)),
      allowance_(kRequestsPerSecond, kMostRequestsAtOnce) {
    readable_ = true;  // a TLS stream may hold what its socket tells of no more
    watch(shared_.epoll, EPOLL_CTL_ADD, client_.stream().socket(), EPOLLIN);
}

bool Connection::serve(std::int64_t now_ns) {
    const bool goes_on = pass_on(now_ns);
    counted_.count(shared_.counters, client_.subscriber().account(), client_.bytes_sent());
    if (goes_on) watch_socket();
    return goes_on;
}

bool Connection::pass_on(std::int64_t now_ns) {
    if (readable_ && !deaf_ && !client_.subscriber().ending() && !client_.subscriber().overfull())
        read_requests(now_ns);
    if (broken_) return false;
    const auto flow = writable_ || client_.subscriber().ending() ? client_.pump(now_ns) : Flow::blocked;
    writable_ = flow == Flow::idle;
    if (flow == Flow::broken) return false;
    if (client_.subscriber().ending()) {
        if (ending_since_ns_ == 0) ending_since_ns_ = now_ns;
        const auto patience = std::min<std::int64_t>(kLeastGoodbyeNs, shared_.options.stall.count());
        return flow == Flow::blocked && now_ns - ending_since_ns_ < patience;
    }
    end_if_stalled(flow, now_ns);
    return true;
}

void Connection::read_requests(std::int64_t now_ns) {
    if (!input_.empty()) obey_lines(now_ns);
    std::array<char, kLongestRequest> buffer;
    const auto got = client_.stream().receive(buffer.data(), buffer.size());
    readable_ = client_.stream().has_unread();
    if (got > 0) {
        input_.append(buffer.data(), static_cast<std::size_t>(got));
        obey_lines(now_ns);
    } else if (got == 0) {
        deaf_ = true;  // it may still want to listen; a send shows when it is gone
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
            client_.subscriber().end("too many requests");
            break;
        }
        try {
            client_.subscriber().obey(lines::parse_request(line));
        } catch (const lines::RequestError& error) {
            shared_.counters.bad_requests.add();
            client_.subscriber().tell("error", error.what());
        }
    }
    input_.erase(0, begin);
    if (overlong || input_.size() > kLongestRequest) {
        shared_.counters.overlong.add();
        input_.clear();
        client_.subscriber().end(fmt::format("a request line may have at most {} bytes", kLongestRequest));
        shared_.say(service::Severity::warning, shared_.options.name + ".overlong",
                    fmt::format("tcp sink '{}': client {}: over-long request line", shared_.options.name, peer_));
    }
}

void Connection::end_if_stalled(Flow flow, std::int64_t now_ns) {
    const auto stall = shared_.options.stall;
    if (flow != Flow::blocked) return;
    if (taken_.is_due(now_ns, stall.count() / kLooksAStall) && taken_.moved(client_.stream().socket())) {
        client_.note_alive(now_ns);
    }
    if (now_ns - client_.alive_ns() <= stall.count()) return;
    shared_.counters.stalled.add();
    client_.subscriber().end(
        fmt::format("no data was accepted for {} s", std::chrono::duration<double>(stall).count()));
    shared_.say(service::Severity::warning, shared_.options.name + ".stalled",
                fmt::format("tcp sink '{}': client {} accepted no data for too long and is disconnected",
                            shared_.options.name, peer_));
}

void Connection::watch_socket() noexcept {
    watch(shared_.epoll, EPOLL_CTL_MOD, client_.stream().socket(),
          (deaf_ || client_.subscriber().overfull() || client_.subscriber().ending() ? 0U : std::uint32_t{EPOLLIN}) |
              (writable_ ? 0U : std::uint32_t{EPOLLOUT}));
}

}  // namespace millpond::gateway::tcp
