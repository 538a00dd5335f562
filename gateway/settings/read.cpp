#include "gateway/settings/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/settings/schema.hpp"
#include "gateway/settings/value.hpp"
#include "service/settings/errors.hpp"
#include "service/settings/toml.hpp"

namespace millpond::gateway {
namespace {

const SinkKind* kind_of(std::string_view name, const Config& config) {
    const auto kind = std::ranges::find(config.sink_kinds, name, &SinkKind::name);
    return kind == config.sink_kinds.end() ? nullptr : *kind;
}

/// Reads the table [symbols].
void read_symbols(const Value& table, SymbolsConfig& symbols) {
    const auto title = settings::table_title(Schema<SymbolsConfig>::name());
    settings::Errors errors;
    for (const auto& [key, value] : table.table()) {
        errors.check([&, key = &key, value = &value] {
            find_key<SymbolsConfig>(Schema<SymbolsConfig>::keys(), title, *key, value->where()).assign(symbols, *value);
        });
    }
    errors.throw_if_any();
}

/// Reads every [[feed]], first its format, which determines the other keys. Throws ConfigErrors.
void read_feeds(const settings::Document& document, Config& config) {
    settings::Errors errors;
    auto feed = config.feeds.size();
    errors.check([&] {
        document.sections(
            kFeedSection,
            [&](std::string_view where) {
                config.feeds.emplace_back(*config.feed_formats.front()).origin.where = where;
            },
            [&](std::string_view key, std::string_view, const Value& value) {
                auto& read = config.feeds.back();
                if (key != kFormatKey) return;
                settings::assign_to(read.origin, key, [&] { read.format = format_named(value, config.feed_formats); });
            });
    });
    errors.check([&] {
        document.sections(
            kFeedSection, [&](std::string_view) { ++feed; },
            [&](std::string_view key, std::string_view where, const Value& value) {
                auto& read = config.feeds[feed - 1];
                if (key == kFormatKey) return;
                settings::assign_to(read.origin, key, [&] { assign(read, key, where, value, config.feed_formats); });
            });
    });
    errors.throw_if_any();
}

}  // namespace

void read_toml(std::string_view text, std::string_view name, Config& config) {
    const auto document = settings::Document::parse(text, name);
    const auto is_section = [&](std::string_view key) {
        if (key == Schema<RingConfig>::name()) return settings::read_sections(*document, config.rings), true;
        if (key == kFeedSection) return read_feeds(*document, config), true;
        if (key == Schema<CompositeConfig>::name()) return settings::read_sections(*document, config.composites), true;
        const auto* kind = kind_of(key, config);
        if (kind == nullptr) return false;
        document->sections(
            key, [&](std::string_view where) { config.sinks.emplace_back(*kind).origin.where = where; },
            [&](std::string_view of, std::string_view where, const Value& value) {
                auto& sink = config.sinks.back();
                settings::assign_to(sink.origin, of, [&] { sink.assign(of, where, value); });
            });
        return true;
    };
    std::vector<std::string_view> tables{Schema<RingConfig>::name(), kFeedSection, Schema<CompositeConfig>::name(),
                                         Schema<SymbolsConfig>::name()};
    for (const auto* kind : config.sink_kinds) tables.push_back(kind->name());
    document->top_level(tables, is_section, [&](std::string_view key, std::string_view where, const Value& value) {
        if (key == Schema<SymbolsConfig>::name()) return read_symbols(value, config.symbols);
        find_key<Config>(key, where).assign(config, value);
    });
}

void read_file(const std::string& path, Config& config) { read_toml(settings::text_of(path), path, config); }

void read_flag(std::string_view key, const std::string& text, Config& config) {
    settings::read_flag(key, text, config);
}

void read_table_flag(std::string_view section, std::string_view text, Config& config) {
    const auto flag = settings::flag_of(section);
    const auto title = settings::section_title(section);
    if (section == Schema<RingConfig>::name()) {
        config.rings.emplace_back().origin.where = flag;
        return settings::read_table_flag(text, config.rings.back());
    }
    if (section == Schema<CompositeConfig>::name()) {
        config.composites.emplace_back().origin.where = flag;
        return settings::read_table_flag(text, config.composites.back());
    }
    if (section == Schema<SymbolsConfig>::name()) return settings::read_table_flag(text, config.symbols);
    if (section == kFeedSection) {
        auto& feed = config.feeds.emplace_back(*config.feed_formats.front());
        feed.origin.where = flag;
        const auto pairs = settings::pairs_of(text, flag);
        const auto value_of = [&](const auto& pair) {
            return Value{flag, described(title, pair.first), Value::Bare{pair.second}};
        };
        for (const auto& pair : pairs) {
            if (pair.first == kFormatKey) feed.format = format_named(value_of(pair), config.feed_formats);
        }
        for (const auto& pair : pairs) {
            if (pair.first != kFormatKey) assign(feed, pair.first, flag, value_of(pair), config.feed_formats);
        }
        return;
    }
    const auto* kind = kind_of(section, config);
    if (kind == nullptr) throw ConfigError(flag + ": no such table");
    auto& sink = config.sinks.emplace_back(*kind);
    sink.origin.where = flag;
    for (const auto& [key, value] : settings::pairs_of(text, flag)) {
        sink.assign(key, flag, Value{flag, described(title, key), Value::Bare{value}});
    }
}

}  // namespace millpond::gateway
