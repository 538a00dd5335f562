#include "fixd/sessions/session_records.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace millpond::fixd {

LastLatencies::Percentiles LastLatencies::read() const {
    const auto added = count_.load(std::memory_order_acquire);  // sync "latency added": the store in add
    std::vector<std::int64_t> sorted(std::min<std::uint64_t>(added, kMessages));
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = nanos_[i].load(std::memory_order_relaxed);
    if (sorted.empty()) return {};
    std::ranges::sort(sorted);
    const auto at = [&](std::size_t percent) { return sorted[(sorted.size() * percent - 1) / 100]; };
    return {.count = sorted.size(), .p50 = at(50), .p90 = at(90), .p99 = at(99), .max = sorted.back()};
}

void SessionRecord::set_error(std::string text, std::int64_t utc_ns) {
    const std::lock_guard guard{lock_};
    error_ = {.text = std::move(text), .utc_ns = utc_ns};
}

SessionRecord::Error SessionRecord::error() const {
    const std::lock_guard guard{lock_};
    return error_;
}

std::shared_ptr<SessionRecord> SessionRecords::of(std::string_view session) {
    const std::lock_guard guard{lock_};
    const auto known = records_.find(session);
    if (known != records_.end()) return known->second;
    return records_.emplace(session, std::make_shared<SessionRecord>()).first->second;
}

void SessionRecords::keep(const std::function<bool(const std::string&)>& stays) {
    const std::lock_guard guard{lock_};
    std::erase_if(records_, [&](const auto& record) { return !stays(record.first); });
}

}  // namespace millpond::fixd
