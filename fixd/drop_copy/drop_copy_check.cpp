#include "fixd/drop_copy/drop_copy_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fixd/sessions/session_build.hpp"
#include "service/settings/value.hpp"

namespace millpond::fixd {
namespace {

using settings::ConfigError;

constexpr std::uint64_t kLeastQueueBytes = 64ULL << 10U;
constexpr std::uint64_t kMostQueueBytes = 1ULL << 30U;
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

std::vector<FixVersion> versions_of(const SessionSettings& session) {
    std::vector<FixVersion> versions{session.version};
    for (const auto& further : session.further_versions) versions.push_back(further.version);
    return versions;
}

void check_target(const SessionSettings& target, const std::string& user) {
    if (is_template(target)) throw ConfigError(fmt::format("{}: a session of target '*' cannot get copies", user));
    const auto* const key = target.reset_on_logon        ? "reset_on_logon"
                            : target.reset_on_logout     ? "reset_on_logout"
                            : target.reset_on_disconnect ? "reset_on_disconnect"
                            : target.reset_on_error      ? "reset_on_error"
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
            user, session_name(source), fix::name(application_version(version))));
    }
}

/// A copy is about as long as its original.
void check_sizes(const DropCopyConfig& copy, const SessionSettings& source, const SessionSettings& target,
                 const std::string& user) {
    constexpr std::uint64_t kInQueue = 8;
    if (target.max_message_bytes < source.max_message_bytes) {
        throw ConfigError(
            fmt::format("{}: session '{}' has messages of up to {} bytes, and the target of {} only: see "
                        "max_message_bytes",
                        user, session_name(source), source.max_message_bytes, target.max_message_bytes));
    }
    if (copy.queue_bytes / kInQueue < source.max_message_bytes) {
        throw ConfigError(fmt::format("{}: queue_bytes of {} is too little for messages of {} bytes of session '{}'",
                                      user, copy.queue_bytes, source.max_message_bytes, session_name(source)));
    }
}

void complete(DropCopyConfig& copy, const EngineConfig& config) {
    if (copy.target.empty()) throw ConfigError("[[drop_copy]]: key 'target' is missing");
    const auto user = fmt::format("[[drop_copy]] to '{}'", copy.target);
    if (copy.sources.empty()) throw ConfigError(fmt::format("{}: key 'sources' is missing", user));
    if (copy.types.empty()) throw ConfigError(fmt::format("{}: key 'types' is empty", user));
    if (!std::has_single_bit(copy.queue_bytes) || copy.queue_bytes < kLeastQueueBytes ||
        copy.queue_bytes > kMostQueueBytes) {
        throw ConfigError(
            fmt::format("{}: queue_bytes expects a power of two from 64KiB to 1GiB, found {}", user, copy.queue_bytes));
    }
    const auto& target = session_named(config, copy.target, user);
    check_target(target, user);
    copy.target = session_name(target);
    if (!is_in_memory(target)) copy.queue = target.store + ".copies";
    copy.file_mode = target.file_mode;
}

void complete_sources(DropCopyConfig& copy, const EngineConfig& config, const std::set<std::string>& targets) {
    const auto user = fmt::format("[[drop_copy]] to '{}'", copy.target);
    const bool all = std::ranges::find(copy.sources, kAll) != copy.sources.end();
    if (all && copy.sources.size() != 1) throw ConfigError(fmt::format("{}: either '*' or names of sources", user));
    const auto& target = session_named(config, copy.target, user);
    std::vector<std::string> names;
    const auto add = [&](const SessionSettings& source) {
        check_source(source, target, user);
        check_sizes(copy, source, target, user);
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
    std::set<std::string> targets;
    for (auto& copy : config.drop_copies) {
        complete(copy, config);
        if (!targets.insert(copy.target).second) {
            throw ConfigError(
                fmt::format("[[drop_copy]] to '{}' is there twice: list all sources in one", copy.target));
        }
    }
    for (auto& copy : config.drop_copies) complete_sources(copy, config, targets);
}

}  // namespace millpond::fixd
