#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/initiator.hpp>
#include <millpond/engine/logon_signer.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/fix/application_version.hpp>
#include <millpond/fix/session_config.hpp>
#include <millpond/fix/tag.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/tls/context.hpp>

#include "fixd/settings/standby_config.hpp"
#include "service/settings/schema.hpp"
#include "service/settings/settings_of.hpp"
#include "service/token.hpp"

namespace millpond::fixd {

/// A version of application messages that a session carries besides its own.
struct FurtherVersion {
    fix::ApplicationVersion version{fix::ApplicationVersion::latest};
    std::string dictionary{};  ///< Its file; if empty, the one in `dictionaries`, or none.
    friend bool operator==(const FurtherVersion&, const FurtherVersion&) = default;
};

/// A field of every Logon or header: a line of `[session.logon]` or `[session.header]`.
struct FieldSetting {
    fix::Tag tag{fix::tag::kInvalid};
    std::string value{};
    service::TokenSource secret{};  ///< Source of the value, instead of `value`.
    std::string where{};            ///< File and line; not compared.
    friend bool operator==(const FieldSetting& one, const FieldSetting& other) {
        return one.tag == other.tag && one.value == other.value && one.secret == other.secret;
    }
};

inline constexpr std::string_view kInMemory = "memory";
/// A store has at least this many times max_message_bytes: a message takes at most a quarter of a segment, and a file
/// has four segments or more.
inline constexpr std::size_t kMinMessages = 16;
inline constexpr std::size_t kResidentBytes = std::size_t{32} << 20U;

/// One FIX session: `[[session]]`. A session with hosts connects; the others wait for their counterparty at an
/// acceptor.
struct SessionSettings {
    /// session_options() adds what the configuration only names: role, dictionaries, secrets, logon and header fields,
    /// and the schedule. Target '*' is a template for any counterparty.
    fix::SessionConfig config{};
    /// file: a folder for target '*'; kInMemory or empty for a store in memory. file_mode: the engine's.
    engine::StoreOptions store{
        .bytes = std::size_t{4} << 30U, .segments = 0, .keep = std::chrono::days{7}, .resident_bytes = kResidentBytes};
    std::size_t memory_bytes{std::size_t{8}
                             << 20U};  ///< Size of a store in memory; complete() raises it for long messages.
    engine::SessionLimits limits{};
    engine::Reconnect reconnect{};
    bool enabled{true};
    std::string acceptor{};  ///< Empty: the first.
    std::uint64_t max_dynamic{64};
    std::vector<std::string> allow{};
    std::vector<std::string> users{};         ///< Names in the user_file.
    std::string user_file{};                  ///< The engine's, if there are users.
    std::vector<std::string> certificates{};  ///< Names like engine::LogonAttempt::certificate_names.
    std::vector<std::string> hosts{};
    std::string proxy{};  ///< socks5://HOST:PORT or http://HOST:PORT.
    std::string proxy_username{};
    service::TokenSource proxy_password{};
    net::SocketAddress local_address{};
    bool tls_on{false};
    tls::Options tls{};
    std::optional<std::uint64_t> thread{};  ///< Not set: the session's place modulo the number of threads.

    std::string dictionary{};              ///< A file; if empty, the one in `dictionaries`, or the built-in one.
    std::string application_dictionary{};  ///< Likewise, from FIX 5.0 on.
    std::vector<FurtherVersion> further_versions{};
    service::TokenSource password{};
    std::vector<FieldSetting> logon{};   ///< Fields of our Logon.
    std::vector<FieldSetting> header{};  ///< Header fields of every message.
    std::optional<engine::LogonScheme> sign{};
    service::TokenSource sign_key{};
    std::uint64_t resend_max_age_seconds{0};  ///< 0: any age.

    std::optional<std::int64_t> start{};  ///< Second of the day.
    std::optional<std::int64_t> end{};
    std::string days{};       ///< "mon-fri", "mon,wed,sun"; empty: every day.
    std::string start_day{};  ///< With end_day: one session a week.
    std::string end_day{};
    std::string timezone{"UTC"};

    std::optional<StandbySettings> standby{};
    std::chrono::nanoseconds warm_up{0};  ///< 0: never.
    settings::Origin origin{};
    friend bool operator==(const SessionSettings&, const SessionSettings&) = default;
};

/// Sets the version of the application messages, and with it that of the session.
void set_version(fix::SessionConfig& config, fix::ApplicationVersion version);
/// The version of the session's own application messages.
[[nodiscard]] fix::ApplicationVersion application_version(const SessionSettings& settings) noexcept;

/// "[[session]] 'HOUSE' to 'DESK'", for messages.
[[nodiscard]] std::string described(const SessionSettings& settings);

/// Whether the session is a template for any counterparty.
[[nodiscard]] inline bool is_template(const SessionSettings& settings) noexcept {
    return settings.config.target_comp_id == "*";
}

/// Whether the session's messages are in memory only. settings: completed.
[[nodiscard]] inline bool is_in_memory(const SessionSettings& settings) noexcept {
    return settings.store.file.empty() || settings.store.file == kInMemory;
}

}  // namespace millpond::fixd

namespace millpond::settings {

// clang-format off
template <> std::string_view Schema<fixd::SessionSettings>::name();
template <> std::span<const Key<fixd::SessionSettings>> Schema<fixd::SessionSettings>::keys();
// clang-format on

}  // namespace millpond::settings
