#include "fixd/quickfix/quickfix_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fixd/quickfix/quickfix_settings.hpp"
#include "fixd/quickfix/session_import.hpp"
#include "fixd/quickfix/toml_lines.hpp"
#include "fixd/settings/engine_config.hpp"
#include "service/config_error.hpp"

namespace millpond::fixd {
namespace {

using quickfix::Entry;
using quickfix::Section;
using quickfix::toml_text;
using quickfix::TomlLines;
using service::ConfigError;

bool is_initiator(const Section& section) {
    const auto* type = section.find("ConnectionType");
    return type != nullptr && quickfix::same_key(type->value, "initiator");
}

/// The identity of a session, to find duplicates.
std::string ids_of(const Section& section) {
    std::string ids;
    const auto add = [&](std::string_view key) {
        const auto* entry = section.find(key);
        ids += (entry == nullptr ? "" : entry->value) + '\x01';
    };
    for (const auto* const key : {"BeginString", "SenderCompID", "TargetCompID", "SenderSubID", "SenderLocationID",
                                  "TargetSubID", "TargetLocationID"}) {
        add(key);
    }
    if (is_initiator(section)) add("SessionQualifier");
    return ids;
}

/// Leaves out an acceptor's session with a qualifier if the one of line `before` has the same ids. Returns false if it
/// has no qualifier.
bool leave_out_for(std::size_t before, const Section& section, std::vector<LeftOut>& left_out) {
    if (section.find("SessionQualifier") == nullptr || is_initiator(section)) return false;
    left_out.push_back({section.line(), "[SESSION]",
                        fmt::format("a Logon has no qualifier, and the session of line {} has the same ids: give one "
                                    "of them another CompID or SubID, or run it in another engine",
                                    before)});
    return true;
}

/// Text for a TOML comment, without control characters.
std::string comment_text(std::string_view text) {
    std::string out{text};
    std::ranges::replace_if(out, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
    return out;
}

/// Checks the result as the engine does. Throws ConfigError with the line of the settings file.
void check(const TomlLines& lines, const std::vector<Section>& sections, std::string_view name) {
    const auto becomes = fmt::format("what {} becomes", name);
    EngineConfig config;
    try {
        read_engine_toml(lines.text(), becomes, config);
    } catch (const ConfigError& error) {
        // "what NAME becomes:LINE: ..."
        std::string_view what{error.what()};
        if (!what.starts_with(becomes + ":")) throw;
        what.remove_prefix(becomes.size() + 1);
        const auto end = std::min(what.find(':'), what.size());
        const auto source = lines.source_of(quickfix::number_of(what.substr(0, end)).value_or(0));
        if (source == 0) throw;
        throw ConfigError(fmt::format("{}:{}{}", name, source, what.substr(end)));
    }
    try {
        complete(config);
    } catch (const ConfigError& error) {
        const std::string_view what{error.what()};
        // The second of two sessions with the same ids is refused.
        for (const auto& section : sections | std::views::reverse) {
            const auto ids = fmt::format("[[session]] '{}' to '{}'", section.find("SenderCompID")->value,
                                         section.find("TargetCompID")->value);
            if (what.starts_with(ids)) throw ConfigError(fmt::format("{}:{}: {}", name, section.line(), what));
        }
        throw ConfigError(fmt::format("{}: {}", becomes, what));
    }
}

}  // namespace

QuickfixImport import_quickfix(std::string_view text, std::string_view name) {
    const auto sections = quickfix::read_settings(text, name);
    if (sections.empty()) throw ConfigError(fmt::format("{}: there is no [SESSION]", name));
    QuickfixImport result;
    std::vector<quickfix::Acceptor> acceptors;
    std::map<std::string, std::size_t> lines_of_ids;  // line of the first session with these ids
    TomlLines sessions;
    const Entry* first_log = nullptr;
    std::set<std::size_t> other_logs;
    for (const auto& section : sections) {
        if (const auto* log = section.find("FileLogPath")) {
            if (first_log == nullptr) first_log = log;
            if (log->value != first_log->value && other_logs.insert(log->line).second) {
                result.left_out.push_back(
                    {log->line, log->key,
                     fmt::format("raw_log is one file: that of line {} is used", first_log->line)});
            }
        }
        const auto [known, is_new] = lines_of_ids.emplace(ids_of(section), section.line());
        if (!is_new && leave_out_for(known->second, section, result.left_out)) continue;
        sessions.append(quickfix::session_tables(section, name, acceptors, result.left_out));
    }
    TomlLines lines;
    lines.add_text(0, fmt::format("# Written from {} by `millpond fix import`.\n", comment_text(name)));
    if (first_log != nullptr) {
        const auto& folder = first_log->value;
        lines.add(
            first_log->line, "raw_log",
            fmt::format("{}  # of all sessions", toml_text(folder + (folder.ends_with('/') ? "" : "/") + "raw.log")));
    }
    for (const auto& acceptor : acceptors) {
        lines.add_text(acceptor.line, "\n[[acceptor]]\n");
        lines.add(acceptor.line, "name", toml_text(acceptor.name));
        lines.add(acceptor.line, "listen", toml_text(acceptor.listen));
        lines.append(acceptor.tls);
    }
    lines.append(sessions);
    std::ranges::stable_sort(result.left_out, {}, &LeftOut::line);
    if (!result.left_out.empty()) lines.add_text(0, "\n# Left out:\n");
    for (const auto& [line, key, reason] : result.left_out) {
        lines.add_text(line, fmt::format("# line {}: {}: {}\n", line, comment_text(key), reason));
    }
    check(lines, sections, name);
    result.toml = lines.text();
    return result;
}

}  // namespace millpond::fixd
