#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fixd/settings/session_settings.hpp"
#include "fixd/settings/session_values.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/schema.hpp"

namespace millpond::fixd {
namespace {

using settings::Key;
using settings::Value;
using SessionKey = settings::KeyOf<SessionSettings>;
using Config = fix::SessionConfig;

constexpr std::pair<std::string_view, fix::TimePrecision> kPrecisions[] = {{"s", fix::TimePrecision::seconds},
                                                                           {"ms", fix::TimePrecision::millis},
                                                                           {"us", fix::TimePrecision::micros},
                                                                           {"ns", fix::TimePrecision::nanos}};
constexpr std::pair<std::string_view, fix::Durability> kDurabilities[] = {{"process", fix::Durability::process},
                                                                          {"interval", fix::Durability::interval},
                                                                          {"message", fix::Durability::message}};

constexpr std::pair<std::string_view, engine::LogonScheme> kSchemes[] = {
    {"binance", engine::LogonScheme::binance},
    {"bybit", engine::LogonScheme::bybit},
    {"coinbase-exchange", engine::LogonScheme::coinbase_exchange},
    {"coinbase-prime", engine::LogonScheme::coinbase_prime},
    {"kraken", engine::LogonScheme::kraken},
    {"kraken-prime", engine::LogonScheme::kraken_prime}};
constexpr std::size_t kMaxIdBytes = 64;
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kDaySeconds = 86'400;
constexpr std::uint64_t kMaxAgeSeconds = 366 * kDaySeconds;

/// A field of a part of SessionSettings, as KeyOf takes it.
template <auto Part, auto Field>
constexpr auto kFieldOf = [](auto& s) -> auto& { return s.*Part.*Field; };
template <auto Field>
constexpr auto kConfig = kFieldOf<&SessionSettings::config, Field>;
template <auto Field>
constexpr auto kValidation = [](auto& s) -> auto& { return s.config.validation.*Field; };

/// A number of seconds, for a field in nanoseconds.
template <auto Field, std::uint64_t Lowest, std::uint64_t Highest>
constexpr Key<SessionSettings> seconds(std::string_view name, std::string_view help) {
    return {name, "N", help,
            [](SessionSettings& s, const Value& v) {
                s.config.*Field = static_cast<std::int64_t>(v.integer(Lowest, Highest)) * kSecondNs;
            },
            [](const SessionSettings& s) { return std::to_string(s.config.*Field / kSecondNs); }};
}

constexpr Key<SessionSettings> kSessionKeys[] = {
    {"version", "FIX.4.0 to FIX.5.0SP2|FIX.Latest",
     "Version of the application messages; from 5.0 on over FIXT.1.1, with this version as DefaultApplVerID.",
     [](SessionSettings& s, const Value& v) { set_version(s.config, v.choice<fix::ApplicationVersion>(kVersions)); },
     [](const SessionSettings& s) { return std::string{fix::name(application_version(s))}; }},
    SessionKey::short_text<kConfig<&Config::sender_comp_id>, kMaxIdBytes>("sender", "ID", "Our CompID."),
    SessionKey::short_text<kConfig<&Config::target_comp_id>, kMaxIdBytes>(
        "target", "ID|*", "The counterparty's CompID; * for any that no other session has."),
    SessionKey::short_text<kConfig<&Config::sender_sub_id>, kMaxIdBytes>(
        "sender_sub_id", "ID",
        "Our SenderSubID(50), part of the session's identity: in every message that we send, and the TargetSubID of "
        "the "
        "counterparty's Logon."),
    SessionKey::short_text<kConfig<&Config::sender_location_id>, kMaxIdBytes>(
        "sender_location_id", "ID", "Our SenderLocationID(142), in the same way."),
    SessionKey::short_text<kConfig<&Config::target_sub_id>, kMaxIdBytes>(
        "target_sub_id", "ID", "The counterparty's SubID(57), in the same way."),
    SessionKey::short_text<kConfig<&Config::target_location_id>, kMaxIdBytes>(
        "target_location_id", "ID", "The counterparty's LocationID(143), in the same way."),
    SessionKey::short_text<kConfig<&Config::qualifier>, kMaxIdBytes>(
        "qualifier", "TEXT",
        "Name that is part of the identity but in no message: of sessions with `hosts` and the same ids."),
    SessionKey::boolean<&SessionSettings::enabled>(
        "enabled", "Allow the session to log on; `millpond fix sessions` can change it."),
    SessionKey::text<&SessionSettings::acceptor>("acceptor", "NAME", "Acceptor of the session; the first if unset."),
    SessionKey::nonempty_list<&SessionSettings::allow>(
        "allow", "ADDRESS/BITS+...",
        "Addresses that may log on to this session; all that its acceptor allows if unset."),
    SessionKey::nonempty_list<&SessionSettings::users>(
        "users", "NAME+...",
        "Users of `user_file` that may log on, each with its Username and Password; all if unset."),
    SessionKey::nonempty_list<&SessionSettings::certificates>(
        "certificates", "NAME+...",
        "Client certificates that may log on: a subject as RFC 2253 writes it, or an alternative name after DNS:, "
        "URI:, email: or IP:; all if unset."),
    SessionKey::integer<&SessionSettings::max_dynamic, 1, 10'000>(
        "max_dynamic", "N",
        "Maximum number of sessions of target '*'; disconnected ones with a store file are removed for new ones."),
    SessionKey::list<&SessionSettings::hosts>("hosts", "HOST:PORT+...", "Addresses to connect to, in this order."),
    SessionKey::text<&SessionSettings::proxy>("proxy", "socks5://HOST:PORT|http://HOST:PORT",
                                              "Connect through this SOCKS5 or HTTP (CONNECT) proxy, which looks up the "
                                              "names in `hosts`; TLS runs through it."),
    SessionKey::text<&SessionSettings::proxy_username>("proxy_username", "TEXT", "User name for the proxy."),
    SessionKey::file<[](auto& s) -> auto& { return s.proxy_password.file; }>(
        "proxy_password_file", "File whose first line is the password for the proxy."),
    SessionKey::text<[](auto& s) -> auto& { return s.proxy_password.environment; }>(
        "proxy_password_env", "NAME", "Environment variable with the password for the proxy."),
    SessionKey::host<&SessionSettings::local_address>("local_address",
                                                      "Local address to connect from; the route's if unset."),
    SessionKey::boolean<&SessionSettings::tls_on>("tls", "Connect with TLS."),
    SessionKey::file<[](auto& s) -> auto& { return s.tls.certificate; }>(
        "tls_certificate", "PEM file with our certificate, if the server requires one."),
    SessionKey::file<[](auto& s) -> auto& { return s.tls.key; }>(
        "tls_key", "PEM file with its private key; it must not be readable by all users."),
    SessionKey::file<[](auto& s) -> auto& { return s.tls.authorities; }>(
        "tls_authorities", "PEM file with the authorities of the server's certificate; the system's if unset."),
    SessionKey::text<[](auto& s) -> auto& { return s.tls.server_name; }>(
        "tls_server_name", "NAME", "Name that the server's certificate must have; the host's if unset."),
    SessionKey::boolean<[](auto& s) -> auto& { return s.tls.verify_peer; }>("tls_verify",
                                                                            "Verify the server's certificate."),
    SessionKey::duration<kFieldOf<&SessionSettings::reconnect, &engine::Reconnect::first>, std::chrono::milliseconds, 1,
                         3'600'000>("reconnect_ms", "Pause after all hosts failed; doubles each time."),
    SessionKey::duration<kFieldOf<&SessionSettings::reconnect, &engine::Reconnect::max>, std::chrono::milliseconds, 1,
                         3'600'000>("reconnect_longest_ms", "Longest such pause."),
    SessionKey::integer<&SessionSettings::thread, 0, 63>(
        "thread", "N", "I/O thread, from 0; the session's place in the file modulo `threads` if unset."),
    SessionKey::file<&SessionSettings::dictionary>(
        "dictionary", "Dictionary in QuickFIX's XML format; the version's in `dictionaries` if unset."),
    SessionKey::file<&SessionSettings::application_dictionary>(
        "application_dictionary", "The same for the application messages of FIX 5.0 and later."),
    {"further_versions", "VERSION[=FILE]+...",
     "Further versions of application messages in the session, over FIXT.1.1, each with its "
     "dictionary; the version's in `dictionaries` without FILE.",
     [](SessionSettings& s, const Value& v) { s.further_versions = further_versions_of(v); }, further_versions_text},
    {"logon_types", "send:TYPE[=VERSION[:default]]+...",
     "Message types that our Logon names, sent or received (send:D, receive:8=FIX.4.4); :default if messages without "
     "ApplVerID have that version.",
     [](SessionSettings& s, const Value& v) { s.config.logon_types = logon_types_of(v); }, logon_types_text},
    SessionKey::boolean<kValidation<&fix::Validator::Options::fields_have_values>>("fields_have_values",
                                                                                   "Reject fields without a value."),
    SessionKey::boolean<kValidation<&fix::Validator::Options::user_fields_are_known>>(
        "user_fields_are_known", "Reject tags from 5000 on that the dictionary does not have."),
    SessionKey::boolean<kValidation<&fix::Validator::Options::fields_are_in_order>>(
        "fields_are_in_order", "Reject header fields in the body."),
    SessionKey::boolean<kValidation<&fix::Validator::Options::members_are_in_order>>(
        "members_are_in_order", "Reject fields of a group that are not in the dictionary's order."),
    SessionKey::boolean<kValidation<&fix::Validator::Options::message_fields_are_known>>(
        "message_fields_are_known", "Reject tags below 5000 that the dictionary does not have in the message."),
    SessionKey::list<kValidation<&fix::Validator::Options::unchecked_types>>(
        "unchecked_types", "MSGTYPE+...",
        "Types of application messages whose bodies are not compared with the dictionary; * for all."),
    SessionKey::boolean<kValidation<&fix::Validator::Options::values_are_known>>(
        "values_are_known", "Reject values that the dictionary does not list for their field."),
    SessionKey::boolean<kConfig<&Config::requires_orig_sending_time>>(
        "requires_orig_sending_time", "Reject messages with PossDupFlag and without OrigSendingTime."),
    SessionKey::boolean<kConfig<&Config::reject_low_sequence>>(
        "reject_low_sequence",
        "Answer a MsgSeqNum that is too low with a Reject instead of a Logout, and close the connection."),
    SessionKey::boolean<kConfig<&Config::check_comp_ids>>("check_comp_ids",
                                                          "Reject messages with other CompIDs after the Logon."),
    SessionKey::boolean<kConfig<&Config::reject_garbled>>(
        "reject_garbled",
        "Reject a message with a wrong CheckSum or an unreadable field, and count it as received, if its number is the "
        "next one; otherwise it is requested again."),
    SessionKey::integer<kConfig<&Config::heartbeat_seconds>, 0, kDaySeconds>(
        "heartbeat_seconds", "N", "Heartbeat interval in our Logon; 0 for none."),
    seconds<&Config::logon_timeout_ns, 1, 3'600>("logon_seconds", "Timeout for the answer to our Logon."),
    seconds<&Config::logout_timeout_ns, 1, 3'600>("logout_seconds", "Timeout for the answer to our Logout."),
    seconds<&Config::max_latency_ns, 0, kDaySeconds>(
        "max_latency_seconds", "Largest difference between SendingTime and our clock; 0 disables the check."),
    SessionKey::choice<kConfig<&Config::time_precision>, kPrecisions>(
        "time_precision", "s|ms|us|ns",
        "Precision of times in sent messages; ms from FIX.4.2 on and s before, if unset."),
    SessionKey::text<kConfig<&Config::username>>("username", "TEXT", "Username in our Logon."),
    SessionKey::file<[](auto& s) -> auto& { return s.password.file; }>(
        "password_file", "File whose first line is the password in our Logon."),
    SessionKey::text<[](auto& s) -> auto& { return s.password.environment; }>(
        "password_env", "NAME", "Environment variable with the password in our Logon."),
    {"logon", "TABLE",
     "Fields of our Logon, as [session.logon] with a line TAG = VALUE for each. A secret's value is { file = \"FILE\" "
     "} "
     "or { env = \"NAME\" }.",
     [](SessionSettings& s, const Value& v) { s.logon = logon_fields_of(v); }},
    {"header", "TABLE",
     "Header fields of every message, as [session.header]: 50, 57, 115, 116, 128, 129, 142 to 145. A message's own "
     "fields take precedence.",
     [](SessionSettings& s, const Value& v) { s.header = header_fields_of(v); }},
    SessionKey::choice<&SessionSettings::sign, kSchemes>(
        "sign", "binance|bybit|coinbase-exchange|coinbase-prime|kraken|kraken-prime",
        "Sign our Logon as this venue documents it. The guide lists the fields that the Logon must have."),
    SessionKey::file<[](auto& s) -> auto& { return s.sign_key.file; }>(
        "sign_key_file",
        "File with the key to sign with: PEM for binance (Ed25519) and bybit (RSA), otherwise the API secret in its "
        "first "
        "line."),
    SessionKey::text<[](auto& s) -> auto& { return s.sign_key.environment; }>(
        "sign_key_env", "NAME", "Environment variable with the key to sign with."),
    SessionKey::boolean<kConfig<&Config::reset_on_logon>>("reset_on_logon",
                                                          "Reset both sequence numbers with each Logon."),
    SessionKey::boolean<kConfig<&Config::reset_on_logout>>("reset_on_logout",
                                                           "Reset both sequence numbers with each Logout."),
    SessionKey::boolean<kConfig<&Config::reset_on_disconnect>>(
        "reset_on_disconnect", "Reset both sequence numbers with each lost connection."),
    SessionKey::boolean<kConfig<&Config::reset_on_error>>(
        "reset_on_error",
        "Reset both sequence numbers when a connection ends by a timeout, a number that is too low or a message that "
        "could not be sent."),
    SessionKey::boolean<kConfig<&Config::send_last_processed>>("send_last_processed",
                                                               "Send LastMsgSeqNumProcessed(369) in each header."),
    SessionKey::boolean<kConfig<&Config::send_next_expected>>("send_next_expected",
                                                              "Send NextExpectedMsgSeqNum(789) in the Logon."),
    SessionKey::integer<kConfig<&Config::resend_request_chunk>, 0, 1'000'000>(
        "resend_chunk", "N", "Maximum number of messages in one ResendRequest; 0 for all."),
    SessionKey::integer<&SessionSettings::resend_max_age_seconds, 0, kMaxAgeSeconds>(
        "resend_max_age_seconds", "N",
        "Send a gap fill instead of requested orders and quotes that are older than this; 0 resends all."),
    SessionKey::bytes<kConfig<&Config::max_message_bytes>>("max_message_bytes",
                                                           "Longest message; longer ones count as garbled."),
    {"start", "HH:MM[:SS]", "Time of day at which the session starts; it never ends if unset.",
     [](SessionSettings& s, const Value& v) { s.start = time_of_day(v); }},
    {"end", "HH:MM[:SS]", "Time of day at which it ends; on the next day unless later than `start`.",
     [](SessionSettings& s, const Value& v) { s.end = time_of_day(v); }},
    SessionKey::text<&SessionSettings::days>("days", "mon-fri|mon+wed+...",
                                             "Days on which it starts; every day if unset."),
    SessionKey::text<&SessionSettings::start_day>("start_day", "mon|...|sun",
                                                  "With end_day: one session a week, from this day."),
    SessionKey::text<&SessionSettings::end_day>("end_day", "mon|...|sun", "Day on which it ends."),
    SessionKey::text<&SessionSettings::timezone>("timezone", "ZONE",
                                                 "Time zone of these times, such as America/New_York."),
    SessionKey::text<kFieldOf<&SessionSettings::store, &engine::StoreOptions::file>>(
        "store", "FILE|memory",
        "File that keeps sent messages and sequence numbers across restarts, a "
        "folder for target '*'; a file in `state` "
        "if unset, and memory where there is no such folder."),
    SessionKey::bytes<kFieldOf<&SessionSettings::store, &engine::StoreOptions::bytes>>(
        "keep_bytes", "Size of the messages in the store file that can be resent; it grows up to this size."),
    SessionKey::choice<kFieldOf<&SessionSettings::store, &engine::StoreOptions::durability>, kDurabilities>(
        "durability", "process|interval|message",
        "What survives a crash of the machine: what the kernel wrote, all but the last second, or every message."),
    {"standby", "TABLE",
     "Copy the store to a standby, as [session.standby] with the keys address, mode (none, received), on_standby_loss "
     "(stop, continue), timeout_ms, tls_authorities, tls_server_name, tls_certificate, tls_key, token_file and "
     "token_env.",
     [](SessionSettings& s, const Value& v) { s.standby = standby_settings_of(v); }},
    SessionKey::duration<&SessionSettings::warm_up, std::chrono::milliseconds, 0, 60'000>(
        "warm_up_ms",
        "While the session is idle, bring its code and memory into the caches every N milliseconds, so that the first "
        "message is faster; 0 for never."),
    SessionKey::bytes<kFieldOf<&SessionSettings::limits, &engine::SessionLimits::pending_bytes>>(
        "pending_bytes", "Disconnect a counterparty that has more unread output than this."),
    SessionKey::integer<kFieldOf<&SessionSettings::limits, &engine::SessionLimits::messages_per_second>, 0,
                        100'000'000>(
        "messages_per_second", "N",
        "Maximum number of messages per second, and in one burst, from the counterparty; 0 for no limit."),
    SessionKey::boolean<kFieldOf<&SessionSettings::limits, &engine::SessionLimits::cut_off_when_exceeded>>(
        "cut_off", "Disconnect a counterparty that exceeds this, instead of reading more slowly."),
    SessionKey::removed("connect_ms", "5000"),
    SessionKey::removed("held_messages", "1024"),
    SessionKey::removed("held_bytes", "256 KiB"),
    SessionKey::removed("stall_seconds", "30"),
    SessionKey::removed("burst", "'messages_per_second'"),
    SessionKey::removed("resend_max_age_types",
                        "orders, quotes and their changes: D, E, F, G, S, i, q, s, t, u, AB, AC"),
    SessionKey::removed("keep_days", "7"),
    SessionKey::removed("sync_ms", "1000"),
    SessionKey::removed("store_segments", "store files grow up to 'keep_bytes'"),
    SessionKey::removed("store_bytes", "8 MiB in memory, or 16 times 'max_message_bytes' if that is more"),
    SessionKey::removed("appl_ver_id_in_business_reject", "false"),
    SessionKey::removed("quickfix_replies", "false; true with 'fix acceptor --echo'"),
};

}  // namespace
}  // namespace millpond::fixd

namespace millpond::settings {

using namespace fixd;

// clang-format off
template <> std::string_view Schema<SessionSettings>::name() { return "session"; }
template <> std::span<const Key<SessionSettings>> Schema<SessionSettings>::keys() { return kSessionKeys; }
// clang-format on

}  // namespace millpond::settings
