#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/fix/admin_draft.hpp>

#include "fixd/engine_config.hpp"
#include "service/settings/file_mode.hpp"
#include "service/settings/schema.hpp"

namespace millpond::fixd {
namespace {

using settings::Key;
using settings::Value;

constexpr std::pair<std::string_view, service::Severity> kSeverities[] = {{"debug", service::Severity::debug},
                                                                          {"info", service::Severity::info},
                                                                          {"warning", service::Severity::warning},
                                                                          {"error", service::Severity::error}};
constexpr std::pair<std::string_view, service::LogFormat> kLogFormats[] = {{"text", service::LogFormat::text},
                                                                           {"json", service::LogFormat::json}};
constexpr std::pair<std::string_view, core::Poll> kPolls[] = {
    {"spin", core::Poll::spin}, {"block", core::Poll::block}, {"adaptive", core::Poll::adaptive}};
constexpr std::pair<std::string_view, FixVersion> kVersions[] = {
    {"FIX.4.0", FixVersion::fix40},       {"FIX.4.1", FixVersion::fix41},      {"FIX.4.2", FixVersion::fix42},
    {"FIX.4.3", FixVersion::fix43},       {"FIX.4.4", FixVersion::fix44},      {"FIX.5.0", FixVersion::fix50},
    {"FIX.5.0SP1", FixVersion::fix50sp1}, {"FIX.5.0SP2", FixVersion::fix50sp2}};
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
constexpr std::uint64_t kHighestCpu = 1023;
constexpr fix::Tag kHighestTag = 999'999'999;

/// "08:30" or "08:30:15" as a second of the day.
std::int64_t time_of_day(const Value& value) {
    const auto text = value.text();
    const auto part = [&](std::size_t at, int most) {
        int number = -1;
        const auto* const begin = text.data() + at;
        const auto [end, error] = std::from_chars(begin, begin + 2, number);
        if (error != std::errc{} || end != begin + 2 || number < 0 || number > most) {
            value.fail("a time of the day like 08:30 or 08:30:15", "'" + text + "'");
        }
        return number;
    };
    const bool has_shape =
        (text.size() == 5 || text.size() == 8) && text[2] == ':' && (text.size() == 5 || text[5] == ':');
    if (!has_shape) value.fail("a time of the day like 08:30 or 08:30:15", "'" + text + "'");
    return part(0, 23) * 3600 + part(3, 59) * 60 + (text.size() == 8 ? part(6, 59) : 0);
}

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

/// `{ file = "..." }` or `{ env = "..." }`.
service::TokenSource secret_of(const Value& value) {
    service::TokenSource source;
    for (const auto& [key, place] : value.table()) {
        auto* const target = key == "file" ? &source.file : key == "env" ? &source.environment : nullptr;
        if (target == nullptr) value.fail("{ file = \"...\" } or { env = \"...\" }", fmt::format("'{}'", key));
        *target = place.text();
        if (target->empty()) place.fail("the place of a secret", "an empty string");
    }
    if (source.file.empty() == source.environment.empty()) {
        value.fail("{ file = \"...\" } or { env = \"...\" }", source.empty() ? "neither" : "both");
    }
    return source;
}

/// The fields of a table by tag. check: what is wrong with a tag, or nothing.
std::vector<FieldSetting> fields_of(const Value& value, std::string_view (*check)(fix::Tag)) {
    std::vector<FieldSetting> fields;
    for (const auto& [key, entry] : value.table()) {
        fix::Tag tag = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), tag);
        const bool is_tag = error == std::errc{} && end == key.data() + key.size() && key.front() != '0';
        if (!is_tag || tag > kHighestTag) entry.fail(fmt::format("a tag from 1 to {} as its name", kHighestTag), key);
        if (const auto wrong = check(tag); !wrong.empty()) entry.fail(wrong, key);
        auto& field = fields.emplace_back(FieldSetting{.tag = tag, .where = entry.where()});
        if (entry.is_table()) {
            field.secret = secret_of(entry);
            continue;
        }
        field.value = entry.field_text();
        const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
        if (field.value.empty()) entry.fail("a value", "an empty string");
        if (std::ranges::any_of(field.value, is_control)) entry.fail("no control characters", "one");
    }
    if (fields.size() > fix::AdminDraft::kMostFields / 2) {
        value.fail(fmt::format("at most {} fields", fix::AdminDraft::kMostFields / 2),
                   fmt::format("{}", fields.size()));
    }
    return fields;
}

