#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

constexpr Key<EngineConfig> kTopKeys[] = {
    {"log_level", "debug|info|warning|error", "least severe message that is logged (info)",
     [](EngineConfig& c, const Value& v) { c.log_level = v.choice<service::Severity>(kSeverities); }},
    {"log_format", "text|json", "one line of text or one JSON object a message (text)",
     [](EngineConfig& c, const Value& v) { c.log_format = v.choice<service::LogFormat>(kLogFormats); }},
    {"quiet", "", "log of logons, logouts and closed connections only what is wrong",
     [](EngineConfig& c, const Value& v) { c.quiet = v.boolean(); }},
    {"metrics", "ADDRESS:PORT", "where /metrics is served (nowhere)",
     [](EngineConfig& c, const Value& v) { c.metrics = v.endpoint(); }},
    {"admin", "SOCKET", "UNIX socket that `millpond fix sessions` asks (none)",
     [](EngineConfig& c, const Value& v) { c.admin = v.text_of_at_most(100); }},
    {"raw_log", "FILE", "every byte of both directions, for `millpond fix print` (none)",
     [](EngineConfig& c, const Value& v) { c.raw_log = v.text(); }},
    {"raw_log_ring", "BYTES", "what may wait for the raw log's disk before it is lost, a power of two (4MiB)",
     [](EngineConfig& c, const Value& v) { c.raw_log_ring = v.bytes(); }},
    {"raw_log_rotate", "BYTES", "a raw log of so many bytes is renamed (1GiB)",
     [](EngineConfig& c, const Value& v) { c.raw_log_rotate = v.bytes(); }},
    {"mask_tags", "TAG+...",
     "hidden in the raw log and in what is printed, besides 554, 925, 1402, 1404 and a Logon's 96 (none)",
     [](EngineConfig& c, const Value& v) { c.mask_tags = tags_of(v); }},
    {"file_mode", "0600|0640|0644|0660|0664", "permissions of stores and raw logs, whatever the umask (0640)",
     [](EngineConfig& c, const Value& v) { c.file_mode = v.choice<std::uint32_t>(settings::kFileModes); }},
    {"dictionaries", "FOLDER", "with FIX40.xml to FIX50SP2.xml and FIXT11.xml (application messages pass unchecked)",
     [](EngineConfig& c, const Value& v) { c.dictionaries = v.text(); }},
    {"threads", "N", "I/O threads (1)", [](EngineConfig& c, const Value& v) { c.threads = v.integer(1, 64); }},
    {"poll", "spin|block|adaptive", "how they wait: never sleep, always, or after a while (block)",
     [](EngineConfig& c, const Value& v) { c.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "CPU of the first; the others take the next ones (any)",
     [](EngineConfig& c, const Value& v) { c.pin = static_cast<std::uint32_t>(v.integer(0, kHighestCpu)); }},
    {"realtime", "PRIORITY", "their SCHED_FIFO priority, 0 for none (0)",
     [](EngineConfig& c, const Value& v) { c.realtime = static_cast<std::uint32_t>(v.integer(0, 99)); }},
};

constexpr Key<AcceptorConfig> kAcceptorKeys[] = {
    {"name", "NAME", "sessions choose their acceptor by it (acceptor)",
     [](AcceptorConfig& a, const Value& v) { a.name = v.text_of_at_most(kLongestId); }},
    {"listen", "ADDRESS:PORT", "where counterparties connect (127.0.0.1:5001)",
     [](AcceptorConfig& a, const Value& v) { a.listen = v.endpoint(); }},
    {"max_connections", "N", "further ones are closed (256)",
     [](AcceptorConfig& a, const Value& v) { a.max_connections = v.integer(1, 100'000); }},
    {"max_before_logon", "N", "connections without a Logon yet; beyond it the oldest is closed (64)",
     [](AcceptorConfig& a, const Value& v) { a.max_before_logon = v.integer(1, 100'000); }},
    {"max_before_logon_per_address", "N", "the same of one address (16)",
     [](AcceptorConfig& a, const Value& v) { a.max_before_logon_per_address = v.integer(1, 100'000); }},
    {"first_message_seconds", "N", "how long a Logon may take (10)",
     [](AcceptorConfig& a, const Value& v) { a.first_message_seconds = v.integer(1, 3'600); }},
    {"allow", "ADDRESS/BITS+...", "who may connect (anybody)",
     [](AcceptorConfig& a, const Value& v) { a.allow = v.list(); }},
    {"tls_certificate", "FILE", "PEM, our certificate and its chain: TLS is on",
     [](AcceptorConfig& a, const Value& v) { a.tls.certificate = v.text(); }},
    {"tls_key", "FILE", "PEM, its key", [](AcceptorConfig& a, const Value& v) { a.tls.key = v.text(); }},
    {"tls_authorities", "FILE", "PEM, who may sign the clients' certificates (the system's)",
     [](AcceptorConfig& a, const Value& v) { a.tls.authorities = v.text(); }},
    {"tls_verify", "true|false", "whether clients must have certificates (true)",
     [](AcceptorConfig& a, const Value& v) { a.tls.verify = v.boolean(); }},
};

constexpr Key<SessionSettings> kSessionKeys[] = {
    {"version", "FIX.4.0 to FIX.5.0SP2", "of the application layer; 5.0 travels on FIXT.1.1 (FIX.4.4)",
     [](SessionSettings& s, const Value& v) { s.version = v.choice<FixVersion>(kVersions); }},
    {"sender", "ID", "our CompID",
     [](SessionSettings& s, const Value& v) { s.sender = v.text_of_at_most(kLongestId); }},
    {"target", "ID|*", "the counterparty's CompID; * is any that no other session has",
     [](SessionSettings& s, const Value& v) { s.target = v.text_of_at_most(kLongestId); }},
    {"acceptor", "NAME", "where it comes in (the first)",
     [](SessionSettings& s, const Value& v) { s.acceptor = v.text(); }},
    {"max_dynamic", "N", "sessions that '*' may make; disconnected ones with a store file make room (64)",
     [](SessionSettings& s, const Value& v) { s.max_dynamic = v.integer(1, 10'000); }},
    {"hosts", "HOST:PORT+...", "where it connects to, in this order",
     [](SessionSettings& s, const Value& v) { s.hosts = v.list(); }},
    {"tls", "true|false", "whether it connects by TLS (false)",
     [](SessionSettings& s, const Value& v) { s.tls_on = v.boolean(); }},
    {"tls_certificate", "FILE", "PEM, our certificate where the server asks for one",
     [](SessionSettings& s, const Value& v) { s.tls.certificate = v.text(); }},
    {"tls_key", "FILE", "PEM, its key", [](SessionSettings& s, const Value& v) { s.tls.key = v.text(); }},
    {"tls_authorities", "FILE", "PEM, who may sign the server's certificate (the system's)",
     [](SessionSettings& s, const Value& v) { s.tls.authorities = v.text(); }},
    {"tls_server_name", "NAME", "compared with the certificate (the host's)",
     [](SessionSettings& s, const Value& v) { s.tls.server_name = v.text(); }},
    {"tls_verify", "true|false", "whether the server's certificate is checked (true)",
     [](SessionSettings& s, const Value& v) { s.tls.verify = v.boolean(); }},
    {"reconnect_ms", "N", "wait after all hosts failed; doubles (1000)",
     [](SessionSettings& s, const Value& v) { s.reconnect_ms = v.integer(1, 3'600'000); }},
    {"reconnect_longest_ms", "N", "up to this (30000)",
     [](SessionSettings& s, const Value& v) { s.reconnect_longest_ms = v.integer(1, 3'600'000); }},
    {"connect_ms", "N", "how long a host may take (5000)",
     [](SessionSettings& s, const Value& v) { s.connect_ms = v.integer(1, 600'000); }},
    {"thread", "N", "I/O thread, from 0 on (its place in the file modulo `threads`)",
     [](SessionSettings& s, const Value& v) { s.thread = v.integer(0, 63); }},
    {"dictionary", "FILE", "in QuickFIX's XML format (that of `dictionaries`)",
     [](SessionSettings& s, const Value& v) { s.dictionary = v.text(); }},
    {"application_dictionary", "FILE", "likewise, of the application messages of FIX 5.0",
     [](SessionSettings& s, const Value& v) { s.application_dictionary = v.text(); }},
    {"fields_have_values", "true|false", "reject fields without a value (true)",
     [](SessionSettings& s, const Value& v) { s.fields_have_values = v.boolean(); }},
    {"user_fields_are_known", "true|false", "reject tags from 5000 on that the dictionary does not have (true)",
     [](SessionSettings& s, const Value& v) { s.user_fields_are_known = v.boolean(); }},
    {"fields_are_in_order", "true|false", "reject header fields in the body (true)",
     [](SessionSettings& s, const Value& v) { s.fields_are_in_order = v.boolean(); }},
    {"members_are_in_order", "true|false", "reject fields of a group that are not in the dictionary's order (true)",
     [](SessionSettings& s, const Value& v) { s.members_are_in_order = v.boolean(); }},
    {"heartbeat_seconds", "N", "asked for in our Logon; 0 none (30)",
     [](SessionSettings& s, const Value& v) { s.heartbeat_seconds = v.integer(0, kDaySeconds); }},
    {"logon_seconds", "N", "how long the Logon's answer may take (10)",
     [](SessionSettings& s, const Value& v) { s.logon_seconds = v.integer(1, 3'600); }},
    {"logout_seconds", "N", "how long the Logout's answer may take (10)",
     [](SessionSettings& s, const Value& v) { s.logout_seconds = v.integer(1, 3'600); }},
    {"max_latency_seconds", "N", "how far SendingTime may lie from our time; 0 not compared (120)",
     [](SessionSettings& s, const Value& v) { s.max_latency_seconds = v.integer(0, kDaySeconds); }},
    {"time_precision", "s|ms|us|ns", "of the times we write (ms from FIX.4.2 on, s before)",
     [](SessionSettings& s, const Value& v) { s.time_precision = v.choice<fix::TimePrecision>(kPrecisions); }},
    {"username", "TEXT", "in our Logon", [](SessionSettings& s, const Value& v) { s.username = v.text(); }},
    {"password_file", "FILE", "whose first line is the password in our Logon",
     [](SessionSettings& s, const Value& v) { s.password_file = v.text(); }},
    {"password_env", "NAME", "variable of the environment that holds it",
     [](SessionSettings& s, const Value& v) { s.password_env = v.text(); }},
    {"reset_on_logon", "true|false", "reset both sequence numbers with each Logon (false)",
     [](SessionSettings& s, const Value& v) { s.reset_on_logon = v.boolean(); }},
    {"reset_on_logout", "true|false", "... with each Logout (false)",
     [](SessionSettings& s, const Value& v) { s.reset_on_logout = v.boolean(); }},
    {"reset_on_disconnect", "true|false", "... with each lost connection (false)",
     [](SessionSettings& s, const Value& v) { s.reset_on_disconnect = v.boolean(); }},
    {"appl_ver_id_in_business_reject", "true|false",
     "DefaultApplVerID(1137) in BusinessMessageReject, as QuickFIX sends it (false)",
     [](SessionSettings& s, const Value& v) { s.appl_ver_id_in_business_reject = v.boolean(); }},
    {"quickfix_replies", "true|false",
     "fewer fields in Reject and Logout, as QuickFIX's acceptance scripts expect (false)",
     [](SessionSettings& s, const Value& v) { s.quickfix_replies = v.boolean(); }},
    {"send_last_processed", "true|false", "LastMsgSeqNumProcessed(369) in each header (false)",
     [](SessionSettings& s, const Value& v) { s.send_last_processed = v.boolean(); }},
    {"send_next_expected", "true|false", "NextExpectedMsgSeqNum(789) in the Logon (false)",
     [](SessionSettings& s, const Value& v) { s.send_next_expected = v.boolean(); }},
    {"resend_chunk", "N", "messages that one ResendRequest asks for; 0 all (0)",
     [](SessionSettings& s, const Value& v) { s.resend_chunk = v.integer(0, 1'000'000); }},
    {"max_message_bytes", "BYTES", "longer ones are garbled (16KiB)",
     [](SessionSettings& s, const Value& v) { s.max_message_bytes = v.bytes(); }},
    {"held_messages", "N", "messages kept that came early (1024)",
     [](SessionSettings& s, const Value& v) { s.held_messages = v.integer(0, 1'000'000); }},
    {"held_bytes", "BYTES", "of these (256KiB)", [](SessionSettings& s, const Value& v) { s.held_bytes = v.bytes(); }},
    {"start", "HH:MM[:SS]", "when the session begins (it never stops)",
     [](SessionSettings& s, const Value& v) { s.start = time_of_day(v); }},
    {"end", "HH:MM[:SS]", "when it ends; over midnight where not later than `start`",
     [](SessionSettings& s, const Value& v) { s.end = time_of_day(v); }},
    {"days", "mon-fri|mon+wed+...", "on which it begins (each)",
     [](SessionSettings& s, const Value& v) { s.days = v.text(); }},
    {"start_day", "mon|...|sun", "with end_day: one session a week",
     [](SessionSettings& s, const Value& v) { s.start_day = v.text(); }},
    {"end_day", "mon|...|sun", "the day on which it ends",
     [](SessionSettings& s, const Value& v) { s.end_day = v.text(); }},
    {"timezone", "ZONE", "of these times, like America/New_York (UTC)",
     [](SessionSettings& s, const Value& v) { s.timezone = v.text(); }},
    {"store", "FILE", "keeps what was sent, and the numbers, over restarts; a folder where target is * (memory)",
     [](SessionSettings& s, const Value& v) { s.store = v.text(); }},
    {"store_bytes", "BYTES", "of messages that can be resent (8MiB)",
     [](SessionSettings& s, const Value& v) { s.store_bytes = v.bytes(); }},
    {"store_segments", "N", "files that these are spread over (4)",
     [](SessionSettings& s, const Value& v) { s.store_segments = v.integer(1, 64); }},
    {"durability", "process|interval|message",
     "what outlives the machine's death: what the kernel wrote, all but the last "
     "`sync_ms`, every message (process)",
     [](SessionSettings& s, const Value& v) { s.durability = v.choice<fix::Durability>(kDurabilities); }},
    {"sync_ms", "N", "how often durability 'interval' waits for the disk (1000)",
     [](SessionSettings& s, const Value& v) { s.sync_ms = v.integer(1, 3'600'000); }},
    {"pending_bytes", "BYTES", "output that the counterparty may leave unread before it is cut off (1MiB)",
     [](SessionSettings& s, const Value& v) { s.pending_bytes = v.bytes(); }},
    {"stall_seconds", "N", "how long it may read nothing of it (30)",
     [](SessionSettings& s, const Value& v) { s.stall_seconds = v.integer(1, kDaySeconds); }},
    {"messages_per_second", "N", "that it may send; 0 any number (0)",
     [](SessionSettings& s, const Value& v) { s.messages_per_second = v.integer(0, 100'000'000); }},
    {"burst", "N", "that it may send at once (1000)",
     [](SessionSettings& s, const Value& v) { s.burst = v.integer(1, 100'000'000); }},
    {"cut_off", "true|false", "close the connection of one that sends more, instead of reading it more slowly (false)",
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
