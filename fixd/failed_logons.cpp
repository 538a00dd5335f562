#include "fixd/failed_logons.hpp"

#include <algorithm>
#include <cstddef>

namespace millpond::fixd {
namespace {

constexpr std::size_t kMost = 10'000;
constexpr std::uint64_t kMostDoublings = 6;
constexpr std::chrono::hours kForgiven{1};

}  // namespace

std::optional<FailedLogons::Wait> FailedLogons::begin(const std::string& who, Clock::time_point now) {
    const auto known = records_.find(who);
    if (known == records_.end()) {
        make_room(now);
        records_[who].looked_at = true;
        return std::nullopt;
    }
    auto& record = known->second;
    if (record.looked_at) return Wait{.failures = record.failures};
    if (now < record.until) {
        return Wait{.left = std::chrono::ceil<std::chrono::seconds>(record.until - now), .failures = record.failures};
    }
    if (now - record.until > kForgiven) record.failures = 0;
    record.looked_at = true;
    return std::nullopt;
}

void FailedLogons::settle(const std::string& who, bool failed, Clock::time_point now) {
    if (!failed) {
        records_.erase(who);
        return;
    }
    auto& record = records_[who];
    record.looked_at = false;
    record.until = now + std::chrono::seconds{1ULL << std::min(record.failures, kMostDoublings)};
    ++record.failures;
}

void FailedLogons::make_room(Clock::time_point now) {
    if (records_.size() < kMost) return;
    std::erase_if(records_,
                  [&](const auto& one) { return !one.second.looked_at && now - one.second.until > kForgiven; });
    if (records_.size() < kMost) return;
    const auto soonest = std::ranges::min_element(records_, {}, [](const auto& one) {
        return one.second.looked_at ? Clock::time_point::max() : one.second.until;
    });
    records_.erase(soonest);
}

}  // namespace millpond::fixd
