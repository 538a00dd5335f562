#include "fixd/engine_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "fixd/drop_copy/drop_copy_check.hpp"
#include "fixd/sessions/session_check.hpp"
#include "service/settings/toml.hpp"

namespace millpond::fixd {
namespace {

using settings::ConfigError;

/// Calls `use` with the list of sections of that name; false if there is none.
template <class Use>
bool with_sections(std::string_view name, EngineConfig& config, Use&& use) {
    if (name == settings::Schema<AcceptorConfig>::name()) return use(config.acceptors), true;
    if (name == settings::Schema<SessionSettings>::name()) return use(config.sessions), true;
    if (name == settings::Schema<DropCopyConfig>::name()) return use(config.drop_copies), true;
    if (name == settings::Schema<WebConfig>::name()) return use(config.webs), true;
    return false;
}

void complete_acceptors(EngineConfig& config) {
    const bool needs_one =
        std::ranges::any_of(config.sessions, [](const auto& session) { return session.hosts.empty(); });
    if (config.acceptors.empty() && needs_one) config.acceptors.emplace_back();
    check_acceptors(config.acceptors);
}

/// No two listen at the same address.
void check_addresses(const EngineConfig& config) {
    std::map<std::string, std::string> users;
    const auto add = [&](const net::SocketAddress& address, const std::string& user) {
        if (address.empty() || address.port() == 0) return;
        const auto [other, added] = users.emplace(address.to_string(), user);
        if (!added) throw ConfigError(fmt::format("{}: address '{}' is that of {}", user, other->first, other->second));
    };
    if (!config.metrics.empty()) add(config.metrics, "metrics");
    for (const auto& acceptor : config.acceptors) add(acceptor.listen, fmt::format("[[acceptor]] '{}'", acceptor.name));
    for (const auto& web : config.webs) add(web.listen, "[[web]]");
}

/// No two write the same file. The folder of a template may have the stores of other sessions.
void check_stores(const EngineConfig& config) {
    std::map<std::filesystem::path, std::string> users;
    const auto add = [&](const std::string& file, const std::string& user) {
        if (file.empty()) return;
        const auto path = std::filesystem::absolute(file).lexically_normal();
        const auto [other, added] = users.emplace(path, user);
        if (!added) throw ConfigError(fmt::format("{}: file '{}' is that of {}", user, file, other->second));
    };
    add(config.raw_log, "raw_log");
    for (const auto& session : config.sessions) {
        if (is_in_memory(session) || is_template(session)) continue;
        add(session.store, fmt::format("store of [[session]] '{}' to '{}'", session.sender, session.target));
    }
}

}  // namespace

void read_engine_toml(std::string_view text, std::string_view name, EngineConfig& config) {
    const auto document = settings::Document::parse(text, name);
    const auto is_section = [&](std::string_view key) {
        return with_sections(key, config, [&](auto& sections) { settings::read_sections(*document, sections); });
    };
    const auto give = [&](std::string_view key, std::string_view where, const settings::Value& value) {
        if (key == kStandbyTable) {
            config.standby = standby_config_of(value);
        } else {
            settings::find_key<EngineConfig>(key, where).assign(config, value);
        }
    };
    const std::array tables{settings::Schema<AcceptorConfig>::name(), settings::Schema<SessionSettings>::name(),
                            settings::Schema<DropCopyConfig>::name(), settings::Schema<WebConfig>::name(),
                            std::string_view{kStandbyTable}};
    document->top_level(tables, is_section, give);
}

void read_engine_file(const std::string& path, EngineConfig& config) {
    read_engine_toml(settings::text_of(path), path, config);
}

void read_engine_table(std::string_view section, std::string_view text, EngineConfig& config) {
    if (section == kStandbyTable) {
        config.standby = standby_config_of(text);
        return;
    }
    const bool known = with_sections(section, config,
                                     [&](auto& sections) { settings::read_table_flag(text, sections.emplace_back()); });
    if (!known) throw ConfigError(settings::flag_of(section) + ": no such table");
}

void complete(EngineConfig& config) {
    complete_acceptors(config);
    check_addresses(config);
    if (!std::has_single_bit(config.raw_log_ring)) {
        throw ConfigError(fmt::format("raw_log_ring expects a power of two, found {}", config.raw_log_ring));
    }
    if (config.standby) check(*config.standby);
    std::set<std::string> ids;
    for (auto& session : config.sessions) {
        complete_session(config, session);
        session.file_mode = config.file_mode;
        const auto id =
            fmt::format("{} '{}' to '{}'", static_cast<int>(session.version), session.sender, session.target);
        if (!ids.insert(id).second) {
            throw ConfigError(fmt::format("[[session]] '{}' to '{}' is listed twice", session.sender, session.target));
        }
    }
    check_stores(config);
    complete_drop_copies(config);
}

}  // namespace millpond::fixd
