#include "fixd/settings/drop_copy_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fixd/settings/session_build.hpp"
#include "service/config_error.hpp"
#include "service/settings/errors.hpp"

namespace millpond::fixd {
namespace {

using service::ConfigError;

constexpr std::string_view kAll = "*";

/// "FIX.4.4:HOUSE->DESK" or "HOUSE->DESK"
const SessionSettings& session_named(const EngineConfig& config, const std::string& name, std::string_view user) {
    const SessionSettings* found = nullptr;
    for (const auto& session : config.sessions) {
        const auto whole = session_name(session);
        if (whole != name && whole.substr(whole.find(':') + 1) != name) continue;
        if (found != nullptr) {
            throw ConfigError(fmt::format(
                "{}: there are several sessions '{}': put the BeginString in front, as in '{}'", user, name, whole));
        }
        found = &session;
    }
    if (found == nullptr) throw ConfigError(fmt::format("{}: there is no session '{}'", user, name));
    return *found;
}

std::vector<fix::ApplicationVersion> versions_of(const SessionSettings& session) {
    std::vector versions{application_version(session)};
    for (const auto& further : session.further_versions) versions.push_back(further.version);
    return versions;
}

void check_target(const SessionSettings& target, const std::string& user) {
    if (is_template(target)) throw ConfigError(fmt::format("{}: a session of target '*' cannot get copies", user));
    const auto* const key = target.config.reset_on_logon        ? "reset_on_logon"
                            : target.config.reset_on_logout     ? "reset_on_logout"
                            : target.config.reset_on_disconnect ? "reset_on_disconnect"
                            : target.config.reset_on_error      ? "reset_on_error"
                                                                : nullptr;
    if (key == nullptr) return;
    throw ConfigError(fmt::format("{}: its session has '{}', which forgets copies that are not sent yet", user, key));
}

void check_source(const SessionSettings& source, const SessionSettings& target, const std::string& user) {
    const auto carried = versions_of(target);
    for (const auto version : versions_of(source)) {
        if (std::ranges::find(carried, version) != carried.end()) continue;
        throw ConfigError(fmt::format(
            "{}: session '{}' has messages of {}, which the target does not carry: give both the same version, or the "
            "target further_versions",
            user, session_name(source), fix::name(version)));
    }
}

/// Checks and sets sizes: a copy is about as long as its original.
void complete_sizes(DropCopyConfig& copy, const SessionSettings& source, const SessionSettings& target,
                    const std::string& user) {
    constexpr std::size_t kMinMessages = 8;
    const auto longest = source.config.max_message_bytes;
    if (target.config.max_message_bytes < longest) {
        throw ConfigError(
            fmt::format("{}: session '{}' has messages of up to {} bytes, and the target of {} only: see "
                        "max_message_bytes",
                        user, session_name(source), longest, target.config.max_message_bytes));
    }
    copy.queue_bytes = std::max(copy.queue_bytes, std::bit_ceil(kMinMessages * longest));
}

void complete(DropCopyConfig& copy, const EngineConfig& config) {
    if (copy.target.empty()) throw ConfigError("[[drop_copy]]: key 'target' is missing");
    const auto user = fmt::format("[[drop_copy]] to '{}'", copy.target);
    if (copy.sources.empty()) throw ConfigError(fmt::format("{}: key 'sources' is missing", user));
    if (copy.types.empty()) throw ConfigError(fmt::format("{}: key 'types' is empty", user));
    const auto& target = session_named(config, copy.target, user);
    check_target(target, user);
    copy.target = session_name(target);
    if (!is_in_memory(target)) copy.queue = target.store.file.string() + ".copies";
    copy.file_mode = target.store.file_mode;
}

void complete_sources(DropCopyConfig& copy, const EngineConfig& config, const std::set<std::string>& targets) {
    const auto user = fmt::format("[[drop_copy]] to '{}'", copy.target);
    const bool all = std::ranges::find(copy.sources, kAll) != copy.sources.end();
    if (all && copy.sources.size() != 1) throw ConfigError(fmt::format("{}: either '*' or names of sources", user));
    const auto& target = session_named(config, copy.target, user);
    std::vector<std::string> names;
    const auto add = [&](const SessionSettings& source) {
        check_source(source, target, user);
        complete_sizes(copy, source, target, user);
        names.push_back(session_name(source));
    };
    for (const auto& session : config.sessions) {
        if (all && !targets.contains(session_name(session))) add(session);
    }
    for (const auto& name : copy.sources) {
        if (all) break;
        const auto& source = session_named(config, name, user);
        const auto whole = session_name(source);
        if (whole == copy.target) throw ConfigError(fmt::format("{}: it would copy itself", user));
        if (targets.contains(whole)) {
            throw ConfigError(fmt::format("{}: session '{}' gets copies itself, and is not copied", user, whole));
        }
        if (std::ranges::find(names, whole) != names.end()) {
            throw ConfigError(fmt::format("{}: source '{}' is there twice", user, whole));
        }
        add(source);
    }
    copy.sources = std::move(names);
}

}  // namespace

void complete_drop_copies(EngineConfig& config) {
    settings::Errors errors;
    std::set<std::string> targets;
    for (auto& copy : config.drop_copies) {
        if (!errors.check([&] { complete(copy, config); })) continue;
        if (!targets.insert(copy.target).second) {
            errors.add(fmt::format("[[drop_copy]] to '{}' is there twice: list all sources in one", copy.target));
        }
    }
    errors.throw_if_any();  // sources are checked against all targets
    for (auto& copy : config.drop_copies) errors.check([&] { complete_sources(copy, config, targets); });
    errors.throw_if_any();
}

}  // namespace millpond::fixd
