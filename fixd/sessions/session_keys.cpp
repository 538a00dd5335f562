#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fixd/sessions/session_settings.hpp"
#include "fixd/sessions/session_values.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/schema.hpp"

namespace millpond::fixd {
namespace {

using settings::Key;
using settings::Value;
using SessionKey = settings::KeyOf<SessionSettings>;

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
constexpr std::size_t kLongestId = 64;
constexpr std::uint64_t kDaySeconds = 86'400;
constexpr std::uint64_t kLongestAgeSeconds = 366 * kDaySeconds;

constexpr Key<SessionSettings> kSessionKeys[] = {
    SessionKey::choice<&SessionSettings::version, kVersions>(
        "version", "FIX.4.0 to FIX.5.0SP2|FIX.Latest",
        "Version of the application messages; from 5.0 on over FIXT.1.1, with this version as DefaultApplVerID."),
    SessionKey::short_text<&SessionSettings::sender, kLongestId>("sender", "ID", "Our CompID."),
    SessionKey::short_text<&SessionSettings::target, kLongestId>(
        "target", "ID|*", "The counterparty's CompID; * for any that no other session has."),
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
        "max_dynamic", "N", "Maximum number of sessions of target '*'; disconnected ones with a store file make room."),
    SessionKey::list<&SessionSettings::hosts>("hosts", "HOST:PORT+...", "Addresses to connect to, in this order."),
    SessionKey::text<&SessionSettings::proxy>("proxy", "socks5://HOST:PORT|http://HOST:PORT",
                                              "Connect through this SOCKS5 or HTTP (CONNECT) proxy, which looks up the "
                                              "names in `hosts`; TLS runs through it."),
    SessionKey::text<&SessionSettings::proxy_username>("proxy_username", "TEXT", "User name for the proxy."),
    SessionKey::text<[](auto& s) -> auto& { return s.proxy_password.file; }>(
        "proxy_password_file", "FILE", "File whose first line is the password for the proxy."),
    SessionKey::text<[](auto& s) -> auto& { return s.proxy_password.environment; }>(
        "proxy_password_env", "NAME", "Environment variable with the password for the proxy."),
    SessionKey::host<&SessionSettings::local_address>("local_address",
                                                      "Local address to connect from; the route's if unset."),
    SessionKey::boolean<&SessionSettings::tls_on>("tls", "Connect with TLS."),
    SessionKey::text<[](auto& s) -> auto& { return s.tls.certificate; }>(
        "tls_certificate", "FILE", "PEM file with our certificate, if the server requires one."),
    SessionKey::text<[](auto& s) -> auto& { return s.tls.key; }>("tls_key", "FILE", "PEM file with its private key."),
    SessionKey::text<[](auto& s) -> auto& { return s.tls.authorities; }>(
        "tls_authorities", "FILE", "PEM file with the authorities of the server's certificate; the system's if unset."),
    SessionKey::text<[](auto& s) -> auto& { return s.tls.server_name; }>(
        "tls_server_name", "NAME", "Name that the server's certificate must have; the host's if unset."),
    SessionKey::boolean<[](auto& s) -> auto& { return s.tls.verify; }>("tls_verify",
                                                                       "Verify the server's certificate."),
    SessionKey::integer<&SessionSettings::reconnect_ms, 1, 3'600'000>(
        "reconnect_ms", "N", "Pause after all hosts failed; doubles each time."),
    SessionKey::integer<&SessionSettings::reconnect_longest_ms, 1, 3'600'000>("reconnect_longest_ms", "N",
                                                                              "Longest such pause."),
    SessionKey::integer<&SessionSettings::connect_ms, 1, 600'000>("connect_ms", "N",
                                                                  "Timeout for connecting to one host."),
    SessionKey::integer<&SessionSettings::thread, 0, 63>(
        "thread", "N", "I/O thread, from 0; the session's place in the file modulo `threads` if unset."),
    SessionKey::text<&SessionSettings::dictionary>(
        "dictionary", "FILE", "Dictionary in QuickFIX's XML format; the version's in `dictionaries` if unset."),
    SessionKey::text<&SessionSettings::application_dictionary>(
        "application_dictionary", "FILE", "The same for the application messages of FIX 5.0 and later."),
    {"further_versions", "VERSION[=FILE]+...",
     "Further versions of application messages in the session, over FIXT.1.1, each with its "
     "dictionary; the version's in `dictionaries` without FILE.",
     [](SessionSettings& s, const Value& v) { s.further_versions = further_versions_of(v); }, further_versions_text},
    {"logon_types", "send:TYPE[=VERSION[:default]]+...",
     "Message types that our Logon names, sent or received (send:D, receive:8=FIX.4.4); :default where messages "
     "without "
     "ApplVerID have that version.",
     [](SessionSettings& s, const Value& v) { s.logon_types = logon_types_of(v); }, logon_types_text},
    SessionKey::boolean<&SessionSettings::fields_have_values>("fields_have_values", "Reject fields without a value."),
    SessionKey::boolean<&SessionSettings::user_fields_are_known>(
        "user_fields_are_known", "Reject tags from 5000 on that the dictionary does not have."),
    SessionKey::boolean<&SessionSettings::fields_are_in_order>("fields_are_in_order",
                                                               "Reject header fields in the body."),
    SessionKey::boolean<&SessionSettings::members_are_in_order>(
        "members_are_in_order", "Reject fields of a group that are not in the dictionary's order."),
    SessionKey::boolean<&SessionSettings::message_fields_are_known>(
        "message_fields_are_known", "Reject tags below 5000 that the dictionary does not have in the message."),
    SessionKey::list<&SessionSettings::unchecked_types>(
        "unchecked_types", "MSGTYPE+...",
        "Types of application messages whose bodies are not compared with the dictionary; * for all."),
    SessionKey::boolean<&SessionSettings::check_comp_ids>("check_comp_ids",
                                                          "Reject messages with other CompIDs after the Logon."),
    SessionKey::boolean<&SessionSettings::reject_garbled>(
        "reject_garbled",
        "Reject a message with a wrong CheckSum or an unreadable field, and count it as received, if its number is the "
        "next one; else it is asked for again."),
    SessionKey::integer<&SessionSettings::heartbeat_seconds, 0, kDaySeconds>(
        "heartbeat_seconds", "N", "Heartbeat interval in our Logon; 0 for none."),
    SessionKey::integer<&SessionSettings::logon_seconds, 1, 3'600>("logon_seconds", "N",
                                                                   "Timeout for the answer to our Logon."),
    SessionKey::integer<&SessionSettings::logout_seconds, 1, 3'600>("logout_seconds", "N",
                                                                    "Timeout for the answer to our Logout."),
    SessionKey::integer<&SessionSettings::max_latency_seconds, 0, kDaySeconds>(
        "max_latency_seconds", "N", "Largest difference between SendingTime and our clock; 0 disables the check."),
    SessionKey::choice<&SessionSettings::time_precision, kPrecisions>(
        "time_precision", "s|ms|us|ns",
        "Precision of times in sent messages; ms from FIX.4.2 on and s before, if unset."),
    SessionKey::text<&SessionSettings::username>("username", "TEXT", "Username in our Logon."),
    SessionKey::text<&SessionSettings::password_file>("password_file", "FILE",
                                                      "File whose first line is the password in our Logon."),
    SessionKey::text<&SessionSettings::password_env>("password_env", "NAME",
                                                     "Environment variable with the password in our Logon."),
    {"logon", "TABLE",
     "Fields of our Logon, as [session.logon] with a line TAG = VALUE for each. A secret's value is { file = \"FILE\" "
     "} "
     "or { env = \"NAME\" }.",
     [](SessionSettings& s, const Value& v) { s.logon = logon_fields_of(v); }},
    {"header", "TABLE",
     "Header fields of every message, as [session.header]: 50, 57, 115, 116, 128, 129, 142 to 145. Those that a "
     "message "
     "brings go first.",
     [](SessionSettings& s, const Value& v) { s.header = header_fields_of(v); }},
    SessionKey::choice<&SessionSettings::sign, kSchemes>(
        "sign", "binance|bybit|coinbase-exchange|coinbase-prime|kraken|kraken-prime",
        "Sign our Logon as this venue documents it. The guide lists the fields that the Logon must have."),
    SessionKey::text<[](auto& s) -> auto& { return s.sign_key.file; }>(
        "sign_key_file", "FILE",
        "File with the key to sign with: PEM for binance (Ed25519) and bybit (RSA), else the API secret in its first "
        "line."),
    SessionKey::text<[](auto& s) -> auto& { return s.sign_key.environment; }>(
        "sign_key_env", "NAME", "Environment variable with the key to sign with."),
    SessionKey::boolean<&SessionSettings::reset_on_logon>("reset_on_logon",
                                                          "Reset both sequence numbers with each Logon."),
    SessionKey::boolean<&SessionSettings::reset_on_logout>("reset_on_logout",
                                                           "Reset both sequence numbers with each Logout."),
    SessionKey::boolean<&SessionSettings::reset_on_disconnect>(
        "reset_on_disconnect", "Reset both sequence numbers with each lost connection."),
    SessionKey::boolean<&SessionSettings::reset_on_error>(
        "reset_on_error",
        "Reset both sequence numbers when a connection ends by a timeout, a number that is too low or a message that "
        "could not be sent."),
    SessionKey::boolean<&SessionSettings::appl_ver_id_in_business_reject>(
        "appl_ver_id_in_business_reject", "Send DefaultApplVerID(1137) in BusinessMessageReject, as QuickFIX does."),
    {"quickfix_replies", "true|false",
     "Send fewer fields in Reject and Logout, as QuickFIX's acceptance scripts expect.",
     [](SessionSettings& s, const Value& v) { s.quickfix_replies = v.boolean(); },
     [](const SessionSettings& s) { return std::string{s.quickfix_replies.value_or(false) ? "true" : "false"}; }},
    SessionKey::boolean<&SessionSettings::send_last_processed>("send_last_processed",
                                                               "Send LastMsgSeqNumProcessed(369) in each header."),
    SessionKey::boolean<&SessionSettings::send_next_expected>("send_next_expected",
                                                              "Send NextExpectedMsgSeqNum(789) in the Logon."),
    SessionKey::integer<&SessionSettings::resend_chunk, 0, 1'000'000>(
        "resend_chunk", "N", "Maximum number of messages in one ResendRequest; 0 for all."),
    SessionKey::integer<&SessionSettings::resend_max_age_seconds, 0, kLongestAgeSeconds>(
        "resend_max_age_seconds", "N",
        "Send a gap fill instead of requested orders and quotes that are older than this; 0 resends all."),
    SessionKey::list<&SessionSettings::resend_max_age_types>("resend_max_age_types", "MSGTYPE+...",
                                                             "Message types that this applies to; * for all."),
    SessionKey::bytes<&SessionSettings::max_message_bytes>("max_message_bytes",
                                                           "Longest message; longer ones count as garbled."),
    SessionKey::integer<&SessionSettings::held_messages, 0, 1'000'000>(
        "held_messages", "N", "Maximum number of out-of-order messages to hold."),
    SessionKey::bytes<&SessionSettings::held_bytes>("held_bytes", "Maximum size of these messages."),
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
    SessionKey::text<&SessionSettings::store>("store", "FILE|memory",
                                              "File that keeps sent messages and sequence numbers across restarts, a "
                                              "folder for target '*'; a file in `state` "
                                              "if unset, and memory where there is no such folder."),
    SessionKey::bytes<&SessionSettings::keep_bytes>(
        "keep_bytes", "Size of the messages in the store file that can be resent; it grows up to this size."),
    SessionKey::integer<&SessionSettings::keep_days, 0, 3'660>(
        "keep_days", "N", "Remove parts of the store file whose newest message is older; 0 for none."),
    {"store_bytes", "BYTES",
     "Size of the messages in memory that can be resent. Of a store file: its fixed size, instead of keep_bytes.",
     [](SessionSettings& s, const Value& v) { s.store_bytes = v.bytes(); },
     [](const SessionSettings& s) { return settings::bytes_text(s.store_bytes.value_or(kDefaultStoreBytes)); }},
    {"store_segments", "N", "Number of files of a store file with a fixed size.",
     [](SessionSettings& s, const Value& v) { s.store_segments = v.integer(1, 64); },
     [](const SessionSettings& s) { return std::to_string(s.store_segments.value_or(kDefaultStoreSegments)); }},
    SessionKey::choice<&SessionSettings::durability, kDurabilities>(
        "durability", "process|interval|message",
        "What survives a crash of the machine: what the kernel wrote, all but the last `sync_ms`, or every message."),
    SessionKey::integer<&SessionSettings::sync_ms, 1, 3'600'000>("sync_ms", "N",
                                                                 "Time between syncs for durability = \"interval\"."),
    {"standby", "TABLE",
     "Copy the store to a standby, as [session.standby] with the keys address, mode (none, received), on_standby_loss "
     "(stop, continue), timeout_ms, tls_authorities, tls_server_name, tls_certificate, tls_key, token_file and "
     "token_env.",
     [](SessionSettings& s, const Value& v) { s.standby = standby_settings_of(v); }},
    SessionKey::integer<&SessionSettings::warm_up_ms, 0, 60'000>(
        "warm_up_ms", "N",
        "While the session is idle, bring its code and memory into the caches every N milliseconds, so that the first "
        "message is faster; 0 for never."),
    SessionKey::bytes<&SessionSettings::pending_bytes>(
        "pending_bytes", "Disconnect a counterparty that has more unread output than this."),
    SessionKey::integer<&SessionSettings::stall_seconds, 1, kDaySeconds>(
        "stall_seconds", "N", "Disconnect a counterparty that has read nothing for this many seconds."),
    SessionKey::integer<&SessionSettings::messages_per_second, 0, 100'000'000>(
        "messages_per_second", "N", "Maximum number of messages per second from the counterparty; 0 for no limit."),
    SessionKey::integer<&SessionSettings::burst, 1, 100'000'000>("burst", "N",
                                                                 "Maximum burst of messages from the counterparty."),
    SessionKey::boolean<&SessionSettings::cut_off>(
        "cut_off", "Disconnect a counterparty that exceeds this, instead of reading more slowly."),
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
