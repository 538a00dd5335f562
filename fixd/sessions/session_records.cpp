#include "fixd/sessions/session_records.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace millpond::fixd {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

}  // namespace

LastLatencies::Percentiles LastLatencies::read() const {
    std::uint64_t seen = 0;
    return read_since(seen);
}

LastLatencies::Percentiles LastLatencies::read_since(std::uint64_t& seen) const {
    const auto added = count_.load(std::memory_order_acquire);  // sync "latency added": the store in add
    auto first = std::exchange(seen, added);
    if (first > added) first = 0;  // the session was replaced
    return read(std::max(first, added - std::min<std::uint64_t>(added, kMessages)), added);
}

LastLatencies::Percentiles LastLatencies::read(std::uint64_t first, std::uint64_t end) const {
    std::vector<std::int64_t> sorted;
    for (auto i = first; i != end; ++i) sorted.push_back(nanos_[i % kMessages].load(std::memory_order_relaxed));
    if (sorted.empty()) return {};
    std::ranges::sort(sorted);
    const auto at = [&](std::size_t percent) { return sorted[(sorted.size() * percent - 1) / 100]; };
    return {.count = sorted.size(), .p50 = at(50), .p90 = at(90), .p99 = at(99), .max = sorted.back()};
}

std::optional<std::uint64_t> SessionRecord::count_rejection(std::string_view reason, std::int64_t utc_ns) {
    const std::lock_guard guard{lock_};
    std::erase_if(rejections_, [&](const Rejection& one) { return utc_ns - one.last_utc_ns >= kQuietNs; });
    auto known = std::ranges::find(rejections_, reason, &Rejection::reason);
    if (known == rejections_.end()) {
        if (rejections_.size() == kMaxReasons) return 0;
        known = rejections_.insert(known, {.reason = std::string{reason},
                                           .newest = std::string{reason},
                                           .first_utc_ns = utc_ns,
                                           .second_began_ns = utc_ns});
    }
    known->last_utc_ns = utc_ns;
    ++known->messages;
    if (utc_ns - known->second_began_ns >= kSecondNs || utc_ns < known->second_began_ns) {
        known->second_began_ns = utc_ns;
        known->texts = 0;
    }
    if (known->texts == kMaxTextsPerSecond) {
        ++known->without_text;
        return std::nullopt;
    }
    ++known->texts;
    return std::exchange(known->without_text, 0);
}

void SessionRecord::set_newest(std::string_view reason, std::string text) {
    const std::lock_guard guard{lock_};
    const auto known = std::ranges::find(rejections_, reason, &Rejection::reason);
    if (known != rejections_.end()) known->newest = std::move(text);
}

std::vector<SessionRecord::Rejection> SessionRecord::rejections(std::int64_t utc_ns) const {
    const std::lock_guard guard{lock_};
    auto current = rejections_;
    std::erase_if(current, [&](const Rejection& one) { return utc_ns - one.last_utc_ns >= kQuietNs; });
    return current;
}

void SessionRecord::add(Occurrences& to, std::string text, std::int64_t utc_ns) {
    const std::lock_guard guard{lock_};
    ++to.count;
    to.newest = std::move(text);
    to.newest_utc_ns = utc_ns;
}

SessionRecord::Occurrences SessionRecord::read(const Occurrences& from) const {
    const std::lock_guard guard{lock_};
    return from;
}

bool SessionRecord::set_heartbeat(std::int64_t seconds) {
    const std::lock_guard guard{lock_};
    return std::exchange(heartbeat_seconds_, seconds) != seconds;
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
