#include "fixd/quickfix/quickfix_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "fixd/engine_config.hpp"
#include "fixd/quickfix/quickfix_keys.hpp"
#include "fixd/quickfix/quickfix_settings.hpp"
#include "service/settings/value.hpp"

namespace millpond::fixd {
namespace {

using quickfix::Entry;
using quickfix::Section;
using settings::ConfigError;

/// As a TOML string.
std::string toml_text(std::string_view text) {
    std::string out{'"'};
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string lower(std::string_view text) {
    std::string out{text};
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

/// The tables of one session, and of the acceptor that it needs.
class SessionImport {
public:
    SessionImport(const Section& section, std::string_view file, QuickfixImport& result)
        : section_(section), file_(file), result_(result) {}

    /// What makes it another session than others here.
    [[nodiscard]] std::string ids() const {
        std::string ids;
        for (const auto* const key : {"BeginString", "SenderCompID", "TargetCompID"}) {
            const auto* entry = section_.find(key);
            ids += (entry == nullptr ? "" : entry->value) + '\x01';
        }
        return ids;
    }
    /// The session before, of this line, has the same ids. False: they do not differ in a qualifier.
    [[nodiscard]] bool leave_out_for(std::size_t line) {
        const auto* qualifier = section_.find("SessionQualifier");
        if (qualifier == nullptr) return false;
        result_.left_out.push_back(
            {section_.line(), "[SESSION]",
             fmt::format("sessions have no qualifier, and that of line {} has the same ids: give "
                         "one of them another CompID, or run it in another engine",
                         line)});
        return true;
    }

    /// acceptors: by name, the lines of those that earlier sessions need; gets this one's.
    std::string tables(std::map<std::string, std::string>& acceptors) {
        identity();
        if (is_initiator()) {
            connect();
        } else {
            listen(acceptors);
        }
        schedule();
        store();
        dictionaries();
        time_precision();
        latency();
        static_cast<void>(take("FileLogPath"));
        for (const auto& plain : quickfix::kPlainKeys) {
            const auto* entry = section_.find(plain.quickfix);
            if (entry != nullptr && taken_.insert(entry).second) write(plain, *entry);
        }
        for (const auto* const key : {"AcceptorTemplate", "DynamicSession"}) {
            const auto* entry = section_.find(key);
            if (entry == nullptr || target_ == "*" || !yes(*entry)) continue;
            taken_.insert(entry);
            leave_out(*entry, "a session is a template where its target is *, and this one has another");
        }
        for (const auto& entry : section_.entries()) {
            if (!taken_.contains(&entry)) leave_out(entry);
        }
        return "\n[[session]]\n" + lines_ + (header_.empty() ? "" : "\n[session.header]\n" + header_);
    }

private:
    const Entry* take(std::string_view key) {
        const auto* entry = section_.find(key);
        if (entry != nullptr) taken_.insert(entry);
        return entry;
    }
    [[noreturn]] void fail(std::size_t line, std::string_view what) const {
        throw ConfigError(fmt::format("{}:{}: {}", file_, line, what));
    }
    const Entry& need(std::string_view key) {
        const auto* entry = take(key);
        if (entry == nullptr) fail(section_.line(), fmt::format("the session has no {}", key));
        return *entry;
    }
    void add(std::string_view key, std::string_view value) { lines_ += fmt::format("{} = {}\n", key, value); }
    void leave_out(const Entry& entry, std::string_view reason) {
        const auto is_there = [&](const LeftOut& one) { return one.line == entry.line && one.key == entry.key; };
        if (std::ranges::any_of(result_.left_out, is_there)) return;
        result_.left_out.push_back({entry.line, entry.key, std::string{reason}});
    }
    void leave_out(const Entry& entry) {
        for (const auto& [key, usual, reason] : quickfix::kWithoutCounterpart) {
            if (!quickfix::same_key(key, entry.key)) continue;
            if (usual.empty() || !quickfix::same_key(usual, entry.value)) leave_out(entry, reason);
            return;
        }
        leave_out(entry, "not a known QuickFIX setting; your own code may read it");
    }
    [[nodiscard]] std::uint64_t number(const Entry& entry) const {
        const auto value = quickfix::number_of(entry.value);
        if (!value) fail(entry.line, fmt::format("{} expects a number, found '{}'", entry.key, entry.value));
        return *value;
    }
    [[nodiscard]] bool yes(const Entry& entry) const {
        if (quickfix::same_key(entry.value, "Y")) return true;
        if (!quickfix::same_key(entry.value, "N")) {
            fail(entry.line, fmt::format("{} expects Y or N, found '{}'", entry.key, entry.value));
        }
        return false;
    }

    void write(const quickfix::PlainKey& plain, const Entry& entry) {
        if (!written_.insert(plain.ours).second) {
            return leave_out(entry, fmt::format("'{}' gets its value from another setting", plain.ours));
        }
        switch (plain.kind) {
            case quickfix::Kind::text: return add(plain.ours, toml_text(entry.value));
            case quickfix::Kind::number: return add(plain.ours, fmt::format("{}", number(entry)));
            case quickfix::Kind::yes_no: return add(plain.ours, yes(entry) ? "true" : "false");
            case quickfix::Kind::header:
                header_ += fmt::format("{} = {}\n", plain.ours, toml_text(entry.value));
                return;
        }
    }

    void identity() {
        const auto& begin = need("BeginString");
        std::string version = begin.value;
        if (version == "FIXT.1.1") {
            const auto* application = take("DefaultApplVerID");
            version = application == nullptr ? "FIX.5.0SP2" : application_version(application->value);
            if (!version.starts_with("FIX.5.0") && version != "FIX.Latest") {
                fail(application->line, fmt::format("DefaultApplVerID '{}': over FIXT.1.1 there are FIX.5.0, "
                                                    "FIX.5.0SP1, FIX.5.0SP2 and FIX.Latest",
                                                    version));
            }
            is_on_fixt_ = true;
        }
        version_ = version;
        add("version", toml_text(version));
        sender_ = need("SenderCompID").value;
        target_ = need("TargetCompID").value;
        add("sender", toml_text(sender_));
        add("target", toml_text(target_));
    }

    /// Of a number of ApplVerID or a name of QuickFIX; any other text stays as it is.
    static std::string application_version(std::string_view text) {
        for (const auto& [theirs, ours] : quickfix::kApplVerIds) {
            if (text == theirs) return std::string{ours};
        }
        return std::string{text};
    }

    [[nodiscard]] bool is_initiator() {
        const auto& type = need("ConnectionType");
        if (quickfix::same_key(type.value, "initiator")) return true;
        if (quickfix::same_key(type.value, "acceptor")) return false;
        fail(type.line, fmt::format("ConnectionType expects initiator or acceptor, found '{}'", type.value));
    }

    void connect() {
        std::string hosts;
        for (int n = 0;; ++n) {
            const auto suffix = n == 0 ? std::string{} : std::to_string(n);
            const auto* host = take("SocketConnectHost" + suffix);
            if (host == nullptr && n > 0) break;
            if (host == nullptr) continue;  // some files begin with 1
            const auto& port = need("SocketConnectPort" + suffix);
            const bool is_six = host->value.find(':') != std::string::npos;
            hosts += fmt::format(
                "{}{}", hosts.empty() ? "" : ", ",
                toml_text(fmt::format("{}:{}", is_six ? '[' + host->value + ']' : host->value, number(port))));
        }
        if (hosts.empty()) fail(section_.line(), "the session has no SocketConnectHost");
        add("hosts", "[" + hosts + "]");
        if (const auto* pause = take("ReconnectInterval")) {
            // QuickFIX always waits the same time; here the pause doubles up to the longest.
            const auto milliseconds = fmt::format("{}", std::max<std::uint64_t>(number(*pause), 1) * 1'000);
            add("reconnect_ms", milliseconds);
            add("reconnect_longest_ms", milliseconds);
        }
        if (const auto* proxy = take("ProxyType")) {
            const bool is_http = quickfix::same_key(proxy->value, "http");
            if (!is_http && !quickfix::same_key(proxy->value, "socks")) {
                fail(proxy->line, fmt::format("ProxyType expects http or socks, found '{}'", proxy->value));
            }
            const auto& host = need("ProxyHost").value;
            add("proxy",
                toml_text(fmt::format("{}://{}:{}", is_http ? "http" : "socks5", host, number(need("ProxyPort")))));
        }
        const auto* ssl = take("SocketUseSSL");
        bool tls = ssl != nullptr && yes(*ssl);
        tls |= tls_files("ClientCertificateFile", "ClientCertificateKeyFile", lines_);
        if (tls) add("tls", "true");
    }

    void listen(std::map<std::string, std::string>& acceptors) {
        const auto port = number(need("SocketAcceptPort"));
        const auto* address = take("SocketAcceptAddress");
        if (address == nullptr) address = take("SocketAcceptHost");
        const auto name = fmt::format("port {}", port);
        auto table =
            fmt::format("\n[[acceptor]]\nname = {}\nlisten = {}\n", toml_text(name),
                        toml_text(fmt::format("{}:{}", address == nullptr ? "0.0.0.0" : address->value, port)));
        const bool has_tls = tls_files("ServerCertificateFile", "ServerCertificateKeyFile", table);
        if (const auto* ssl = take("SocketUseSSL"); ssl != nullptr && yes(*ssl) && !has_tls) {
            leave_out(*ssl,
                      "the [[acceptor]] has no certificate, so it would listen WITHOUT TLS: set tls_certificate and "
                      "tls_key to PEM files of its key store");
        }
        if (const auto* level = take("CertificateVerifyLevel")) {
            table += fmt::format("tls_verify = {}\n", number(*level) != 0);
        }
        if (const auto* allowed = take("AllowedRemoteAddresses")) table += allow(*allowed);
        const auto [place, is_new] = acceptors.emplace(name, table);
        if (!is_new && place->second != table) {
            fail(section_.line(), fmt::format("the sessions of SocketAcceptPort {} differ in address, TLS or allowed "
                                              "addresses",
                                              port));
        }
        add("acceptor", toml_text(name));
    }
    static std::string allow(const Entry& entry) {
        std::string list;
        for (const auto& one : quickfix::split(entry.value, ',')) {
            list += fmt::format("{}{}", list.empty() ? "" : ", ", toml_text(one));
        }
        return fmt::format("allow = [{}]\n", list);
    }
    /// Whether there are any.
    bool tls_files(std::string_view certificate_key, std::string_view key_key, std::string& table) {
        const auto* certificate = take(certificate_key);
        const auto* key = take(key_key);
        const auto* authorities = take("CertificationAuthoritiesFile");
        if (certificate != nullptr) {
            // QuickFIX reads the key from the certificate file unless another is named.
            table += fmt::format("tls_certificate = {}\ntls_key = {}\n", toml_text(certificate->value),
                                 toml_text(key == nullptr ? certificate->value : key->value));
        }
        if (authorities != nullptr) table += fmt::format("tls_authorities = {}\n", toml_text(authorities->value));
        return certificate != nullptr || authorities != nullptr;
    }

    void schedule() {
        if (const auto* never_ends = take("NonStopSession"); never_ends != nullptr && yes(*never_ends)) {
            for (const auto* const key : {"StartTime", "EndTime", "StartDay", "EndDay", "Weekdays", "TimeZone"}) {
                static_cast<void>(take(key));
            }
            return;
        }
        const auto* zone = take("TimeZone");
        std::string zone_name = zone == nullptr ? "" : zone->value;
        for (const auto& [theirs, ours] : {std::pair{"StartTime", "start"}, {"EndTime", "end"}}) {
            const auto* time = take(theirs);
            if (time == nullptr) continue;
            const auto space = time->value.find(' ');  // QuickFIX/J: "08:00:00 Europe/Berlin"
            if (space != std::string::npos) {
                auto named = time->value.substr(time->value.find_first_not_of(' ', space));
                if (!zone_name.empty() && named != zone_name)
                    fail(time->line, "start and end are in different time zones");
                zone_name = std::move(named);
            }
            add(ours, toml_text(time->value.substr(0, space)));
        }
        if (!zone_name.empty()) add("timezone", toml_text(zone_name));
        for (const auto& [theirs, ours] : {std::pair{"StartDay", "start_day"}, {"EndDay", "end_day"}}) {
            if (const auto* day = take(theirs)) add(ours, toml_text(day_of(*day, day->value)));
        }
        if (const auto* days = take("Weekdays")) {
            std::string list;
            for (const auto& day : quickfix::split(days->value, ',')) {
                list += (list.empty() ? "" : "+") + day_of(*days, day);
            }
            add("days", toml_text(list));
        }
    }
    /// "Monday", "mon" or "mo" is "mon".
    [[nodiscard]] std::string day_of(const Entry& entry, std::string_view text) const {
        const auto day = lower(text);
        for (const std::string_view name : {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}) {
            if (day.size() >= 2 && day.starts_with(name.substr(0, 2))) return std::string{name};
        }
        fail(entry.line, fmt::format("{} expects a day of the week, found '{}'", entry.key, text));
    }

    void store() {
        const auto* path = take("FileStorePath");
        const auto* persists = take("PersistMessages");
        if (persists != nullptr && !yes(*persists)) {
            leave_out(*persists,
                      "the store keeps the messages too: they are resent where QuickFIX sends gap fills; "
                      "resend_max_age_seconds and resend_max_age_types withhold them");
        }
        if (path == nullptr) return;
        const auto folder = path->value.ends_with('/') ? path->value : path->value + '/';
        add("store", toml_text(target_ == "*" ? folder + sender_
                                              : fmt::format("{}{}-{}-{}.store", folder, version_, sender_, target_)));
    }

    void dictionaries() {
        const auto* used = take("UseDataDictionary");
        const bool is_used = used == nullptr || yes(*used);
        for (const auto& [theirs, ours, is_of_two] : {std::tuple{"DataDictionary", "dictionary", false},
                                                      {"TransportDataDictionary", "dictionary", true},
                                                      {"AppDataDictionary", "application_dictionary", true}}) {
            const auto* file = take(theirs);
            if (file != nullptr && is_used && is_of_two == is_on_fixt_) add(ours, toml_text(file->value));
        }
        further_versions(is_used);
    }
    /// "AppDataDictionary.FIX.4.4 = FILE", one for each version.
    void further_versions(bool is_used) {
        constexpr std::string_view kPrefix = "AppDataDictionary.";
        std::string list;
        for (const auto& entry : section_.entries()) {
            if (!quickfix::same_key(std::string_view{entry.key}.substr(0, kPrefix.size()), kPrefix)) continue;
            taken_.insert(&entry);
            if (!is_on_fixt_) continue;
            const auto version = application_version(entry.key.substr(kPrefix.size()));
            const bool is_known =
                std::ranges::any_of(quickfix::kApplVerIds, [&](const auto& one) { return one.second == version; });
            if (!is_known) fail(entry.line, fmt::format("{}: '{}' is not an application version", entry.key, version));
            if (version != version_) {
                list += list.empty() ? "" : ", ";
                list += toml_text(is_used ? version + "=" + entry.value : version);
            } else if (is_used && section_.find("AppDataDictionary") == nullptr) {
                add("application_dictionary", toml_text(entry.value));
            }
        }
        if (!list.empty()) add("further_versions", "[" + list + "]");
    }

    void time_precision() {
        const auto* precision = take("TimestampPrecision");
        if (precision == nullptr) precision = take("TimeStampPrecision");
        if (precision != nullptr) {
            for (const auto& [theirs, ours] : quickfix::kPrecisions) {
                if (quickfix::same_key(theirs, precision->value)) return add("time_precision", toml_text(ours));
            }
            fail(precision->line, fmt::format("{} expects 0, 3, 6 or 9, found '{}'", precision->key, precision->value));
        }
        if (const auto* millis = take("MillisecondsInTimeStamp"); millis != nullptr && !yes(*millis)) {
            add("time_precision", toml_text("s"));
        }
    }

    void latency() {
        if (const auto* checks = take("CheckLatency"); checks != nullptr && !yes(*checks)) {
            static_cast<void>(take("MaxLatency"));
            add("max_latency_seconds", "0");
        }
    }

    const Section& section_;
    std::string_view file_;
    QuickfixImport& result_;
    std::set<const Entry*> taken_;
    std::set<std::string_view> written_;  // keys of kPlainKeys
    std::string version_;
    bool is_on_fixt_{false};
    std::string sender_;
    std::string target_;
    std::string lines_;
    std::string header_;
};

}  // namespace

QuickfixImport import_quickfix(std::string_view text, std::string_view name) {
    const auto sections = quickfix::read_settings(text, name);
    if (sections.empty()) throw ConfigError(fmt::format("{}: there is no [SESSION]", name));
    QuickfixImport result;
    std::map<std::string, std::string> acceptors;
    std::map<std::string, std::size_t> lines;  // of sessions, by their ids
    std::string sessions;
    std::string raw_log;
    for (const auto& section : sections) {
        const auto* log = section.find("FileLogPath");
        if (log != nullptr && raw_log.empty())
            raw_log = log->value + (log->value.ends_with('/') ? "" : "/") + "raw.log";
        SessionImport session{section, name, result};
        const auto [known, is_new] = lines.emplace(session.ids(), section.line());
        if (is_new || !session.leave_out_for(known->second)) sessions += session.tables(acceptors);
    }
    result.toml = fmt::format("# Written from {} by `millpond fix import`.\n", name);
    if (!raw_log.empty()) result.toml += fmt::format("raw_log = {}  # of all sessions\n", toml_text(raw_log));
    for (const auto& [key, table] : acceptors) result.toml += table;
    result.toml += sessions;
    std::ranges::stable_sort(result.left_out, {}, &LeftOut::line);
    if (!result.left_out.empty()) result.toml += "\n# Left out:\n";
    for (const auto& [line, key, reason] : result.left_out) {
        result.toml += fmt::format("# line {}: {}: {}\n", line, key, reason);
    }
    EngineConfig check;
    const auto becomes = fmt::format("what {} becomes", name);
    read_engine_toml(result.toml, becomes, check);
    try {
        complete(check);
    } catch (const settings::ConfigError& error) {
        throw settings::ConfigError(fmt::format("{}: {}", becomes, error.what()));
    }
    return result;
}

}  // namespace millpond::fixd
