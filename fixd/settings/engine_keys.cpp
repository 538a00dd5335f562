#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fixd/settings/engine_config.hpp"
#include "fixd/settings/session_values.hpp"
#include "service/log_words.hpp"
#include "service/settings/choices.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/schema.hpp"

namespace millpond::fixd {
namespace {

using settings::Key;
using settings::Value;
using TopKey = settings::KeyOf<EngineConfig>;

using RawLogOptions = engine::RawLog::Options;
using IoOptions = engine::IoThread::Options;

constexpr std::uint64_t kMaxCpu = 1023;

template <auto Field>
constexpr auto kRawLog = [](auto& config) -> auto& { return config.raw_log.*Field; };
template <auto Field>
constexpr auto kIo = [](auto& config) -> auto& { return config.io.*Field; };

std::vector<fix::Tag> tags_of(const Value& value) {
    std::vector<fix::Tag> tags;
    for (const auto& text : value.list()) {
        tags.push_back(tag_of(text));
        if (tags.back() != fix::tag::kInvalid) continue;
        value.fail(fmt::format("tags from 1 to {}, as strings", fix::kMaxTag), "'" + text + "'");
    }
    return tags;
}

constexpr Key<EngineConfig> kTopKeys[] = {
    TopKey::choice<&EngineConfig::log_level, service::kSeverities>("log_level", "debug|info|warning|error",
                                                                   "Least severe messages to log."),
    TopKey::choice<&EngineConfig::log_format, service::kLogFormats>(
        "log_format", "text|json", "Log each message as a line of text or as a JSON object."),
    {"strict", "", "Refuse to start for what `fix config check` warns of.",
     [](EngineConfig& c, const Value& v) { c.strict = v.boolean(); }},
    TopKey::endpoint<&EngineConfig::metrics>("metrics",
                                             "Address and port of /metrics, /health and /api/health; off if unset."),
    TopKey::short_text<&EngineConfig::admin, 100>("admin", "SOCKET",
                                                  "UNIX socket for `millpond fix sessions`; none if unset."),
    TopKey::file<[](auto& c) -> auto& { return c.admin_token.file; }>(
        "admin_token_file",
        "File with the bearer token for POST /api/reload at the metrics address, and for actions on the page; none if "
        "unset."),
    TopKey::text<[](auto& c) -> auto& { return c.admin_token.environment; }>("admin_token_env", "NAME",
                                                                             "Environment variable with that token."),
    TopKey::text<&EngineConfig::user_file>(
        "user_file", "FILE",
        "Users of [[session]] with the hashes of their passwords, from `millpond fix passwd`. NewPassword changes it."),
    TopKey::text<&EngineConfig::state>(
        "state", "FOLDER",
        "Folder for the message stores of sessions without `store`. If unset: $STATE_DIRECTORY, and with --config also "
        "$XDG_STATE_HOME/millpond or ~/.local/state/millpond."),
    TopKey::text<kRawLog<&RawLogOptions::file>>(
        "raw_log", "FILE", "File for every byte of both directions, for `millpond fix print`; none if unset."),
    TopKey::bytes<kRawLog<&RawLogOptions::rotate_bytes>>(
        "raw_log_rotate", "Size at which the raw log is renamed; it is renamed after a day in any case."),
    TopKey::integer<kRawLog<&RawLogOptions::keep>, 0, 1'000'000>(
        "raw_log_keep", "N", "Maximum number of renamed raw logs; the oldest are removed. 0 keeps all."),
    {"mask_tags", "TAG+...",
     "Tags to hide in the raw log and in printed messages, in addition to 554, 925, 1402, 1404 and a Logon's 96.",
     [](EngineConfig& c, const Value& v) { c.mask_tags = tags_of(v); },
     [](const EngineConfig& c) { return fmt::format("{}", fmt::join(c.mask_tags, "+")); }},
    TopKey::choice<&EngineConfig::file_mode, settings::kFileModes>(
        "file_mode", "0600|0640|0644|0660|0664", "Permissions of stores and raw logs, whatever the umask."),
    TopKey::text<&EngineConfig::dictionaries>("dictionaries", "FOLDER",
                                              "Folder with FIX40.xml to FIX50SP2.xml, FIXLatest.xml and FIXT11.xml; "
                                              "application messages pass unchecked if unset."),
    TopKey::integer<&EngineConfig::threads, 1, 64>("threads", "N", "Number of I/O threads."),
    TopKey::choice<kIo<&IoOptions::poll>, settings::kPolls>(
        "poll", "spin|block|adaptive", "How I/O threads wait: busy-wait, sleep, or busy-wait briefly and then sleep."),
    TopKey::integer<kIo<&IoOptions::cpu>, 0, kMaxCpu>(
        "pin", "CPU", "CPU to bind the first I/O thread to; the others use the next CPUs. Any CPU if unset."),
    {"realtime", "PRIORITY", "SCHED_FIFO priority of I/O threads; 0 for none.",
     [](EngineConfig& c, const Value& v) {
         const auto priority = static_cast<int>(v.integer(0, 99));
         c.io.realtime_priority = priority != 0 ? std::optional{priority} : std::nullopt;
     },
     [](const EngineConfig& c) { return std::to_string(c.io.realtime_priority.value_or(0)); }},
    TopKey::removed("quiet", "false; 'log_level = \"warning\"' leaves out logons and logouts"),
    TopKey::removed("raw_log_ring", "16 MiB"),
    TopKey::removed("raw_log_rotate_hours", "24"),
    TopKey::removed("raw_log_compress", "true"),
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
