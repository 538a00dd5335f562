#include "src/engine/session/host_standby.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <millpond/fix/store_identity.hpp>

namespace millpond::engine {
namespace {

constexpr std::int64_t kDelayNanos = 2'000'000'000;  // maximum delay for the last bytes of an ending connection

}  // namespace

HostStandby::HostStandby(const SessionOptions& options, const std::string& name, fix::FileStore* file,
                         HostConnection& connection, InputPath& input, OutputPath& output, IoLoop& loop,
                         StandbyLink::OnChange on_change)
    : name_(&name), file_(file), connection_(&connection), input_(&input), output_(&output) {
    if (file == nullptr && options.standby) throw std::invalid_argument(name + ": a standby needs a store in a file");
    if (file != nullptr) {
        const auto standby_state = file->standby_state();
        if (standby_state.is_replica()) {
            throw std::invalid_argument(name + ": its store is a standby's copy: it must be promoted before it runs");
        }
        superseded_ = standby_state.is_superseded();
        epoch_.set(standby_state.epoch);
    }
    if (options.standby) {
        link_ = std::make_unique<StandbyLink>(*options.standby, *file, fix::StoreIdentity::of(options.config).text(),
                                              options.config.max_message_bytes, loop, std::move(on_change));
        output.set_holding(link_->holds());
    }
    was_permitted_ = permits();
}

void HostStandby::begin() {
    if (link_ != nullptr) link_->begin();
}

void HostStandby::end() {
    if (link_ != nullptr) link_->end();
}

std::string_view HostStandby::refusal() const noexcept {
    return superseded_ ? "another machine has taken over" : "the session waits for its standby";
}

bool HostStandby::follow_change() noexcept {
    const bool is_permitted = permits();
    if (is_permitted == std::exchange(was_permitted_, is_permitted)) return false;
    // Otherwise output that is held back is never written.
    if (!is_permitted && connection_->exists()) connection_->cut(closed_because());
    return is_permitted;
}

bool HostStandby::settle(core::Moment now) {
    link_->publish(now);
    output_->seal(link_->serial());
    output_->release(link_->acked());
    return connection_->exists() && !connection_->is_ending() && input_->set_stopped(output_->holds_much());
}

void HostStandby::publish(core::Moment now) {
    if (link_ != nullptr) link_->publish(now);
}

void HostStandby::follow_link() {
    if (link_->is_superseded()) superseded_ = true;
    if (permits()) output_->set_holding(link_->holds());
}

bool HostStandby::delays_end(core::Moment now) noexcept {
    const auto cut_for = connection_->cut_for();
    const bool is_over = cut_for == Closed::standby_lost || cut_for == Closed::superseded;
    if (!output_->is_holding() || connection_->is_broken() || is_over) return false;
    if (delayed_until_ns_ == 0) {
        delayed_until_ns_ = now.monotonic_ns + kDelayNanos;
        (*connection_)->watch_readable(false);
    }
    return now.monotonic_ns < delayed_until_ns_;
}

bool HostStandby::supersede(std::uint64_t epoch) {
    if (file_ == nullptr || epoch <= file_->standby_state().epoch) return false;
    auto standby_state = file_->standby_state();
    standby_state.superseded_by = std::max(standby_state.superseded_by, epoch);
    file_->set_standby_state(standby_state);
    superseded_ = true;
    return true;
}

std::string HostStandby::promote(std::uint64_t next_sender, core::Moment now) {
    if (file_ == nullptr) return "its store is not in a file";
    auto standby_state = file_->standby_state();
    if (!standby_state.is_superseded()) return {};
    standby_state.epoch = standby_state.superseded_by + 1;
    standby_state.epoch_first = next_sender;
    standby_state.superseded_by = 0;
    standby_state.role = fix::StoreRole::promoted;
    file_->set_standby_state(standby_state);
    epoch_.set(standby_state.epoch);
    superseded_ = false;
    if (link_ != nullptr) link_->restart(now);
    return {};
}

StandbyStatus HostStandby::status() const {
    auto status = link_ != nullptr ? link_->status() : StandbyStatus{};
    status.epoch = epoch_.read();
    if (superseded_.load(std::memory_order_relaxed)) status.state = StandbyStatus::State::superseded;
    return status;
}

void HostStandby::add_metrics(metrics::Registry& registry, std::vector<metrics::Registration>& list) const {
    if (link_ != nullptr) std::ranges::move(link_->add_metrics(registry, *name_), std::back_inserter(list));
}

}  // namespace millpond::engine
