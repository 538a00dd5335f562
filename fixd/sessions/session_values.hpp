#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixd/sessions/session_settings.hpp"
#include "service/settings/value.hpp"

/// Values of `[[session]]` with a syntax that only they have. Each throws ConfigError with the place.
namespace millpond::fixd {

inline constexpr std::pair<std::string_view, FixVersion> kVersions[] = {
    {"FIX.4.0", FixVersion::fix40},       {"FIX.4.1", FixVersion::fix41},       {"FIX.4.2", FixVersion::fix42},
    {"FIX.4.3", FixVersion::fix43},       {"FIX.4.4", FixVersion::fix44},       {"FIX.5.0", FixVersion::fix50},
    {"FIX.5.0SP1", FixVersion::fix50sp1}, {"FIX.5.0SP2", FixVersion::fix50sp2}, {"FIX.Latest", FixVersion::fix_latest}};

/// "08:30" or "08:30:15" as a second of the day.
[[nodiscard]] std::int64_t time_of_day(const settings::Value& value);

/// "FIX.4.4", "FIX.5.0SP2=venue.xml"
[[nodiscard]] std::vector<FurtherVersion> further_versions_of(const settings::Value& value);
[[nodiscard]] std::string further_versions_text(const SessionSettings& settings);

/// "send:D", "receive:8=FIX.4.4", "send:AE=FIX.5.0SP2:default"
[[nodiscard]] std::vector<LogonType> logon_types_of(const settings::Value& value);
[[nodiscard]] std::string logon_types_text(const SessionSettings& settings);

/// `[session.logon]` and `[session.header]`
[[nodiscard]] std::vector<FieldSetting> logon_fields_of(const settings::Value& value);
[[nodiscard]] std::vector<FieldSetting> header_fields_of(const settings::Value& value);

}  // namespace millpond::fixd
