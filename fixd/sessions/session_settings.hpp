#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/logon_signer.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/fix/tag.hpp>
#include <millpond/fix/utc_time.hpp>
#include <millpond/net/socket_address.hpp>

#include "fixd/standby/standby_config.hpp"
#include "fixd/tls_files.hpp"
#include "service/token.hpp"

namespace millpond::fixd {

/// The application layer's version and what carries it.
enum class FixVersion : std::uint8_t { fix40, fix41, fix42, fix43, fix44, fix50, fix50sp1, fix50sp2, fix_latest };

/// A version of application messages that a session carries besides its own.
struct FurtherVersion {
    FixVersion version{FixVersion::fix_latest};
    std::string dictionary{};  ///< A file; that of the folder, or none, when empty.
    friend bool operator==(const FurtherVersion&, const FurtherVersion&) = default;
};

/// A message type that our Logon names.
struct LogonType {
    bool sends{true};
    std::string type{};
    std::optional<FixVersion> version{};
    bool is_default{false};
    friend bool operator==(const LogonType&, const LogonType&) = default;
};

/// A field that goes out as it is: a line of `[session.logon]` or `[session.header]`.
struct FieldSetting {
    fix::Tag tag{fix::tag::kInvalid};
    std::string value{};
    service::TokenSource secret{};  ///< In place of the value.
    std::string where{};            ///< File and line.
    /// Wherever they are written.
    friend bool operator==(const FieldSetting& one, const FieldSetting& other) {
        return one.tag == other.tag && one.value == other.value && one.secret == other.secret;
    }
};

inline constexpr std::string_view kInMemory = "memory";
inline constexpr std::uint64_t kDefaultStoreBytes = 8ULL << 20U;
inline constexpr std::uint64_t kDefaultStoreSegments = 4;

/// One FIX session: `[[session]]`. One with hosts connects; the others wait for their counterparty at an acceptor.
struct SessionSettings {
    FixVersion version{FixVersion::fix44};
    std::string sender{};  ///< Our CompID.
    std::string target{};  ///< The counterparty's; '*' is any.
    bool enabled{true};
    std::string acceptor{};  ///< The first when empty.
    std::uint64_t max_dynamic{64};
    std::vector<std::string> allow{};
    std::vector<std::string> users{};         ///< Names in the user_file.
    std::string user_file{};                  ///< The engine's, where there are users.
    std::vector<std::string> certificates{};  ///< As engine::LogonAttempt::certificate_names.
    std::vector<std::string> hosts{};
    std::string proxy{};  ///< socks5://HOST:PORT or http://HOST:PORT.
    std::string proxy_username{};
    service::TokenSource proxy_password{};
    net::SocketAddress local_address{};
    bool tls_on{false};
    TlsFiles tls{};
    std::uint64_t reconnect_ms{1'000};
    std::uint64_t reconnect_longest_ms{30'000};
    std::uint64_t connect_ms{5'000};
    std::optional<std::uint64_t> thread{};  ///< Its place modulo the number of threads when unset.

    std::string dictionary{};              ///< A file; if empty, that of the folder, or the built-in one.
    std::string application_dictionary{};  ///< Likewise, from FIX 5.0 on.
    std::vector<FurtherVersion> further_versions{};
    std::vector<LogonType> logon_types{};
    bool fields_have_values{true};
    bool user_fields_are_known{true};
    bool fields_are_in_order{true};
    bool members_are_in_order{true};
    bool message_fields_are_known{true};
    std::vector<std::string> unchecked_types{};
    bool check_comp_ids{true};
    bool reject_garbled{false};
    bool reset_on_error{false};

    std::uint64_t heartbeat_seconds{30};
    std::uint64_t logon_seconds{10};
    std::uint64_t logout_seconds{10};
    std::uint64_t max_latency_seconds{120};
    std::optional<fix::TimePrecision> time_precision{};
    std::string username{};
    std::string password_file{};
    std::string password_env{};
    std::vector<FieldSetting> logon{};   ///< Fields of our Logon.
    std::vector<FieldSetting> header{};  ///< Header fields of every message.
    std::optional<engine::LogonScheme> sign{};
    service::TokenSource sign_key{};
    bool reset_on_logon{false};
    bool reset_on_logout{false};
    bool reset_on_disconnect{false};
    bool appl_ver_id_in_business_reject{false};
    std::optional<bool> quickfix_replies{};  ///< False where unset, but with `fix acceptor --echo`.
    bool send_last_processed{false};
    bool send_next_expected{false};
    std::uint64_t resend_chunk{0};
    std::uint64_t resend_max_age_seconds{0};  ///< 0: any age.
    /// Orders, quotes, and what changes them.
    std::vector<std::string> resend_max_age_types{"D", "E", "F", "G", "S", "i", "q", "s", "t", "u", "AB", "AC"};
    std::uint64_t max_message_bytes{16ULL * 1024};
    std::uint64_t held_messages{1'024};
    std::uint64_t held_bytes{256ULL * 1024};

    std::optional<std::int64_t> start{};  ///< Second of the day.
    std::optional<std::int64_t> end{};
    std::string days{};       ///< "mon-fri", "mon,wed,sun"; each day when empty.
    std::string start_day{};  ///< With end_day: one session a week.
    std::string end_day{};
    std::string timezone{"UTC"};

    std::string store{};  ///< A file, with target '*' a folder; kInMemory, or empty where there is no folder for state.
    std::optional<std::uint64_t> store_bytes{};  ///< Of the memory, or of a file with equal segments.
    std::optional<std::uint64_t> store_segments{};
    std::uint64_t keep_bytes{4ULL << 30U};  ///< Of a file that grows.
    std::uint64_t keep_days{7};             ///< 0: any number.
    fix::Durability durability{fix::Durability::process};
    std::uint64_t sync_ms{1'000};
    std::optional<StandbySettings> standby{};
    std::uint32_t file_mode{0640};  ///< The engine's.

    std::uint64_t warm_up_ms{0};  ///< 0: never.

    std::uint64_t pending_bytes{1ULL << 20U};
    std::uint64_t stall_seconds{30};
    std::uint64_t messages_per_second{0};
    std::uint64_t burst{1'000};
    bool cut_off{false};
    friend bool operator==(const SessionSettings&, const SessionSettings&) = default;
};

/// Whether it stands for sessions with any counterparty.
[[nodiscard]] inline bool is_template(const SessionSettings& settings) noexcept { return settings.target == "*"; }

/// Whether the session's messages are in memory only. settings: completed.
[[nodiscard]] inline bool is_in_memory(const SessionSettings& settings) noexcept {
    return settings.store.empty() || settings.store == kInMemory;
}

}  // namespace millpond::fixd
