#include "gateway/sinks/tcp/client.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sys/uio.h>

namespace millpond::gateway::tcp {
namespace {

Flow refused() { return errno == EAGAIN || errno == EWOULDBLOCK ? Flow::blocked : Flow::broken; }

}  // namespace

Flow Client::send_text() {
    for (auto text = subscriber_.text(); !text.empty(); text = subscriber_.text()) {
        const iovec part{const_cast<char*>(text.data()), text.size()};
        const auto sent = stream_.send(&part, 1);
        if (sent < 0) return refused();
        subscriber_.text_went_out(static_cast<std::size_t>(sent));
        bytes_sent_ += static_cast<std::uint64_t>(sent);
    }
    return Flow::idle;
}

Flow Client::send_lines() {
    while (subscriber_.has_lines()) {
        lines::Subscriber::Gathered gathered;
        subscriber_.gather(gathered);
        std::array<iovec, lines::Subscriber::kMostLines> parts;
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

Flow Client::pump(std::int64_t now_ns) {
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
        if (flow != Flow::idle || !subscriber_.owes()) break;  // a gap among the lines owes quotes behind it
    }
    if (flow == Flow::idle) flow = stream_.flush();
    if (flow == Flow::idle || bytes_sent_ != before) alive_ns_ = now_ns;
    if (bytes_sent_ != before) sent_since_rest_ = true;
    // A full socket is no end of what waits: the rest follows as soon as there is room.
    if (flow == Flow::idle && std::exchange(sent_since_rest_, false)) subscriber_.rest_from(now_ns);
    return flow;
}

}  // namespace millpond::gateway::tcp
