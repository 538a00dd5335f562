#include "apps/millpond/traffic/iex_snap_server.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_layout.hpp>

namespace millpond::traffic {

class IexSnapServer::Reply final : public StreamReply {
public:
    explicit Reply(IexSnapServer& server) : server_(server) {}

    [[nodiscard]] std::optional<std::size_t> read(std::span<const std::byte> received) override {
        namespace at = feed::iex_snap;
        if (received.size() < at::kTypeAt) return 0;
        const auto size = at::kTypeAt + core::load_le<std::uint16_t>(received.data());
        if (received.size() < size) return 0;
        server_.requests_.fetch_add(1, std::memory_order_relaxed);
        answer_ = server_.answer(received.first(size));
        return size;
    }
    [[nodiscard]] bool write(std::vector<std::byte>& out) override {
        out.insert(out.end(), answer_.begin(), answer_.end());
        answer_.clear();
        return true;  // the client disconnects
    }

private:
    IexSnapServer& server_;
    std::vector<std::byte> answer_;
};

IexSnapServer::IexSnapServer(const net::SocketAddress& listen, const IexHistory& history)
    : history_(history), streams_(listen, "snapshots", [this] { return std::make_unique<Reply>(*this); }) {}

std::vector<std::byte> IexSnapServer::answer(std::span<const std::byte> bytes) {
    const auto error = [](char code) {
        return std::vector<std::byte>{std::byte{2}, std::byte{0}, std::byte{'e'}, static_cast<std::byte>(code)};
    };
    const auto request = feed::IexSnapRequest::read(bytes);
    if (!request) return error('U');
    const auto restart = history_.restarts();
    std::optional<std::uint16_t> protocol;
    bool has_channel = false;
    for (const auto each : {feed::iex_layout::kDeep, feed::iex_layout::kDeepPlus}) {
        if (history_.next(each, request->session)) protocol = each;
        has_channel = has_channel || history_.has_channel(each, request->session.channel);
    }
    if (!protocol) return error(has_channel ? 'S' : 'C');
    const Followed begin{.state = {*protocol, request->session}, .restart = restart};
    auto& followed = states_.try_emplace({*protocol, request->session.channel}, begin).first->second;
    auto& state = followed.state;
    if (!(state.session() == request->session) || followed.restart != restart) followed = begin;
    history_.visit(*protocol, request->session, {state.number() + 1, std::numeric_limits<std::uint64_t>::max()},
                   [&](const IexHistory::Message& message) {
                       // A capture that begins within a session, or has a hole, has no state behind it.
                       if (message.number != state.number() + 1) return false;
                       state.apply(message);
                       return true;
                   });
    const bool is_valid = history_.restarts() == restart;
    if (!is_valid || state.number() == 0 || state.number() < request->minimum) return error('R');
    snapshots_.fetch_add(1, std::memory_order_relaxed);
    return state.response();
}

}  // namespace millpond::traffic
