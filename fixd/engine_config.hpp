#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/fix/tag.hpp>
#include <millpond/net/socket_address.hpp>

#include "fixd/accept/acceptor_settings.hpp"
#include "fixd/drop_copy/drop_copy_settings.hpp"
#include "fixd/sessions/session_settings.hpp"
#include "fixd/standby/standby_config.hpp"
#include "fixd/web/web_settings.hpp"
#include "service/log.hpp"
#include "service/token.hpp"

/// The settings of a FIX engine, from a TOML file and the command line. engine_keys.cpp lists the keys of the top
/// level, each section's folder its keys, and complete() below checks what no single key can.
namespace millpond::fixd {

struct EngineConfig {
    std::string state{};  ///< Folder for the stores of sessions without one; empty: they are in memory.
    service::Severity log_level{service::Severity::info};
    service::LogFormat log_format{service::LogFormat::text};
    bool quiet{false};                   ///< Log only errors of logons and logouts.
    net::SocketAddress metrics{};        ///< /metrics; empty: nowhere.
    std::string admin{};                 ///< UNIX socket for `millpond fix sessions`; empty: none.
    std::string user_file{};             ///< Of users that sessions name.
    service::TokenSource admin_token{};  ///< Authorizes reloads at `metrics`; empty: none are accepted.
    std::string raw_log{};
    std::uint64_t raw_log_ring{4ULL << 20U};
    std::uint64_t raw_log_rotate{1ULL << 30U};
    std::uint64_t raw_log_rotate_hours{24};  ///< 0: only by size.
    std::uint64_t raw_log_keep{100};         ///< 0: all.
    bool raw_log_compress{true};
    std::vector<fix::Tag> mask_tags{};  ///< Besides those that are always hidden.
    std::uint32_t file_mode{0640};      ///< Permissions of stores and raw logs.
    std::string dictionaries{};         ///< Folder with FIX40.xml to FIX50SP2.xml, FIXLatest.xml and FIXT11.xml.
    std::uint64_t threads{1};
    core::Poll poll{core::Poll::block};
    std::optional<std::uint32_t> pin{};  ///< CPU of the first thread; the others take the next ones.
    std::uint32_t realtime{0};
    std::vector<AcceptorConfig> acceptors{};
    std::vector<SessionSettings> sessions{};
    std::vector<DropCopyConfig> drop_copies{};
    std::vector<WebConfig> webs{};
    std::optional<StandbyConfig> standby{};  ///< This engine holds the copies of its sessions' stores.
};

/// Reads a TOML file into `config`, overriding its values; tables are appended. Throws settings::ConfigError with file
/// and line.
void read_engine_file(const std::string& path, EngineConfig& config);
/// The same for text; `name` stands for the file in messages.
void read_engine_toml(std::string_view text, std::string_view name, EngineConfig& config);
/// One table from the command line: ("session", "sender=HOUSE,target=CLIENT").
void read_engine_table(std::string_view section, std::string_view text, EngineConfig& config);

/// Fills in what follows from the rest and checks what no single key can: sessions have ids and an acceptor or hosts,
/// none is there twice, files of TLS are complete, schedules have both ends and a zone that exists. Throws ConfigError.
void complete(EngineConfig& config);

}  // namespace millpond::fixd
