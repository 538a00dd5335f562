#include "src/engine/io/lingering_connections.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace millpond::engine {
namespace {

constexpr std::int64_t kTimeoutNanos = 2'000'000'000;

}  // namespace

void LingeringConnections::add(std::unique_ptr<Connection> connection, core::Moment now) {
    begin({std::move(connection), OutputQueue{1, 1}, now.monotonic_ns + kTimeoutNanos, false});
}

void LingeringConnections::add(std::unique_ptr<Connection> connection, const OutputQueue& left, core::Moment now) {
    const auto bytes = left.copy();
    Lingering lingering{std::move(connection), OutputQueue{1, std::max<std::size_t>(bytes.size(), 1)},
                        now.monotonic_ns + kTimeoutNanos, false};
    if (!bytes.empty()) static_cast<void>(lingering.output.add_copy({bytes.data(), bytes.size()}));
    begin(std::move(lingering));
}

void LingeringConnections::begin(Lingering lingering) {
    lingering.connection->hand_to(*this);
    lingering.connection->watch_readable(true);
    if (connections_.size() == max_) {
        loop_->retire(std::move(connections_.front().connection));
        connections_.erase(connections_.begin());
    }
    if (write(lingering)) {
        connections_.push_back(std::move(lingering));
    } else {
        lingering.connection->unwatch();
        loop_->retire(std::move(lingering.connection));
    }
}

bool LingeringConnections::write(Lingering& lingering) {
    if (!lingering.connection->send(lingering.output, [](std::uint64_t) {})) return false;
    if (lingering.output.empty() && !lingering.shut) {
        lingering.shut = true;
        lingering.connection->transport().shut_down();
    }
    return true;
}

void LingeringConnections::on_ready(Connection& connection, core::Moment now) {
    static_cast<void>(now);
    const auto found =
        std::ranges::find_if(connections_, [&](const Lingering& one) { return one.connection.get() == &connection; });
    if (found == connections_.end()) return;
    // Input is read and ignored.
    std::array<std::byte, 4096> ignored;
    const auto moved = connection.transport().receive(ignored);
    if (!moved.over && write(*found)) return;
    connection.unwatch();
    loop_->retire(std::move(found->connection));
    connections_.erase(found);
}

void LingeringConnections::run(core::Moment now) {
    std::erase_if(connections_, [&](Lingering& one) {
        if (one.until_ns > now.monotonic_ns) return false;
        one.connection->unwatch();
        loop_->retire(std::move(one.connection));
        return true;
    });
}

std::int64_t LingeringConnections::next_deadline_ns() const noexcept {
    auto next = core::kNever;
    for (const auto& one : connections_) next = std::min(next, one.until_ns);
    return next;
}

}  // namespace millpond::engine
