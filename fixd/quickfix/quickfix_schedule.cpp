#include "fixd/quickfix/quickfix_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "service/time_zone.hpp"

namespace millpond::fixd::quickfix {
namespace {

constexpr std::string_view kUtc = "UTC";

std::string lower(std::string_view text) {
    std::string out{text};
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

/// Java's GMT+1 and GMT+01:00 in the zone database, which has Etc/GMT-1 for them; empty for other names.
std::string of_offset(std::string_view name) {
    constexpr std::string_view kGmt = "GMT";
    if (!name.starts_with(kGmt) || name.size() < kGmt.size() + 2) return {};
    const char sign = name[kGmt.size()];
    auto digits = name.substr(kGmt.size() + 1);
    if (digits.ends_with(":00")) digits.remove_suffix(3);
    const auto hours = number_of(digits);
    if ((sign != '+' && sign != '-') || digits.size() > 2 || !hours || *hours > 12) return {};
    if (*hours == 0) return std::string{kUtc};
    return fmt::format("Etc/GMT{}{}", sign == '+' ? '-' : '+', *hours);
}

std::string zone_of(const SectionReader& reader, const Entry& entry, std::string_view name) {
    std::string zone = of_offset(name);
    if (zone.empty()) zone = name;
    if (zone == "GMT" || zone == "Etc/UTC" || zone == "Z") zone = kUtc;
    if (!service::is_time_zone(zone)) {
        reader.fail(entry.line, fmt::format("{}: '{}' is not in the time zone database", entry.key, name));
    }
    return zone;
}

/// "08:00:00" or, with QuickFIX/J, "08:00:00 Europe/Berlin".
struct Time {
    std::string text;
    std::string zone;
};

Time time_of(const SectionReader& reader, const Entry& entry, const std::string& default_zone) {
    const auto space = std::min(entry.value.find_first_of(" \t"), entry.value.size());
    Time time{entry.value.substr(0, space), default_zone};
    constexpr std::uint64_t kBounds[] = {24, 60, 60};
    const auto parts = split(time.text, ':');
    bool is_time = parts.size() == 2 || parts.size() == 3;
    for (std::size_t i = 0; is_time && i < parts.size(); ++i) {
        const auto value = number_of(parts[i]);
        is_time = parts[i].size() == 2 && value && *value < kBounds[i];
    }
    if (!is_time) reader.fail(entry.line, fmt::format("{} expects HH:MM:SS, found '{}'", entry.key, time.text));
    const auto zone = entry.value.find_first_not_of(" \t", space);
    if (zone != std::string::npos) time.zone = zone_of(reader, entry, std::string_view{entry.value}.substr(zone));
    return time;
}

/// "Monday", "mon" or "mo" is "mon".
std::string day_of(const SectionReader& reader, const Entry& entry, std::string_view text) {
    const auto day = lower(text);
    for (const std::string_view name : {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}) {
        if (day.size() >= 2 && day.starts_with(name.substr(0, 2))) return std::string{name};
    }
    reader.fail(entry.line, fmt::format("{} expects a day of the week, found '{}'", entry.key, text));
}

TomlLines times_of(SectionReader& reader) {
    const auto* start = reader.consume("StartTime");
    const auto* end = reader.consume("EndTime");
    const auto* zone = reader.consume("TimeZone");
    const auto default_zone = zone == nullptr ? std::string{kUtc} : zone_of(reader, *zone, zone->value);
    if (start == nullptr && end == nullptr) return {};
    if (start == nullptr || end == nullptr) {
        reader.fail((start == nullptr ? end : start)->line, "StartTime and EndTime are required together");
    }
    const auto from = time_of(reader, *start, default_zone);
    const auto to = time_of(reader, *end, default_zone);
    if (from.zone != to.zone) {
        reader.fail(
            std::max(start->line, end->line),
            fmt::format("StartTime is in {} and EndTime in {}, and a session has one time zone here: write both "
                        "times in the same one",
                        from.zone, to.zone));
    }
    TomlLines lines;
    lines.add(start->line, "start", toml_text(from.text));
    lines.add(end->line, "end", toml_text(to.text));
    if (from.zone != kUtc) lines.add(zone == nullptr ? start->line : zone->line, "timezone", toml_text(from.zone));
    return lines;
}

}  // namespace

TomlLines schedule_of(SectionReader& reader) {
    if (const auto* never_ends = reader.consume("NonStopSession"); never_ends != nullptr && reader.yes(*never_ends)) {
        for (const auto* const key : {"StartTime", "EndTime", "StartDay", "EndDay", "Weekdays", "TimeZone"}) {
            reader.skip(key);
        }
        return {};
    }
    auto lines = times_of(reader);
    for (const auto& [theirs, ours] : {std::pair{"StartDay", "start_day"}, {"EndDay", "end_day"}}) {
        if (const auto* day = reader.consume(theirs))
            lines.add(day->line, ours, toml_text(day_of(reader, *day, day->value)));
    }
    if (const auto* days = reader.consume("Weekdays")) {
        std::string list;
        for (const auto& day : split(days->value, ',')) list += (list.empty() ? "" : "+") + day_of(reader, *days, day);
        lines.add(days->line, "days", toml_text(list));
    }
    return lines;
}

}  // namespace millpond::fixd::quickfix
