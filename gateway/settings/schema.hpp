#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gateway/settings/config.hpp"
#include "gateway/settings/value.hpp"
#include "service/settings/schema.hpp"

namespace millpond::gateway {

using settings::described;
using settings::find_key;
using settings::Key;
using settings::Schema;

/// [[feed]]: keys of every feed, and those of its format.
inline constexpr std::string_view kFeedSection = "feed";
/// All keys of a feed, for help, manual and reference.
[[nodiscard]] std::vector<settings::KeyText> feed_keys(std::span<const FeedFormat* const> formats);
/// Throws ConfigError for an unknown key or a bad value.
void assign(FeedConfig& feed, std::string_view key, std::string_view where, const Value& value);

}  // namespace millpond::gateway
