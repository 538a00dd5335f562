#include "gateway/settings/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/settings/schema.hpp"
#include "gateway/settings/value.hpp"
#include "service/settings/toml.hpp"

namespace millpond::gateway {
namespace {

const SinkKind* kind_of(std::string_view name, const Config& config) {
    const auto kind = std::ranges::find(config.sink_kinds, name, &SinkKind::name);
    return kind == config.sink_kinds.end() ? nullptr : *kind;
}

/// A key of [[feed]] that was read; its format may come after it.
struct FormatKey {
    std::size_t feed;  ///< Index in Config::feeds.
    std::string name;
    std::string where;
};

bool has_key(const FeedFormat& format, std::string_view name) {
    const auto keys = format.keys();
    return std::ranges::find(keys, name, &settings::KeyText::name) != keys.end();
}

/// Refuses a key that only other formats than the feed's have: it would do nothing.
void check_format_keys(const std::vector<FormatKey>& keys, const Config& config) {
    for (const auto& key : keys) {
        const auto& feed = config.feeds[key.feed];
        if (has_key(*feed.format, key.name)) continue;
        for (const auto& settings : feed.settings) {
            if (!has_key(settings.format(), key.name)) continue;
            throw ConfigError(fmt::format("{}: key '{}' of [[feed]] is for format '{}', but the format is '{}'",
                                          key.where, key.name, settings.format().name(), feed.format->name()));
        }
    }
}

}  // namespace

void read_toml(std::string_view text, std::string_view name, Config& config) {
    const auto document = settings::Document::parse(text, name);
    std::vector<FormatKey> feed_keys;
    const auto is_section = [&](std::string_view key) {
        if (key == Schema<RingConfig>::name()) return settings::read_sections(*document, config.rings), true;
        if (key == kFeedSection) {
            document->sections(
                key,
                [&](std::string_view where) { config.feeds.emplace_back(config.feed_formats).origin.where = where; },
                [&](std::string_view of, std::string_view where, const Value& value) {
                    assign(config.feeds.back(), of, where, value);
                    feed_keys.push_back({config.feeds.size() - 1, std::string{of}, std::string{where}});
                });
            return true;
        }
        const auto* kind = kind_of(key, config);
        if (kind == nullptr) return false;
        document->sections(
            key, [&](std::string_view where) { config.sinks.emplace_back(*kind).origin.where = where; },
            [&](std::string_view of, std::string_view where, const Value& value) {
                config.sinks.back().assign(of, where, value);
            });
        return true;
    };
    std::vector<std::string_view> tables{Schema<RingConfig>::name(), kFeedSection};
    for (const auto* kind : config.sink_kinds) tables.push_back(kind->name());
    settings::read_top_level(*document, tables, is_section, config);
    check_format_keys(feed_keys, config);
}

void read_file(const std::string& path, Config& config) { read_toml(settings::text_of(path), path, config); }

void read_flag(std::string_view key, const std::string& text, Config& config) {
    settings::read_flag(key, text, config);
}

void read_table_flag(std::string_view section, std::string_view text, Config& config) {
    const auto flag = settings::flag_of(section);
    if (section == Schema<RingConfig>::name()) {
        config.rings.emplace_back().origin.where = flag;
        return settings::read_table_flag(text, config.rings.back());
    }
    if (section == kFeedSection) {
        auto& feed = config.feeds.emplace_back(config.feed_formats);
        feed.origin.where = flag;
        std::vector<FormatKey> feed_keys;
        for (const auto& [key, value] : settings::pairs_of(text, flag)) {
            assign(feed, key, flag, Value{flag, described(section, key), Value::Bare{value}});
            feed_keys.push_back({config.feeds.size() - 1, std::string{key}, flag});
        }
        return check_format_keys(feed_keys, config);
    }
    const auto* kind = kind_of(section, config);
    if (kind == nullptr) throw ConfigError(flag + ": no such table");
    auto& sink = config.sinks.emplace_back(*kind);
    sink.origin.where = flag;
    for (const auto& [key, value] : settings::pairs_of(text, flag)) {
        sink.assign(key, flag, Value{flag, described(section, key), Value::Bare{value}});
    }
}

}  // namespace millpond::gateway
