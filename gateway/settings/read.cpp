#include "gateway/settings/read.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "gateway/settings/schema.hpp"
#include "gateway/settings/value.hpp"
#include "service/settings/toml.hpp"

namespace millpond::gateway {
namespace {

/// Calls `use` with the list of sections of that name; false when there is none.
template <class Use>
bool with_sections(std::string_view name, Config& config, Use&& use) {
    if (name == Schema<RingConfig>::name()) return use(config.rings), true;
    if (name == Schema<FeedConfig>::name()) return use(config.feeds), true;
    if (name == Schema<TcpConfig>::name()) return use(config.tcp), true;
    if (name == Schema<CsvConfig>::name()) return use(config.csv), true;
    if (name == Schema<UdpConfig>::name()) return use(config.udp), true;
    if (name == Schema<WebConfig>::name()) return use(config.web), true;
    if (name == Schema<JournalConfig>::name()) return use(config.journals), true;
    if (name == Schema<MqttConfig>::name()) return use(config.mqtt), true;
    if (name == Schema<KafkaConfig>::name()) return use(config.kafka), true;
    return false;
}

}  // namespace

void read_toml(std::string_view text, std::string_view name, Config& config) {
    const auto document = settings::Document::parse(text, name);
    const auto is_section = [&](std::string_view key) {
        return with_sections(key, config, [&](auto& sections) { settings::read_sections(*document, sections); });
    };
    settings::read_top_level(*document, is_section, config);
}

void read_file(const std::string& path, Config& config) { read_toml(settings::text_of(path), path, config); }

void read_flag(std::string_view key, const std::string& text, Config& config) {
    settings::read_flag(key, text, config);
}

void read_table_flag(std::string_view section, std::string_view text, Config& config) {
    const bool known = with_sections(section, config,
                                     [&](auto& sections) { settings::read_table_flag(text, sections.emplace_back()); });
    if (!known) throw ConfigError(fmt::format("--{}: no such table", section));
}

}  // namespace millpond::gateway
