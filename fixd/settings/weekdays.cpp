#include "fixd/settings/weekdays.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include "service/time_zone.hpp"

namespace millpond::fixd {
namespace {

constexpr std::string_view kNames[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr std::size_t kDays = 7;

std::size_t day_number(std::string_view text) {
    const auto* const found = std::ranges::find(kNames, text);
    if (found == std::end(kNames)) {
        throw std::invalid_argument("expects mon, tue, wed, thu, fri, sat or sun, found '" + std::string{text} + "'");
    }
    return static_cast<std::size_t>(found - kNames);
}

}  // namespace

fix::Schedule::Weekday weekday_of(std::string_view text) {
    return static_cast<fix::Schedule::Weekday>(day_number(text));
}

std::array<bool, 7> weekdays_of(std::string_view text) {
    std::array<bool, kDays> days{};
    if (text.empty()) days.fill(true);
    while (!text.empty()) {
        const auto end = std::min(text.find('+'), text.size());
        const auto part = text.substr(0, end);
        const auto dash = part.find('-');
        const auto first = day_number(part.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : day_number(part.substr(dash + 1));
        for (auto day = first;; day = (day + 1) % kDays) {
            days[day] = true;
            if (day == last) break;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return days;
}

std::shared_ptr<const fix::TimeZone> zone_named(const std::string& name) {
    const auto changes = service::offset_changes(name);
    auto zone = std::make_shared<fix::TimeZone>(changes.front().offset_seconds);
    for (const auto& change : std::span{changes}.subspan(1))
        zone->add_change(change.utc_seconds, change.offset_seconds);
    return zone;
}

}  // namespace millpond::fixd
