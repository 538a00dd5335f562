#include "apps/millpond/traffic/generated_source.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include <millpond/core/endian.hpp>
#include <millpond/feed/moldudp64_layout.hpp>

namespace millpond::traffic {
namespace {

GeneratedSource::Options checked(const GeneratedSource::Options& options) {
    if (!(options.steps_per_second > 0) || !std::isfinite(options.steps_per_second)) {
        throw std::invalid_argument("generated source: " + std::to_string(options.steps_per_second) +
                                    " steps per second is not above 0");
    }
    if (options.burst == 0) throw std::invalid_argument("generated source: burst is 0; it must be at least 1");
    return options;
}

}  // namespace

GeneratedSource::GeneratedSource(const Options& options) : options_(checked(options)), feed_(options.feed) {}

bool GeneratedSource::next(Outgoing& out) {
    if (options_.max_steps != 0 && feed_.steps() >= options_.max_steps) return false;
    if (count_ % options_.burst == 0)
        due_ns_ = static_cast<std::int64_t>(static_cast<double>(position_) * 1e9 / options_.steps_per_second);
    if (due_ns_ - latest_due_ns_ > kHeartbeatNanos) {
        const auto heartbeat = feed_.heartbeat(buffer_, options_.begin_utc_ns + latest_due_ns_ + kHeartbeatNanos);
        if (!heartbeat.empty()) {
            latest_due_ns_ += kHeartbeatNanos;
            out = {latest_due_ns_, heartbeat, 0};
            return true;
        }
    }
    latest_due_ns_ = due_ns_;
    ++count_;
    const auto before = feed_.steps();
    const auto datagram = feed_.next(buffer_, options_.begin_utc_ns + due_ns_);
    const auto steps = feed_.steps() - before;
    // Paces datagrams of the day's start too, because otherwise thousands would be sent at once.
    position_ += steps == 0 ? options_.feed.steps_per_datagram : steps;
    out = {due_ns_, datagram, messages_in(datagram, steps)};
    return true;
}

std::uint32_t GeneratedSource::messages_in(std::span<const std::byte> datagram, std::uint64_t steps) const noexcept {
    // Messages of the day's start are not counted, so that no faults are injected there: they would leave a reader's
    // books incomplete forever.
    if (options_.feed.format == feed::WireFormat::itch && steps != 0)
        return core::load_be<std::uint16_t>(datagram.data() + feed::moldudp64_layout::kCountAt);
    return static_cast<std::uint32_t>(steps);
}

double GeneratedSource::fraction() const {
    if (options_.max_steps == 0) return -1.0;
    return static_cast<double>(feed_.steps()) / static_cast<double>(options_.max_steps);
}

}  // namespace millpond::traffic