std::string_view wrong_in_logon(fix::Tag tag) {
    switch (tag) {
        case fix::tag::kHeartBtInt: return "the key heartbeat_seconds instead";
        case fix::tag::kResetSeqNumFlag: return "the key reset_on_logon instead";
        case fix::tag::kNextExpectedMsgSeqNum: return "the key send_next_expected instead";
        case fix::tag::kDefaultApplVerId: return "the key version instead";
        default: break;
    }
    if (fix::AdminDraft::may_set(tag)) return {};
    return "a field that the session does not write itself, and the data field instead of its length";
}

std::string_view wrong_in_header(fix::Tag tag) {
    return fix::AdminDraft::is_header_field(tag) ? "" : "one of 50, 57, 115, 116, 128, 129, 142, 143, 144 and 145";
}

constexpr Key<EngineConfig> kTopKeys[] = {
    {"log_level", "debug|info|warning|error", "Least severe messages to log. (default: info)",
     [](EngineConfig& c, const Value& v) { c.log_level = v.choice<service::Severity>(kSeverities); }},
    {"log_format", "text|json", "Log each message as a line of text or as a JSON object. (default: text)",
     [](EngineConfig& c, const Value& v) { c.log_format = v.choice<service::LogFormat>(kLogFormats); }},
    {"quiet", "", "Of logons, logouts and closed connections log only errors.",
     [](EngineConfig& c, const Value& v) { c.quiet = v.boolean(); }},
    {"metrics", "ADDRESS:PORT", "Address and port of /metrics; off if unset.",
     [](EngineConfig& c, const Value& v) { c.metrics = v.endpoint(); }},
    {"admin", "SOCKET", "UNIX socket for `millpond fix sessions`; none if unset.",
     [](EngineConfig& c, const Value& v) { c.admin = v.text_of_at_most(100); }},
    {"raw_log", "FILE", "File for every byte of both directions, for `millpond fix print`; none if unset.",
     [](EngineConfig& c, const Value& v) { c.raw_log = v.text(); }},
    {"raw_log_ring", "BYTES", "Memory for bytes that wait for the raw log's disk; a power of two. (default: 4MiB)",
     [](EngineConfig& c, const Value& v) { c.raw_log_ring = v.bytes(); }},
    {"raw_log_rotate", "BYTES", "Size at which the raw log is renamed. (default: 1GiB)",
     [](EngineConfig& c, const Value& v) { c.raw_log_rotate = v.bytes(); }},
    {"mask_tags", "TAG+...",
     "Tags to hide in the raw log and in printed messages, besides 554, 925, 1402, 1404 and a Logon's 96.",
     [](EngineConfig& c, const Value& v) { c.mask_tags = tags_of(v); }},
    {"file_mode", "0600|0640|0644|0660|0664", "Permissions of stores and raw logs, whatever the umask. (default: 0640)",
     [](EngineConfig& c, const Value& v) { c.file_mode = v.choice<std::uint32_t>(settings::kFileModes); }},
    {"dictionaries", "FOLDER",
     "Folder with FIX40.xml to FIX50SP2.xml and FIXT11.xml; application messages pass unchecked if unset.",
     [](EngineConfig& c, const Value& v) { c.dictionaries = v.text(); }},
    {"threads", "N", "Number of I/O threads. (default: 1)",
     [](EngineConfig& c, const Value& v) { c.threads = v.integer(1, 64); }},
    {"poll", "spin|block|adaptive",
     "How I/O threads wait: busy-wait, sleep, or busy-wait briefly and then sleep. (default: block)",
     [](EngineConfig& c, const Value& v) { c.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "CPU to bind the first I/O thread to; the others follow on the next ones. Any CPU if unset.",
     [](EngineConfig& c, const Value& v) { c.pin = static_cast<std::uint32_t>(v.integer(0, kHighestCpu)); }},
    {"realtime", "PRIORITY", "SCHED_FIFO priority of I/O threads; 0 for none. (default: 0)",
     [](EngineConfig& c, const Value& v) { c.realtime = static_cast<std::uint32_t>(v.integer(0, 99)); }},
};

constexpr Key<AcceptorConfig> kAcceptorKeys[] = {
    {"name", "NAME", "Name by which sessions choose their acceptor. (default: acceptor)",
     [](AcceptorConfig& a, const Value& v) { a.name = v.text_of_at_most(kLongestId); }},
    {"listen", "ADDRESS:PORT", "Address and port to listen on. (default: 127.0.0.1:5001)",
     [](AcceptorConfig& a, const Value& v) { a.listen = v.endpoint(); }},
    {"max_connections", "N", "Maximum number of connections; more are closed. (default: 256)",
     [](AcceptorConfig& a, const Value& v) { a.max_connections = v.integer(1, 100'000); }},
    {"max_before_logon", "N",
     "Maximum number of connections before their Logon; beyond it the oldest is closed. (default: 64)",
     [](AcceptorConfig& a, const Value& v) { a.max_before_logon = v.integer(1, 100'000); }},
    {"max_before_logon_per_address", "N", "The same for each address. (default: 16)",
     [](AcceptorConfig& a, const Value& v) { a.max_before_logon_per_address = v.integer(1, 100'000); }},
    {"first_message_seconds", "N", "Close a connection without a Logon after this many seconds. (default: 10)",
     [](AcceptorConfig& a, const Value& v) { a.first_message_seconds = v.integer(1, 3'600); }},
    {"allow", "ADDRESS/BITS+...", "Addresses that may connect; all if unset.",
     [](AcceptorConfig& a, const Value& v) { a.allow = v.list(); }},
    {"tls_certificate", "FILE", "PEM file with the server certificate and its intermediates; enables TLS.",
     [](AcceptorConfig& a, const Value& v) { a.tls.certificate = v.text(); }},
    {"tls_key", "FILE", "PEM file with its private key.",
     [](AcceptorConfig& a, const Value& v) { a.tls.key = v.text(); }},
    {"tls_authorities", "FILE", "PEM file with the authorities of client certificates; the system's if unset.",
     [](AcceptorConfig& a, const Value& v) { a.tls.authorities = v.text(); }},
    {"tls_verify", "true|false", "Require client certificates. (default: true)",
     [](AcceptorConfig& a, const Value& v) { a.tls.verify = v.boolean(); }},
};

constexpr Key<SessionSettings> kSessionKeys[] = {
    {"version", "FIX.4.0 to FIX.5.0SP2", "Version of the application messages; 5.0 uses FIXT.1.1. (default: FIX.4.4)",
     [](SessionSettings& s, const Value& v) { s.version = v.choice<FixVersion>(kVersions); }},
    {"sender", "ID", "Our CompID.",
     [](SessionSettings& s, const Value& v) { s.sender = v.text_of_at_most(kLongestId); }},
    {"target", "ID|*", "The counterparty's CompID; * for any that no other session has.",
     [](SessionSettings& s, const Value& v) { s.target = v.text_of_at_most(kLongestId); }},
    {"acceptor", "NAME", "Acceptor of the session; the first if unset.",
     [](SessionSettings& s, const Value& v) { s.acceptor = v.text(); }},
    {"allow", "ADDRESS/BITS+...", "Addresses that may log on to this session; all that its acceptor allows if unset.",
     [](SessionSettings& s, const Value& v) { s.allow = v.list(); }},
    {"max_dynamic", "N",
     "Maximum number of sessions of target '*'; disconnected ones with a store file make room. (default: 64)",
     [](SessionSettings& s, const Value& v) { s.max_dynamic = v.integer(1, 10'000); }},
    {"hosts", "HOST:PORT+...", "Addresses to connect to, in this order.",
     [](SessionSettings& s, const Value& v) { s.hosts = v.list(); }},
    {"proxy", "socks5://HOST:PORT|http://HOST:PORT",
     "Connect through this SOCKS5 or HTTP (CONNECT) proxy, which looks up the names in `hosts`; TLS goes on inside.",
     [](SessionSettings& s, const Value& v) { s.proxy = v.text(); }},
    {"proxy_username", "TEXT", "User name for the proxy.",
     [](SessionSettings& s, const Value& v) { s.proxy_username = v.text(); }},
    {"proxy_password_file", "FILE", "File whose first line is the password for the proxy.",
     [](SessionSettings& s, const Value& v) { s.proxy_password.file = v.text(); }},
    {"proxy_password_env", "NAME", "Environment variable with the password for the proxy.",
     [](SessionSettings& s, const Value& v) { s.proxy_password.environment = v.text(); }},
    {"local_address", "ADDRESS", "Local address to connect from; the route's if unset.",
     [](SessionSettings& s, const Value& v) { s.local_address = v.host(); }},
    {"tls", "true|false", "Connect with TLS. (default: false)",
     [](SessionSettings& s, const Value& v) { s.tls_on = v.boolean(); }},
    {"tls_certificate", "FILE", "PEM file with our certificate, if the server requires one.",
     [](SessionSettings& s, const Value& v) { s.tls.certificate = v.text(); }},
    {"tls_key", "FILE", "PEM file with its private key.",
     [](SessionSettings& s, const Value& v) { s.tls.key = v.text(); }},
    {"tls_authorities", "FILE", "PEM file with the authorities of the server's certificate; the system's if unset.",
     [](SessionSettings& s, const Value& v) { s.tls.authorities = v.text(); }},
    {"tls_server_name", "NAME", "Name that the server's certificate must have; the host's if unset.",
     [](SessionSettings& s, const Value& v) { s.tls.server_name = v.text(); }},
    {"tls_verify", "true|false", "Verify the server's certificate. (default: true)",
     [](SessionSettings& s, const Value& v) { s.tls.verify = v.boolean(); }},
    {"reconnect_ms", "N", "Pause after all hosts failed; doubles each time. (default: 1000)",
     [](SessionSettings& s, const Value& v) { s.reconnect_ms = v.integer(1, 3'600'000); }},
    {"reconnect_longest_ms", "N", "Longest such pause. (default: 30000)",
     [](SessionSettings& s, const Value& v) { s.reconnect_longest_ms = v.integer(1, 3'600'000); }},
    {"connect_ms", "N", "Timeout for connecting to one host. (default: 5000)",
     [](SessionSettings& s, const Value& v) { s.connect_ms = v.integer(1, 600'000); }},
    {"thread", "N", "I/O thread, from 0; the session's place in the file modulo `threads` if unset.",
     [](SessionSettings& s, const Value& v) { s.thread = v.integer(0, 63); }},
    {"dictionary", "FILE", "Dictionary in QuickFIX's XML format; the version's in `dictionaries` if unset.",
     [](SessionSettings& s, const Value& v) { s.dictionary = v.text(); }},
    {"application_dictionary", "FILE", "The same for the application messages of FIX 5.0.",
     [](SessionSettings& s, const Value& v) { s.application_dictionary = v.text(); }},
    {"fields_have_values", "true|false", "Reject fields without a value. (default: true)",
     [](SessionSettings& s, const Value& v) { s.fields_have_values = v.boolean(); }},
    {"user_fields_are_known", "true|false",
     "Reject tags from 5000 on that the dictionary does not have. (default: true)",
     [](SessionSettings& s, const Value& v) { s.user_fields_are_known = v.boolean(); }},
    {"fields_are_in_order", "true|false", "Reject header fields in the body. (default: true)",
     [](SessionSettings& s, const Value& v) { s.fields_are_in_order = v.boolean(); }},
    {"members_are_in_order", "true|false",
     "Reject fields of a group that are not in the dictionary's order. (default: true)",
     [](SessionSettings& s, const Value& v) { s.members_are_in_order = v.boolean(); }},
    {"message_fields_are_known", "true|false",
     "Reject tags below 5000 that the dictionary does not have in the message. (default: true)",
     [](SessionSettings& s, const Value& v) { s.message_fields_are_known = v.boolean(); }},
    {"unchecked_types", "MSGTYPE+...",
     "Types of application messages whose bodies are not compared with the dictionary; * for all.",
     [](SessionSettings& s, const Value& v) { s.unchecked_types = v.list(); }},
    {"check_comp_ids", "true|false", "Reject messages behind the Logon with other CompIDs. (default: true)",
     [](SessionSettings& s, const Value& v) { s.check_comp_ids = v.boolean(); }},
    {"heartbeat_seconds", "N", "Heartbeat interval in our Logon; 0 for none. (default: 30)",
     [](SessionSettings& s, const Value& v) { s.heartbeat_seconds = v.integer(0, kDaySeconds); }},
    {"logon_seconds", "N", "Timeout for the answer to our Logon. (default: 10)",
     [](SessionSettings& s, const Value& v) { s.logon_seconds = v.integer(1, 3'600); }},
    {"logout_seconds", "N", "Timeout for the answer to our Logout. (default: 10)",
     [](SessionSettings& s, const Value& v) { s.logout_seconds = v.integer(1, 3'600); }},
    {"max_latency_seconds", "N",
     "Largest difference between SendingTime and our clock; 0 disables the check. (default: 120)",
     [](SessionSettings& s, const Value& v) { s.max_latency_seconds = v.integer(0, kDaySeconds); }},
    {"time_precision", "s|ms|us|ns", "Precision of the times that we write; ms from FIX.4.2 on and s before, if unset.",
     [](SessionSettings& s, const Value& v) { s.time_precision = v.choice<fix::TimePrecision>(kPrecisions); }},
    {"username", "TEXT", "Username in our Logon.", [](SessionSettings& s, const Value& v) { s.username = v.text(); }},
    {"password_file", "FILE", "File whose first line is the password in our Logon.",
     [](SessionSettings& s, const Value& v) { s.password_file = v.text(); }},
    {"password_env", "NAME", "Environment variable with the password in our Logon.",
     [](SessionSettings& s, const Value& v) { s.password_env = v.text(); }},
    {"logon", "TABLE",
     "Fields of our Logon, as [session.logon] with a line TAG = VALUE for each. A secret's value is { file = \"FILE\" "
     "} "
     "or { env = \"NAME\" }.",
     [](SessionSettings& s, const Value& v) { s.logon = fields_of(v, wrong_in_logon); }},
    {"header", "TABLE",
     "Header fields of every message, as [session.header]: 50, 57, 115, 116, 128, 129, 142 to 145. Those that a "
     "message "
     "brings go first.",
     [](SessionSettings& s, const Value& v) { s.header = fields_of(v, wrong_in_header); }},
    {"sign", "binance|bybit|coinbase-exchange|coinbase-prime|kraken|kraken-prime",
     "Sign our Logon as this venue documents it. The guide names the fields that the Logon must have.",
     [](SessionSettings& s, const Value& v) { s.sign = v.choice<engine::LogonScheme>(kSchemes); }},
    {"sign_key_file", "FILE",
     "File with the key to sign with: PEM for binance (Ed25519) and bybit (RSA), else the API secret in its first "
     "line.",
     [](SessionSettings& s, const Value& v) { s.sign_key.file = v.text(); }},
    {"sign_key_env", "NAME", "Environment variable with the key to sign with.",
     [](SessionSettings& s, const Value& v) { s.sign_key.environment = v.text(); }},
    {"reset_on_logon", "true|false", "Reset both sequence numbers with each Logon. (default: false)",
     [](SessionSettings& s, const Value& v) { s.reset_on_logon = v.boolean(); }},
    {"reset_on_logout", "true|false", "Reset both sequence numbers with each Logout. (default: false)",
     [](SessionSettings& s, const Value& v) { s.reset_on_logout = v.boolean(); }},
    {"reset_on_disconnect", "true|false", "Reset both sequence numbers with each lost connection. (default: false)",
     [](SessionSettings& s, const Value& v) { s.reset_on_disconnect = v.boolean(); }},
    {"reset_on_error", "true|false",
     "Reset both sequence numbers when a connection ends by a timeout, a number that is too low or a message that "
     "could "
     "not be sent. (default: false)",
     [](SessionSettings& s, const Value& v) { s.reset_on_error = v.boolean(); }},
    {"appl_ver_id_in_business_reject", "true|false",
     "Send DefaultApplVerID(1137) in BusinessMessageReject, as QuickFIX does. (default: false)",
     [](SessionSettings& s, const Value& v) { s.appl_ver_id_in_business_reject = v.boolean(); }},
    {"quickfix_replies", "true|false",
     "Send fewer fields in Reject and Logout, as QuickFIX's acceptance scripts expect. (default: false)",
     [](SessionSettings& s, const Value& v) { s.quickfix_replies = v.boolean(); }},
    {"send_last_processed", "true|false", "Send LastMsgSeqNumProcessed(369) in each header. (default: false)",
     [](SessionSettings& s, const Value& v) { s.send_last_processed = v.boolean(); }},
    {"send_next_expected", "true|false", "Send NextExpectedMsgSeqNum(789) in the Logon. (default: false)",
     [](SessionSettings& s, const Value& v) { s.send_next_expected = v.boolean(); }},
    {"resend_chunk", "N", "Maximum number of messages in one ResendRequest; 0 for all. (default: 0)",
     [](SessionSettings& s, const Value& v) { s.resend_chunk = v.integer(0, 1'000'000); }},
    {"max_message_bytes", "BYTES", "Longest message; longer ones are garbled. (default: 16KiB)",
     [](SessionSettings& s, const Value& v) { s.max_message_bytes = v.bytes(); }},
    {"held_messages", "N", "Maximum number of early messages to hold. (default: 1024)",
     [](SessionSettings& s, const Value& v) { s.held_messages = v.integer(0, 1'000'000); }},
    {"held_bytes", "BYTES", "Maximum size of these messages. (default: 256KiB)",
     [](SessionSettings& s, const Value& v) { s.held_bytes = v.bytes(); }},
    {"start", "HH:MM[:SS]", "Time of day at which the session starts; it never ends if unset.",
     [](SessionSettings& s, const Value& v) { s.start = time_of_day(v); }},
    {"end", "HH:MM[:SS]", "Time of day at which it ends; on the next day unless later than `start`.",
     [](SessionSettings& s, const Value& v) { s.end = time_of_day(v); }},
    {"days", "mon-fri|mon+wed+...", "Days on which it starts; every day if unset.",
     [](SessionSettings& s, const Value& v) { s.days = v.text(); }},
    {"start_day", "mon|...|sun", "With end_day: one session a week, from this day.",
     [](SessionSettings& s, const Value& v) { s.start_day = v.text(); }},
    {"end_day", "mon|...|sun", "Day on which it ends.",
     [](SessionSettings& s, const Value& v) { s.end_day = v.text(); }},
    {"timezone", "ZONE", "Time zone of these times, such as America/New_York. (default: UTC)",
     [](SessionSettings& s, const Value& v) { s.timezone = v.text(); }},
    {"store", "FILE",
     "File that keeps sent messages and sequence numbers across restarts, a folder for target '*'; memory if unset.",
     [](SessionSettings& s, const Value& v) { s.store = v.text(); }},
    {"store_bytes", "BYTES", "Size of the messages that can be resent. (default: 8MiB)",
     [](SessionSettings& s, const Value& v) { s.store_bytes = v.bytes(); }},
    {"store_segments", "N", "Number of files of the store. (default: 4)",
     [](SessionSettings& s, const Value& v) { s.store_segments = v.integer(1, 64); }},
    {"durability", "process|interval|message",
     "What survives a crash of the machine: what the kernel wrote, all but the last `sync_ms`, or every message. "
     "(default: process)",
     [](SessionSettings& s, const Value& v) { s.durability = v.choice<fix::Durability>(kDurabilities); }},
    {"sync_ms", "N", "Time between syncs for durability = \"interval\". (default: 1000)",
     [](SessionSettings& s, const Value& v) { s.sync_ms = v.integer(1, 3'600'000); }},
    {"pending_bytes", "BYTES", "Disconnect a counterparty that leaves more output unread. (default: 1MiB)",
     [](SessionSettings& s, const Value& v) { s.pending_bytes = v.bytes(); }},
    {"stall_seconds", "N", "Disconnect a counterparty that reads nothing of it for this many seconds. (default: 30)",
     [](SessionSettings& s, const Value& v) { s.stall_seconds = v.integer(1, kDaySeconds); }},
    {"messages_per_second", "N",
     "Most messages that the counterparty may send each second; 0 for no limit. (default: 0)",
     [](SessionSettings& s, const Value& v) { s.messages_per_second = v.integer(0, 100'000'000); }},
    {"burst", "N", "Most messages that it may send at once. (default: 1000)",
     [](SessionSettings& s, const Value& v) { s.burst = v.integer(1, 100'000'000); }},
    {"cut_off", "true|false",
     "Disconnect a counterparty that exceeds this, instead of reading more slowly. (default: false)",
     [](SessionSettings& s, const Value& v) { s.cut_off = v.boolean(); }},
};

}  // namespace
}  // namespace millpond::fixd

namespace millpond::settings {

using namespace fixd;

// clang-format off
template <> std::string_view Schema<EngineConfig>::name() { return ""; }
template <> std::string_view Schema<AcceptorConfig>::name() { return "acceptor"; }
template <> std::string_view Schema<SessionSettings>::name() { return "session"; }
template <> std::span<const Key<EngineConfig>> Schema<EngineConfig>::keys() { return kTopKeys; }
template <> std::span<const Key<AcceptorConfig>> Schema<AcceptorConfig>::keys() { return kAcceptorKeys; }
template <> std::span<const Key<SessionSettings>> Schema<SessionSettings>::keys() { return kSessionKeys; }
// clang-format on

}  // namespace millpond::settings
