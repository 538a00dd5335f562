#include "fixd/settings/engine_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "fixd/settings/drop_copy_check.hpp"
#include "fixd/settings/session_build.hpp"
#include "fixd/settings/session_check.hpp"
#include "service/config_error.hpp"
#include "service/settings/errors.hpp"
#include "service/settings/toml.hpp"

namespace millpond::fixd {
namespace {

using service::ConfigError;

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

/// Refuses two servers at the same address.
void check_addresses(const EngineConfig& config, settings::Errors& errors) {
    std::map<std::string, std::string> users;
    const auto add = [&](const net::SocketAddress& address, const std::string& user) {
        if (address.empty() || address.port() == 0) return;
        const auto [other, added] = users.emplace(address.to_string(), user);
        if (!added) errors.add(fmt::format("{}: address '{}' is that of {}", user, other->first, other->second));
    };
    if (!config.metrics.empty()) add(config.metrics, "metrics");
    for (const auto& acceptor : config.acceptors) add(acceptor.listen, fmt::format("[[acceptor]] '{}'", acceptor.name));
    for (const auto& web : config.webs) add(web.listen, "[[web]]");
}

/// Refuses a file that is used twice. The folder of a template may contain the stores of other sessions.
void check_stores(const EngineConfig& config, settings::Errors& errors) {
    std::map<std::filesystem::path, std::string> users;
    const auto add = [&](const std::filesystem::path& file, const std::string& user) {
        if (file.empty()) return;
        const auto path = std::filesystem::absolute(file).lexically_normal();
        const auto [other, added] = users.emplace(path, user);
        if (!added) errors.add(fmt::format("{}: file '{}' is that of {}", user, file.string(), other->second));
    };
    add(config.raw_log.file, "raw_log");
    for (const auto& session : config.sessions) {
        if (is_in_memory(session) || is_template(session)) continue;
        add(session.store.file, fmt::format("store of {}", described(session)));
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
    settings::Errors errors;
    errors.check([&] { complete_acceptors(config); });
    check_addresses(config, errors);
    if (config.standby) config.standby->is_bad = !errors.check([&] { check(*config.standby); });
    bool are_complete = true;
    std::set<std::string> ids;
    for (auto& session : config.sessions) {
        auto& is_bad = session.origin.is_bad;
        if (!is_bad) is_bad = !errors.check([&] { complete_session(config, session); });
        if (is_bad) {
            are_complete = false;
            continue;
        }
        session.store.file_mode = config.file_mode;
        const auto name = session_name(session);
        if (!ids.insert(name).second) {
            errors.add(fmt::format("{} is listed twice: {}", described(session), name));
        }
    }
    check_stores(config, errors);
    // Not if a session has errors: a drop copy may name it.
    if (are_complete) errors.check([&] { complete_drop_copies(config); });
    errors.throw_if_any();
}

}  // namespace millpond::fixd
