#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/fix/application_version.hpp>
#include <millpond/fix/session_config.hpp>

#include "fixd/settings/session_settings.hpp"
#include "service/settings/value.hpp"

/// Values of `[[session]]` with a syntax that only they have. Each throws ConfigError with the place.
namespace millpond::fixd {

inline constexpr auto kVersions = [] {
    using enum fix::ApplicationVersion;
    constexpr fix::ApplicationVersion kAll[] = {fix40, fix41, fix42, fix43, fix44, fix50, fix50sp1, fix50sp2, latest};
    std::array<std::pair<std::string_view, fix::ApplicationVersion>, std::size(kAll)> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = {fix::name(kAll[i]), kAll[i]};
    return names;
}();

/// A tag from 1 to fix::kMaxTag without leading zeros; fix::tag::kInvalid for other text.
[[nodiscard]] fix::Tag tag_of(std::string_view text) noexcept;

/// "08:30" or "08:30:15" as a second of the day.
[[nodiscard]] std::int64_t time_of_day(const settings::Value& value);

/// "FIX.4.4", "FIX.5.0SP2=venue.xml"
[[nodiscard]] std::vector<FurtherVersion> further_versions_of(const settings::Value& value);
[[nodiscard]] std::string further_versions_text(const SessionSettings& settings);

/// "send:D", "receive:8=FIX.4.4", "send:AE=FIX.5.0SP2:default"
[[nodiscard]] std::vector<fix::LogonMessageType> logon_types_of(const settings::Value& value);
[[nodiscard]] std::string logon_types_text(const SessionSettings& settings);

/// `[session.logon]` and `[session.header]`
[[nodiscard]] std::vector<FieldSetting> logon_fields_of(const settings::Value& value);
[[nodiscard]] std::vector<FieldSetting> header_fields_of(const settings::Value& value);

}  // namespace millpond::fixd
