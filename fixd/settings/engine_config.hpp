#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/raw_log.hpp>
#include <millpond/fix/tag.hpp>
#include <millpond/net/socket_address.hpp>

#include "fixd/settings/acceptor_settings.hpp"
#include "fixd/settings/drop_copy_settings.hpp"
#include "fixd/settings/session_settings.hpp"
#include "fixd/settings/standby_config.hpp"
#include "fixd/settings/web_settings.hpp"
#include "service/log.hpp"
#include "service/settings/schema.hpp"
#include "service/token.hpp"

/// The settings of a FIX engine, from a TOML file and the command line. engine_keys.cpp lists the keys of the top
/// level, the file of each section its keys, and complete() checks what involves several keys.
namespace millpond::fixd {

struct EngineConfig {
    std::string state{};  ///< Folder for the stores of sessions without one; empty: they are in memory.
    service::Severity log_level{service::Severity::info};
    service::LogFormat log_format{service::LogFormat::text};
    bool quiet{false};                   ///< Log only errors of logons and logouts. No key sets it.
    bool strict{false};                  ///< Warnings about the configuration are errors.
    net::SocketAddress metrics{};        ///< Address of /metrics; empty: off.
    std::string admin{};                 ///< UNIX socket for `millpond fix sessions`; empty: none.
    std::string user_file{};             ///< File with the users that sessions name.
    service::TokenSource admin_token{};  ///< Authorizes reloads at `metrics`; empty: none are accepted.
    /// No raw log without a file. The engine adds file_mode and mask_tags.
    engine::RawLog::Options raw_log{
        .ring_bytes = std::size_t{16} << 20U, .rotate_after = std::chrono::days{1}, .keep = 100};
    std::vector<fix::Tag> mask_tags{};  ///< In addition to those that are always hidden.
    std::uint32_t file_mode{0640};      ///< Permissions of stores and raw logs.
    std::string dictionaries{};         ///< Folder with FIX40.xml to FIX50SP2.xml, FIXLatest.xml and FIXT11.xml.
    std::uint64_t threads{1};
    engine::IoThread::Options io{};  ///< Options of the first thread; the others use the next CPUs.
    std::vector<AcceptorConfig> acceptors{};
    std::vector<SessionSettings> sessions{};
    std::vector<DropCopyConfig> drop_copies{};
    std::vector<WebConfig> webs{};
    std::optional<StandbyConfig> standby{};  ///< Makes this engine the standby of its sessions.
};

/// Reads a TOML file into `config`, overriding its values; tables are appended. Throws service::ConfigError with file
/// and line.
void read_engine_file(const std::string& path, EngineConfig& config);
/// Reads text likewise. name: the file in messages.
void read_engine_toml(std::string_view text, std::string_view name, EngineConfig& config);
/// Reads a table from the command line: ("session", "sender=HOUSE,target=CLIENT").
void read_engine_table(std::string_view section, std::string_view text, EngineConfig& config);

/// Completes the configuration and checks what involves several keys: sessions have ids and an acceptor or hosts, none
/// is listed twice, TLS files are complete, schedules have both ends and an existing zone. Throws ConfigError with all
/// errors, one in each line.
void complete(EngineConfig& config);

}  // namespace millpond::fixd

namespace millpond::settings {

// clang-format off
template <> std::string_view Schema<fixd::EngineConfig>::name();
template <> std::span<const Key<fixd::EngineConfig>> Schema<fixd::EngineConfig>::keys();
// clang-format on

}  // namespace millpond::settings
