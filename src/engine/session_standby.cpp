// A session and its standby.

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "session_action.hpp"
#include "session_host.hpp"
#include "store_opening.hpp"

namespace millpond::engine {
namespace {

constexpr std::int64_t kLingerNanos = 2'000'000'000;  // of an ending connection's last bytes

}  // namespace

void SessionHost::open_standby(const SessionOptions& options) {
    if (file_ == nullptr) {
        if (options.standby) throw std::invalid_argument(name_ + ": a standby needs a store in a file");
        return;
    }
    const auto standing = file_->standing();
    if (standing.is_replica()) {
        throw std::invalid_argument(name_ + ": its store is a standby's copy: it must be promoted before it runs");
    }
    superseded_ = standing.is_superseded();
    epoch_.set(standing.epoch);
    if (options.standby) {
        standby_ = std::make_unique<StandbyLink>(*options.standby, *file_, identity_of(config()).text(),
                                                 config().max_message_bytes, *io_,
                                                 [this](core::Moment now) { on_standby(now); });
        output_.set_holding(standby_->holds());
    }
    was_permitted_ = standby_permits();
}

bool SessionHost::standby_permits() const noexcept {
    return !superseded_.load(std::memory_order_relaxed) && (standby_ == nullptr || standby_->permits());
}

StandbyStatus SessionHost::standby_status() const {
    auto status = standby_ != nullptr ? standby_->status() : StandbyStatus{};
    status.epoch = epoch_.read();
    if (superseded_.load(std::memory_order_relaxed)) status.state = StandbyStatus::State::superseded;
    return status;
}

void SessionHost::add_standby_metrics(metrics::Registry& registry, std::vector<metrics::Registration>& list) const {
    if (standby_ != nullptr) std::ranges::move(standby_->add_metrics(registry, name_), std::back_inserter(list));
}

void SessionHost::refuse_for_standby() {
    refuse(RefusalReason::standby, fix::tag::kInvalid,
           superseded_ ? "another machine has taken over" : "the session waits for its standby");
    cut_for_standby();
}

void SessionHost::cut_for_standby() noexcept { cut(superseded_ ? Closed::superseded : Closed::standby_lost); }

/// At the ends of an action: both numbers belong to each other.
void SessionHost::settle_standby(core::Moment now) {
    standby_->publish(now);
    output_.seal(standby_->serial());
    output_.release(standby_->acked());
    if (connection_.exists() && !connection_.is_ending() && input_.set_stopped(output_.holds_much())) signal();
}

void SessionHost::on_standby(core::Moment now) {
    act(now, [&] {
        if (standby_->is_superseded()) superseded_ = true;
        if (standby_permits()) output_.set_holding(standby_->holds());
        follow_permission(now);
    });
}

void SessionHost::follow_permission(core::Moment now) {
    const bool permitted = standby_permits();
    if (permitted == std::exchange(was_permitted_, permitted)) return;
    // What is held back is never written then.
    if (!permitted && connection_.exists()) cut_for_standby();
    if (permitted && enabled_ && observer_ != nullptr) observer_->on_host_enabled(true, now);
}

/// Whether a connection that ends has to wait: its last bytes are held back.
bool SessionHost::waits_for_standby(core::Moment now) noexcept {
    const auto cut_for = connection_.cut_for();
    const bool is_over = cut_for == Closed::standby_lost || cut_for == Closed::superseded;
    if (!output_.is_holding() || connection_.is_broken() || is_over) return false;
    if (linger_ns_ == 0) {
        linger_ns_ = now.monotonic_ns + kLingerNanos;
        connection_->watch_readable(false);
    }
    return now.monotonic_ns < linger_ns_;
}

void SessionHost::supersede(std::uint64_t epoch) {
    if (file_ == nullptr || epoch <= file_->standing().epoch) return;
    auto standing = file_->standing();
    standing.superseded_by = std::max(standing.superseded_by, epoch);
    file_->set_standing(standing);
    superseded_ = true;
    act(io_->now(), [&] { follow_permission(stamp_); });
}

std::string SessionHost::promote() {
    if (file_ == nullptr) return "its store is not in a file";
    auto standing = file_->standing();
    if (!standing.is_superseded()) return {};
    standing.epoch = standing.superseded_by + 1;
    standing.epoch_first = store_->next_sender();
    standing.superseded_by = 0;
    standing.role = fix::StoreRole::promoted;
    file_->set_standing(standing);
    epoch_.set(standing.epoch);
    superseded_ = false;
    const auto now = io_->now();
    if (standby_ != nullptr) standby_->restart(now);
    act(now, [&] { follow_permission(now); });
    return {};
}

}  // namespace millpond::engine
