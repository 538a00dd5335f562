#include "service/utc_text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <millpond/fix/utc_time.hpp>

namespace millpond::service {
namespace {

/// Length of the date in ISO 8601, 2026-11-20T14:30:00; FIX writes 20261120-14:30:00.
constexpr std::size_t kIsoDateChars = 10;
constexpr std::size_t kHourAndMinuteChars = 5;

std::string text_of(std::int64_t utc_ns, fix::TimePrecision precision) {
    std::array<char, fix::kMaxTimestampChars> buffer{};
    const std::string_view text{buffer.data(), fix::write_utc_timestamp(buffer.data(), utc_ns, precision)};
    return std::string{text.substr(0, 4)}
        .append("-")
        .append(text.substr(4, 2))
        .append("-")
        .append(text.substr(6, 2))
        .append("T")
        .append(text.substr(9));
}

}  // namespace

std::string utc_text(std::int64_t utc_ns) { return text_of(utc_ns, fix::TimePrecision::millis); }

std::string utc_text_in_nanos(std::int64_t utc_ns) { return text_of(utc_ns, fix::TimePrecision::nanos); }

std::optional<std::int64_t> utc_of(std::string_view text) {
    if (text.find('T') != std::string_view::npos && text.ends_with('Z')) text.remove_suffix(1);
    if (text.size() < kIsoDateChars || text[4] != '-' || text[7] != '-') return std::nullopt;
    auto fix = std::string{text.substr(0, 4)}.append(text.substr(5, 2)).append(text.substr(8, 2));
    if (text.size() == kIsoDateChars) return fix::parse_utc_date(fix);
    if (text[kIsoDateChars] != 'T') return std::nullopt;
    const auto time = text.substr(kIsoDateChars + 1);
    fix.append("-").append(time);
    if (time.size() == kHourAndMinuteChars) fix.append(":00");
    return fix::parse_utc_timestamp(fix);
}

std::optional<std::int64_t> time_of_day_of(std::string_view text) {
    return fix::parse_utc_time(std::string{text}.append(text.size() == kHourAndMinuteChars ? ":00" : ""));
}

}  // namespace millpond::service
