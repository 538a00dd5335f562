#include "gateway/config/read.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "gateway/config/schema.hpp"
#include "gateway/config/value.hpp"

namespace millpond::gateway {
namespace {

std::string place(std::string_view name, const toml::source_region& region) {
    return fmt::format("{}:{}", name, region.begin.line);
}

std::string_view type_in_words(toml::node_type type) {
    switch (type) {
        case toml::node_type::table: return "a table";
        case toml::node_type::array: return "an array";
        case toml::node_type::date: return "a date without quotes";
        case toml::node_type::time: return "a time";
        case toml::node_type::date_time: return "a date and time without quotes";
        default: return "a value";
    }
}

Value::Data data_of(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* integer = node.as_integer()) return integer->get();
    if (const auto* number = node.as_floating_point()) return number->get();
    if (const auto* boolean = node.as_boolean()) return boolean->get();
    return std::monostate{};
}

template <class Section>
void assign(const toml::key& key, const toml::node& node, std::string_view name, Section& section) {
    const auto where = place(name, key.source());
    const auto& known = find_key<Section>(key.str(), where);
    known.assign(section, Value{where, described(Schema<Section>::name(), key.str()), data_of(node),
                                type_in_words(node.type())});
}

/// Reads every [[section]] of an array of tables.
template <class Section>
void append(const toml::node& node, std::string_view name, std::vector<Section>& sections) {
    const auto* tables = node.as_array();
    if (tables == nullptr || !tables->is_array_of_tables()) {
        throw ConfigError(fmt::format("{}: '{}' must be written as [[{}]]", place(name, node.source()),
                                      Schema<Section>::name(), Schema<Section>::name()));
    }
    for (const auto& element : *tables) {
        auto& section = sections.emplace_back();
        for (const auto& [key, value] : *element.as_table()) assign(key, value, name, section);
    }
}

template <class Section>
void append_flag(std::string_view text, std::vector<Section>& sections) {
    const auto flag = fmt::format("--{}", Schema<Section>::name());
    auto& section = sections.emplace_back();
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        const auto pair = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const auto equals = pair.find('=');
        if (equals == std::string_view::npos) {
            throw ConfigError(fmt::format("{}: expects KEY=VALUE,KEY=VALUE, found '{}'", flag, pair));
        }
        const auto key = pair.substr(0, equals);
        find_key<Section>(key, flag).assign(section, Value{flag, described(Schema<Section>::name(), key),
                                                           Value::Bare{std::string{pair.substr(equals + 1)}}});
    }
}

/// Calls `use` with the list of sections of that name; false when there is none.
template <class Use>
bool with_sections(std::string_view name, Config& config, Use&& use) {
    if (name == Schema<RingConfig>::name()) return use(config.rings), true;
    if (name == Schema<FeedConfig>::name()) return use(config.feeds), true;
    if (name == Schema<TcpConfig>::name()) return use(config.tcp), true;
    if (name == Schema<CsvConfig>::name()) return use(config.csv), true;
    if (name == Schema<UdpConfig>::name()) return use(config.udp), true;
    return false;
}

}  // namespace

void read_toml(std::string_view text, std::string_view name, Config& config) {
    toml::table root;
    try {
        root = toml::parse(text);
    } catch (const toml::parse_error& error) {
        throw ConfigError(fmt::format("{}: {}", place(name, error.source()), error.description()));
    }
    for (const auto& [key, node] : root) {
        const auto& value = node;
        const bool is_section =
            with_sections(key.str(), config, [&](auto& sections) { append(value, name, sections); });
        if (!is_section) assign(key, value, name, config);
    }
}

void read_file(const std::string& path, Config& config) {
    std::ifstream in{path};
    std::ostringstream text;
    if (in) text << in.rdbuf();
    if (!in || in.bad()) {
        throw ConfigError(fmt::format("{}: cannot read: {}", path, std::generic_category().message(errno)));
    }
    read_toml(text.str(), path, config);
}

void read_flag(std::string_view key, const std::string& text, Config& config) {
    auto flag = fmt::format("--{}", key);
    std::replace(flag.begin(), flag.end(), '_', '-');
    find_key<Config>(key, flag).assign(config, Value{flag, "it", Value::Bare{text}});
}

void read_table_flag(std::string_view section, std::string_view text, Config& config) {
    const bool known = with_sections(section, config, [&](auto& sections) { append_flag(text, sections); });
    if (!known) throw ConfigError(fmt::format("--{}: no such table", section));
}

}  // namespace millpond::gateway
