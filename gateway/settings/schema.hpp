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

using Formats = std::span<const FeedFormat* const>;

/// The table [[feed]], with the keys of every feed and those of its format.
inline constexpr std::string_view kFeedSection = "feed";
/// Key that is read before the other keys of a feed, independent of its position.
inline constexpr std::string_view kFormatKey = "format";
/// All keys of a feed, for help, manual and reference.
[[nodiscard]] std::vector<settings::KeyText> feed_keys(Formats formats);
/// Returns the format that the value names, with default settings. Throws ConfigError.
[[nodiscard]] FormatSettings format_named(const Value& value, Formats formats);
/// Assigns any key except the format. Throws ConfigError for a key that is unknown or of another format, and for a bad
/// value.
void assign(FeedConfig& feed, std::string_view key, std::string_view where, const Value& value, Formats formats);

}  // namespace millpond::gateway

namespace millpond::settings {

// clang-format off
template <> std::string_view Schema<gateway::Config>::name();
template <> std::string_view Schema<gateway::RingConfig>::name();
template <> std::string_view Schema<gateway::CompositeConfig>::name();
template <> std::string_view Schema<gateway::SymbolsConfig>::name();
template <> std::span<const Key<gateway::Config>> Schema<gateway::Config>::keys();
template <> std::span<const Key<gateway::RingConfig>> Schema<gateway::RingConfig>::keys();
template <> std::span<const Key<gateway::CompositeConfig>> Schema<gateway::CompositeConfig>::keys();
template <> std::span<const Key<gateway::SymbolsConfig>> Schema<gateway::SymbolsConfig>::keys();
// clang-format on

}  // namespace millpond::settings
