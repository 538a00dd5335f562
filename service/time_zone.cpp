#include "service/time_zone.hpp"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace millpond::service {
namespace {

absl::TimeZone zone_named(const std::string& name) {
    absl::TimeZone zone;
    if (!absl::LoadTimeZone(name, &zone)) throw std::runtime_error("no time zone '" + name + "' in the zone database");
    return zone;
}

}  // namespace

bool is_time_zone(const std::string& name) {
    absl::TimeZone zone;
    return absl::LoadTimeZone(name, &zone);
}

std::int64_t midnight_utc_ns(const std::string& zone_name, const std::string& day, std::int64_t now_utc_ns) {
    const auto zone = zone_named(zone_name);
    auto local = absl::ToCivilDay(absl::FromUnixNanos(now_utc_ns), zone);
    if (!day.empty() && !absl::ParseCivilTime(day, &local)) {
        throw std::runtime_error("'" + day + "' is not a date like 2020-01-30");
    }
    // If the clock is set forward at midnight, the day begins an hour later.
    const auto begin = zone.At(absl::CivilSecond{local});
    return absl::ToUnixNanos(begin.kind == absl::TimeZone::TimeInfo::SKIPPED ? begin.trans : begin.post);
}

std::vector<OffsetChange> offset_changes(const std::string& zone_name) {
    const auto zone = zone_named(zone_name);
    const auto at = [&](absl::Time time) { return OffsetChange{absl::ToUnixSeconds(time), zone.At(time).offset}; };
    const auto last = absl::FromCivil(absl::CivilDay{2100}, absl::UTCTimeZone());
    std::vector<OffsetChange> changes{at(absl::UnixEpoch())};
    absl::TimeZone::CivilTransition change;
    for (auto time = absl::UnixEpoch(); zone.NextTransition(time, &change);) {
        time = zone.At(change.to).trans;
        if (time >= last) break;
        changes.push_back(at(time));
    }
    return changes;
}

}  // namespace millpond::service
