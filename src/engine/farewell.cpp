#include "farewell.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace millpond::engine {
namespace {

constexpr std::int64_t kMomentNanos = 2'000'000'000;

}  // namespace

void Farewell::add(std::unique_ptr<Connection> connection, core::Moment now) {
    begin({std::move(connection), OutputQueue{1, 1}, now.monotonic_ns + kMomentNanos, false});
}

void Farewell::add(std::unique_ptr<Connection> connection, const OutputQueue& left, core::Moment now) {
    const auto bytes = left.copy();
    Leaving leaving{std::move(connection), OutputQueue{1, std::max<std::size_t>(bytes.size(), 1)},
                    now.monotonic_ns + kMomentNanos, false};
    if (!bytes.empty()) static_cast<void>(leaving.output.add_copy({bytes.data(), bytes.size()}));
    begin(std::move(leaving));
}

void Farewell::begin(Leaving leaving) {
    leaving.connection->hand_to(*this);
    leaving.connection->watch_readable(true);
    if (leaving_.size() == most_) {
        io_->retire(std::move(leaving_.front().connection));
        leaving_.erase(leaving_.begin());
    }
    if (write(leaving)) {
        leaving_.push_back(std::move(leaving));
    } else {
        leaving.connection->unwatch();
        io_->retire(std::move(leaving.connection));
    }
}

bool Farewell::write(Leaving& leaving) {
    if (!leaving.connection->send(leaving.output, [](std::uint64_t) {})) return false;
    if (leaving.output.empty() && !leaving.shut) {
        leaving.shut = true;
        leaving.connection->transport().shut_down();
    }
    return true;
}

void Farewell::on_ready(Connection& connection, core::Moment now) {
    static_cast<void>(now);
    const auto found =
        std::ranges::find_if(leaving_, [&](const Leaving& one) { return one.connection.get() == &connection; });
    if (found == leaving_.end()) return;
    // No one listens any more.
    std::array<std::byte, 4096> ignored;
    const auto moved = connection.transport().receive(ignored);
    if (!moved.over && write(*found)) return;
    connection.unwatch();
    io_->retire(std::move(found->connection));
    leaving_.erase(found);
}

void Farewell::run(core::Moment now) {
    std::erase_if(leaving_, [&](Leaving& one) {
        if (one.until_ns > now.monotonic_ns) return false;
        one.connection->unwatch();
        io_->retire(std::move(one.connection));
        return true;
    });
}

std::int64_t Farewell::next_deadline_ns() const noexcept {
    auto next = detail::kNever;
    for (const auto& one : leaving_) next = std::min(next, one.until_ns);
    return next;
}

}  // namespace millpond::engine
