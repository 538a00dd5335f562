#include "gateway/sinks/tcp/applicant.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <sys/epoll.h>
#include <sys/uio.h>

#include "gateway/json_lines/request.hpp"
#include "gateway/json_lines/subscriber.hpp"

namespace millpond::gateway::tcp {
namespace {

constexpr std::int64_t kPatienceNs = 5'000'000'000;
constexpr std::int64_t kTryEveryNs = 20'000'000;
constexpr std::size_t kLongestLine = 4'096;

}  // namespace

Applicant::Applicant(const Options& options, int epoll, Stream stream, std::string peer, std::int64_t now_ns)
    : options_(options), epoll_(epoll), stream_(std::move(stream)), peer_(std::move(peer)), since_ns_(now_ns) {
    watch(epoll_, EPOLL_CTL_ADD, stream_.socket(), EPOLLIN);
}

Applicant::Verdict Applicant::refuse(std::string_view reason, bool tell) {
    reason_ = reason;
    if (tell) {
        auto line = json_lines::text_line("bye", reason);
        const iovec part{line.data(), line.size()};
        // A client that does not take it at once gets no reason.
        if (stream_.send(&part, 1) > 0) static_cast<void>(stream_.flush());
    }
    return Verdict::refused;
}

Applicant::Verdict Applicant::look(std::int64_t now_ns) {
    if (now_ns - since_ns_ > kPatienceNs) return refuse("handshake or token timed out", false);
    if (broken_) return refuse("the connection is gone", false);
    // A handshake may also wait for room to send, which the socket does not report.
    if (!std::exchange(readable_, false) && !stream_.has_unread() && now_ns - tried_ns_ < kTryEveryNs) {
        return Verdict::waits;
    }
    tried_ns_ = now_ns;
    const auto flow = stream_.shake_hands();
    if (flow == Flow::broken) return refuse("the TLS handshake failed", false);
    if (flow == Flow::blocked) return Verdict::waits;
    return options_.token.required() ? look_at_token() : Verdict::admitted;
}

Applicant::Verdict Applicant::look_at_token() {
    std::array<char, kLongestLine> buffer;
    const auto got = stream_.receive(buffer.data(), buffer.size());
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return refuse("the connection is gone", false);
    if (got > 0) input_.append(buffer.data(), static_cast<std::size_t>(got));
    const auto end = input_.find('\n');
    if (end == std::string::npos) {
        return input_.size() > kLongestLine ? refuse("the token is too long", true) : Verdict::waits;
    }
    bool knows = false;
    try {
        const auto request = json_lines::parse_request(std::string_view{input_}.substr(0, end));
        knows = request.token && options_.token.admits(*request.token);
    } catch (const json_lines::RequestError&) {
        knows = false;
    }
    if (!knows) return refuse(R"(a token is required: {"token":"..."} as the first line)", true);
    input_.erase(0, end + 1);
    return Verdict::admitted;
}

std::pair<Stream, std::string> Applicant::leave() {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, stream_.socket(), nullptr);
    return {std::move(stream_), std::move(input_)};
}

}  // namespace millpond::gateway::tcp
