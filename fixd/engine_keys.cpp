#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fixd/engine_config.hpp"
#include "service/settings/choices.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/schema.hpp"

namespace millpond::fixd {
namespace {

using settings::Key;
using settings::Value;
using TopKey = settings::KeyOf<EngineConfig>;

constexpr std::uint64_t kHighestCpu = 1023;
constexpr fix::Tag kHighestTag = 999'999'999;

std::vector<fix::Tag> tags_of(const Value& value) {
    std::vector<fix::Tag> tags;
    for (const auto& text : value.list()) {
        fix::Tag tag = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tag);
        if (error != std::errc{} || end != text.data() + text.size() || tag == 0 || tag > kHighestTag) {
            value.fail(fmt::format("tags from 1 to {}, as strings", kHighestTag), "'" + text + "'");
        }
        tags.push_back(tag);
    }
    return tags;
}

constexpr Key<EngineConfig> kTopKeys[] = {
    TopKey::choice<&EngineConfig::log_level, settings::kSeverities>("log_level", "debug|info|warning|error",
                                                                    "Least severe messages to log."),
    TopKey::choice<&EngineConfig::log_format, settings::kLogFormats>(
        "log_format", "text|json", "Log each message as a line of text or as a JSON object."),
    {"quiet", "", "Log only errors of logons, logouts and closed connections.",
     [](EngineConfig& c, const Value& v) { c.quiet = v.boolean(); }},
    TopKey::endpoint<&EngineConfig::metrics>("metrics",
                                             "Address and port of /metrics, /health and /api/health; off if unset."),
    TopKey::short_text<&EngineConfig::admin, 100>("admin", "SOCKET",
                                                  "UNIX socket for `millpond fix sessions`; none if unset."),
    TopKey::text<[](auto& c) -> auto& { return c.admin_token.file; }>(
        "admin_token_file", "FILE",
        "File with the bearer token for POST /api/reload at the metrics address; no reload by POST if unset."),
    TopKey::text<[](auto& c) -> auto& { return c.admin_token.environment; }>("admin_token_env", "NAME",
                                                                             "Environment variable with that token."),
    TopKey::text<&EngineConfig::user_file>(
        "user_file", "FILE",
        "Users of [[session]] with the hashes of their passwords, from `millpond fix passwd`. NewPassword changes it."),
    TopKey::text<&EngineConfig::state>(
        "state", "FOLDER",
        "Folder for the message stores of sessions without `store`. If unset: $STATE_DIRECTORY, and with --config also "
        "$XDG_STATE_HOME/millpond or ~/.local/state/millpond."),
    TopKey::text<&EngineConfig::raw_log>(
        "raw_log", "FILE", "File for every byte of both directions, for `millpond fix print`; none if unset."),
    TopKey::bytes<&EngineConfig::raw_log_ring>("raw_log_ring",
                                               "Memory for bytes that wait for the raw log's disk; a power of two."),
    TopKey::bytes<&EngineConfig::raw_log_rotate>("raw_log_rotate", "Size at which the raw log is renamed."),
    TopKey::integer<&EngineConfig::raw_log_rotate_hours, 0, 8'760>("raw_log_rotate_hours", "N",
                                                                   "Age at which the raw log is renamed; 0 for none."),
    TopKey::integer<&EngineConfig::raw_log_keep, 0, 1'000'000>(
        "raw_log_keep", "N", "Maximum number of renamed raw logs; the oldest are removed. 0 keeps all."),
    TopKey::boolean<&EngineConfig::raw_log_compress>("raw_log_compress", "Compress renamed raw logs by zstd."),
    {"mask_tags", "TAG+...",
     "Tags to hide in the raw log and in printed messages, in addition to 554, 925, 1402, 1404 and a Logon's 96.",
     [](EngineConfig& c, const Value& v) { c.mask_tags = tags_of(v); }},
    TopKey::choice<&EngineConfig::file_mode, settings::kFileModes>(
        "file_mode", "0600|0640|0644|0660|0664", "Permissions of stores and raw logs, whatever the umask."),
    TopKey::text<&EngineConfig::dictionaries>("dictionaries", "FOLDER",
                                              "Folder with FIX40.xml to FIX50SP2.xml, FIXLatest.xml and FIXT11.xml; "
                                              "application messages pass unchecked if unset."),
    TopKey::integer<&EngineConfig::threads, 1, 64>("threads", "N", "Number of I/O threads."),
    TopKey::choice<&EngineConfig::poll, settings::kPolls>(
        "poll", "spin|block|adaptive", "How I/O threads wait: busy-wait, sleep, or busy-wait briefly and then sleep."),
    TopKey::integer<&EngineConfig::pin, 0, kHighestCpu>(
        "pin", "CPU", "CPU to bind the first I/O thread to; the others use the next CPUs. Any CPU if unset."),
    TopKey::integer<&EngineConfig::realtime, 0, 99>("realtime", "PRIORITY",
                                                    "SCHED_FIFO priority of I/O threads; 0 for none."),
};

}  // namespace
}  // namespace millpond::fixd

namespace millpond::settings {

using namespace fixd;

// clang-format off
template <> std::string_view Schema<EngineConfig>::name() { return ""; }
template <> std::span<const Key<EngineConfig>> Schema<EngineConfig>::keys() { return kTopKeys; }
// clang-format on

}  // namespace millpond::settings
