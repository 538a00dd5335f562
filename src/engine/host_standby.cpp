#include "host_standby.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "store_opening.hpp"

namespace millpond::engine {
namespace {

constexpr std::int64_t kDelayNanos = 2'000'000'000;  // of an ending connection's last bytes

}  // namespace

HostStandby::HostStandby(const SessionOptions& options, const std::string& name, fix::FileStore* file,
                         HostConnection& connection, OutputPath& output, IoThread& io, StandbyLink::OnChange on_change)
    : name_(&name), file_(file), connection_(&connection), output_(&output) {
    if (file == nullptr && options.standby) throw std::invalid_argument(name + ": a standby needs a store in a file");
    if (file != nullptr) {
        const auto standing = file->standing();
        if (standing.is_replica()) {
            throw std::invalid_argument(name + ": its store is a standby's copy: it must be promoted before it runs");
        }
        superseded_ = standing.is_superseded();
        epoch_.set(standing.epoch);
    }
    if (options.standby) {
        link_ = std::make_unique<StandbyLink>(*options.standby, *file, identity_of(options.config).text(),
                                              options.config.max_message_bytes, io, std::move(on_change));
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

void HostStandby::settle(core::Moment now) {
    link_->publish(now);
    output_->seal(link_->serial());
    output_->release(link_->acked());
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
    if (file_ == nullptr || epoch <= file_->standing().epoch) return false;
    auto standing = file_->standing();
    standing.superseded_by = std::max(standing.superseded_by, epoch);
    file_->set_standing(standing);
    superseded_ = true;
    return true;
}

std::string HostStandby::promote(std::uint64_t next_sender, core::Moment now) {
    if (file_ == nullptr) return "its store is not in a file";
    auto standing = file_->standing();
    if (!standing.is_superseded()) return {};
    standing.epoch = standing.superseded_by + 1;
    standing.epoch_first = next_sender;
    standing.superseded_by = 0;
    standing.role = fix::StoreRole::promoted;
    file_->set_standing(standing);
    epoch_.set(standing.epoch);
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
