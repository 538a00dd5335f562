#include "fixd/quickfix/session_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "fixd/quickfix/quickfix_keys.hpp"
#include "fixd/quickfix/quickfix_schedule.hpp"
#include "fixd/quickfix/section_reader.hpp"
#include "fixd/settings/store_place.hpp"

namespace millpond::fixd::quickfix {
namespace {

class SessionImport {
public:
    SessionImport(const Section& section, std::string_view file, std::vector<LeftOut>& left_out)
        : section_(section), reader_(section, file, left_out) {}

    TomlLines tables(std::vector<Acceptor>& acceptors) {
        repeated();
        identity();
        const bool connects = is_initiator();
        if (connects) {
            connect();
        } else {
            listen(acceptors);
        }
        skip_other_side(connects);
        lines_.append(schedule_of(reader_));
        store();
        dictionaries();
        checks();
        time_precision();
        latency();
        static_cast<void>(reader_.consume("FileLogPath"));
        for (const auto& plain : kPlainKeys) {
            const auto* entry = section_.find(plain.quickfix);
            if (entry != nullptr && !reader_.is_consumed(*entry)) write(plain, *reader_.consume(plain.quickfix));
        }
        for (const auto* const key : {"AcceptorTemplate", "DynamicSession"}) {
            const auto* entry = section_.find(key);
            if (entry == nullptr || ids_.target_comp_id == "*" || !reader_.yes(*entry)) continue;
            reader_.skip(key);
            reader_.leave_out(*entry, "a session is a template where its target is *, and this one has another");
        }
        for (const auto& entry : section_.entries()) {
            if (!reader_.is_consumed(entry)) leave_out(entry);
        }
        TomlLines all;
        all.add_text(section_.line(), "\n[[session]]\n");
        all.append(lines_);
        return all;
    }

private:
    void add(const Entry& source, std::string_view key, std::string_view value) { lines_.add(source.line, key, value); }
    void leave_out(const Entry& entry) {
        if (is_numbered(entry.key, "LogonTag")) return reader_.leave_out(entry, "use [session.logon]");
        for (const auto& [key, usual, reason] : kWithoutCounterpart) {
            if (!same_key(key, entry.key)) continue;
            if (usual.empty() || !same_key(usual, entry.value)) reader_.leave_out(entry, reason);
            return;
        }
        for (const auto& [prefix, reason] : kFamilies) {
            if (same_key(std::string_view{entry.key}.substr(0, prefix.size()), prefix)) {
                return reader_.leave_out(entry, reason);
            }
        }
        reader_.leave_out(entry, "not a known QuickFIX setting; your own code may read it");
    }
    /// Ignores settings of the other role, which [DEFAULT] may have for sessions of both kinds.
    void skip_other_side(bool connects) {
        using Keys = std::span<const std::string_view>;
        for (const auto key : connects ? Keys{kOfAcceptors} : Keys{kOfInitiators}) {
            reader_.skip(key);
        }
        for (const auto& entry : section_.entries()) {
            if (is_further_host(entry) && !connects) reader_.skip(entry.key);
        }
    }
    void repeated() {
        for (const auto& entry : section_.repeated()) {
            reader_.leave_out(entry, "the same section has the key again, and its last value counts");
        }
    }

    void write(const PlainKey& plain, const Entry& entry) {
        if (!written_.insert(plain.ours).second) {
            return reader_.leave_out(entry, fmt::format("'{}' gets its value from another setting", plain.ours));
        }
        switch (plain.kind) {
            case Kind::text: return add(entry, plain.ours, toml_text(entry.value));
            case Kind::address: return add(entry, plain.ours, toml_text(reader_.address(entry)));
            case Kind::number:
                return add(entry, plain.ours, fmt::format("{}", reader_.nearest(entry, plain.min, plain.max)));
            case Kind::yes_no: return add(entry, plain.ours, reader_.yes(entry) ? "true" : "false");
            case Kind::no_yes: return add(entry, plain.ours, reader_.yes(entry) ? "false" : "true");
        }
    }

    void identity() {
        const auto& begin = reader_.need("BeginString");
        std::string version = begin.value;
        if (version == "FIXT.1.1") {
            const auto* application = reader_.consume("DefaultApplVerID");
            version = application == nullptr ? "FIX.5.0SP2" : application_version(application->value);
            if (!version.starts_with("FIX.5.0") && version != "FIX.Latest") {
                reader_.fail(application->line, fmt::format("DefaultApplVerID '{}': over FIXT.1.1 there are FIX.5.0, "
                                                            "FIX.5.0SP1, FIX.5.0SP2 and FIX.Latest",
                                                            version));
            }
            is_on_fixt_ = true;
        } else {
            reader_.skip("DefaultApplVerID");  // which only FIXT.1.1 has
        }
        version_ = version;
        add(begin, "version", toml_text(version));
        const auto& sender = reader_.need("SenderCompID");
        const auto& target = reader_.need("TargetCompID");
        ids_.sender_comp_id = sender.value;
        ids_.target_comp_id = target.value;
        add(sender, "sender", toml_text(ids_.sender_comp_id));
        add(target, "target", toml_text(ids_.target_comp_id));
        add_id("SenderSubID", "sender_sub_id", ids_.sender_sub_id);
        add_id("SenderLocationID", "sender_location_id", ids_.sender_location_id);
        add_id("TargetSubID", "target_sub_id", ids_.target_sub_id);
        add_id("TargetLocationID", "target_location_id", ids_.target_location_id);
    }
    void add_id(std::string_view theirs, std::string_view ours, std::string& id) {
        const auto* entry = reader_.consume(theirs);
        if (entry == nullptr) return;
        id = entry->value;
        add(*entry, ours, toml_text(id));
    }

    /// The name of an application version from ApplVerID's number or QuickFIX's name; other text is returned unchanged.
    static std::string application_version(std::string_view text) {
        for (const auto& [theirs, ours] : kApplVerIds) {
            if (text == theirs) return std::string{ours};
        }
        return std::string{text};
    }

    [[nodiscard]] bool is_initiator() {
        const auto& type = reader_.need("ConnectionType");
        if (same_key(type.value, "initiator")) return true;
        if (same_key(type.value, "acceptor")) return false;
        reader_.fail(type.line, fmt::format("ConnectionType expects initiator or acceptor, found '{}'", type.value));
    }

    void connect() {
        add_id("SessionQualifier", "qualifier", ids_.qualifier);
        hosts();
        if (const auto* pause = reader_.consume("ReconnectInterval")) reconnect(*pause);
        if (const auto* proxy = reader_.consume("ProxyType")) {
            const bool is_http = same_key(proxy->value, "http");
            if (!is_http && !same_key(proxy->value, "socks")) {
                reader_.fail(proxy->line, fmt::format("ProxyType expects http or socks, found '{}'", proxy->value));
            }
            const auto& host = reader_.need("ProxyHost").value;
            add(*proxy, "proxy",
                toml_text(fmt::format("{}://{}", is_http ? "http" : "socks5",
                                      host_and_port(host, reader_.port(reader_.need("ProxyPort"))))));
        } else {
            for (const auto* const key : {"ProxyHost", "ProxyPort", "ProxyUser", "ProxyPassword"}) reader_.skip(key);
        }
        const auto* asks = asks_for_tls("ClientCertificateFile", "ClientCertificateKeyFile");
        const auto* certificate = tls_certificate("ClientCertificateFile", "ClientCertificateKeyFile", lines_);
        tls_authorities(lines_);
        if (asks != nullptr) add(*asks, "tls", "true");
        if (certificate != nullptr && !has_authorities()) {
            reader_.leave_out(*certificate,
                              "QuickFIX verifies the server's certificate only with CertificationAuthoritiesFile. Here "
                              "the authorities of the system verify it: set tls_authorities, or tls_verify = false");
        }
    }
    void hosts() {
        std::string hosts;
        const Entry* first = nullptr;
        for (int n = 0;; ++n) {
            const auto suffix = n == 0 ? std::string{} : std::to_string(n);
            const auto* host = reader_.consume("SocketConnectHost" + suffix);
            if (host == nullptr && n > 0) break;
            if (host == nullptr) continue;  // some files start at 1
            const auto port = reader_.port(reader_.need("SocketConnectPort" + suffix));
            hosts += fmt::format("{}{}", hosts.empty() ? "" : ", ", toml_text(host_and_port(host->value, port)));
            if (first == nullptr) first = host;
        }
        if (first == nullptr) reader_.fail(section_.line(), "the session has no SocketConnectHost");
        add(*first, "hosts", "[" + hosts + "]");
        for (const auto& entry : section_.entries()) {
            if (!is_further_host(entry) || reader_.is_consumed(entry)) continue;
            reader_.skip(entry.key);
            reader_.leave_out(entry, "QuickFIX uses such hosts up to the first number that is missing");
        }
    }
    static bool is_further_host(const Entry& entry) {
        return is_numbered(entry.key, "SocketConnectHost") || is_numbered(entry.key, "SocketConnectPort");
    }
    /// "30", or "3x10;60" with QuickFIX/J: 10 seconds three times, then always 60.
    void reconnect(const Entry& pause) {
        std::vector<Entry> pauses;
        for (const auto& part : split(pause.value, ';')) {
            const auto times = part.find_first_of("x*");
            pauses.push_back({pause.line, pause.key, times == std::string::npos ? part : part.substr(times + 1)});
        }
        constexpr std::uint64_t kMaxSeconds = 3'600;
        const auto milliseconds = [&](const Entry& one) { return reader_.nearest(one, 1, kMaxSeconds) * 1'000; };
        // QuickFIX waits for these times; here the pause doubles up to the longest.
        const auto first = milliseconds(pauses.front());
        const auto last = std::max(first, milliseconds(pauses.back()));
        add(pause, "reconnect_ms", fmt::format("{}", first));
        add(pause, "reconnect_longest_ms", fmt::format("{}", last));
        if (pauses.size() > 1) reader_.leave_out(pause, "the pause doubles from its first to its last value");
    }

    void listen(std::vector<Acceptor>& acceptors) {
        const auto& port_entry = reader_.need("SocketAcceptPort");
        const auto port = reader_.port(port_entry);
        const auto* address = reader_.consume("SocketAcceptAddress");
        if (address == nullptr) address = reader_.consume("SocketAcceptHost");
        Acceptor own{.line = port_entry.line,
                     .listen = host_and_port(address == nullptr ? "0.0.0.0" : reader_.address(*address), port),
                     .name = fmt::format("port {}", port)};
        const bool has_tls = tls_certificate("ServerCertificateFile", "ServerCertificateKeyFile", own.tls) != nullptr;
        tls_authorities(own.tls);
        const auto* asks = asks_for_tls("ServerCertificateFile", "ServerCertificateKeyFile");
        if (asks == nullptr) asks = section_.find("CertificateVerifyLevel");
        if (asks != nullptr && !has_tls) {
            reader_.fail(asks->line,
                         fmt::format("{}: the acceptor would listen without TLS: set ServerCertificateFile and "
                                     "ServerCertificateKeyFile to PEM files of its key store (keytool, openssl pkcs12)",
                                     asks->key));
        }
        const auto* level = reader_.consume("CertificateVerifyLevel");
        if (has_tls) {
            own.tls.add(level == nullptr ? section_.line() : level->line, "tls_verify",
                        requires_certificates(level) ? "true" : "false");
        }
        const auto same = std::ranges::find(acceptors, own.listen, &Acceptor::listen);
        if (same == acceptors.end()) {
            // Named by the port, or by the address if several have this port.
            if (std::ranges::find(acceptors, own.name, &Acceptor::name) != acceptors.end()) own.name = own.listen;
            acceptors.push_back(own);
        } else if (same->tls.text() != own.tls.text()) {
            reader_.fail(section_.line(), fmt::format("the sessions of SocketAcceptPort {} differ in TLS", port));
        } else {
            own.name = same->name;
        }
        add(port_entry, "acceptor", toml_text(own.name));
        if (const auto* allowed = reader_.consume("AllowedRemoteAddresses")) allow(*allowed);
    }
    void allow(const Entry& entry) {
        if (entry.value.empty()) return;
        std::string list;
        for (const auto& part : split(entry.value, ',')) {
            const auto one = reader_.address({entry.line, entry.key, part});
            list += fmt::format("{}{}", list.empty() ? "" : ", ", toml_text(one));
        }
        add(entry, "allow", "[" + list + "]");
    }
    /// QuickFIX: 0 does not ask for certificates, 1 requires them, 2 verifies those that clients show; without
    /// authorities it does not ask for them.
    [[nodiscard]] bool requires_certificates(const Entry* level) {
        if (level == nullptr) return false;
        const auto value = reader_.number(*level);
        if (value == 1 && has_authorities()) return true;
        if (value == 1) {
            reader_.leave_out(*level,
                              "QuickFIX asks for client certificates only with CertificationAuthoritiesFile: "
                              "to require them, set tls_authorities and tls_verify = true");
        } else if (value == 2) {
            reader_.leave_out(*level,
                              "certificates are required or not asked for: tls_verify = false lets clients "
                              "without one connect, as QuickFIX does, and true refuses them");
        } else if (value != 0) {
            reader_.leave_out(*level, "QuickFIX asks for no client certificates with this value");
        }
        return false;
    }
    [[nodiscard]] bool has_authorities() const {
        return section_.find("CertificationAuthoritiesFile") != nullptr ||
               section_.find("CertificationAuthoritiesDirectory") != nullptr;
    }
    /// The engine refuses a key that any user may read or write. The import may run where the file is not.
    void check_private(const Entry& key) {
        using std::filesystem::perms;
        std::error_code absent;
        const auto granted = std::filesystem::status(key.value, absent).permissions();
        if (absent || (granted & (perms::others_read | perms::others_write)) == perms::none) return;
        reader_.leave_out(
            key,
            fmt::format("the engine refuses a key that any user may read or write; run: chmod o-rw '{}'", key.value));
    }
    /// Adds certificate and key. Returns the entry of the certificate, or null.
    const Entry* tls_certificate(std::string_view certificate_key, std::string_view key_key, TomlLines& table) {
        const auto* certificate = reader_.consume(certificate_key);
        const auto* key = reader_.consume(key_key);
        if (certificate != nullptr) {
            // QuickFIX reads the key from the certificate file unless another is named.
            if (key == nullptr) key = certificate;
            table.add(certificate->line, "tls_certificate", toml_text(certificate->value));
            table.add(key->line, "tls_key", toml_text(key->value));
            check_private(*key);
        }
        return certificate;
    }
    void tls_authorities(TomlLines& table) {
        const auto* authorities = reader_.consume("CertificationAuthoritiesFile");
        if (authorities != nullptr) table.add(authorities->line, "tls_authorities", toml_text(authorities->value));
    }
    /// The setting that turns TLS on; null if there is none.
    const Entry* asks_for_tls(std::string_view certificate_key, std::string_view key_key) {
        const Entry* asks = nullptr;
        for (const auto* const key : {"SocketUseSSL", "SSLEnable"}) {
            const auto* entry = reader_.consume(key);
            if (entry != nullptr && reader_.yes(*entry) && asks == nullptr) asks = entry;
        }
        for (const auto key : {certificate_key, key_key}) {
            if (asks == nullptr) asks = section_.find(key);
        }
        for (const auto key : kOfTls) {
            if (asks == nullptr) asks = section_.find(key);
        }
        return asks;
    }

    void store() {
        const auto* path = reader_.consume("FileStorePath");
        const auto* persists = reader_.consume("PersistMessages");
        if (persists != nullptr && !reader_.yes(*persists)) {
            reader_.leave_out(*persists,
                              "the store keeps the messages too: they are resent where QuickFIX sends gap fills; "
                              "resend_max_age_seconds withholds orders and quotes that are older");
        }
        if (path == nullptr) return;
        std::string_view folder = path->value;
        if (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
        add(*path, "store", toml_text(store_place(folder, version_, ids_)));
    }

    void dictionaries() {
        const auto* used = reader_.consume("UseDataDictionary");
        const bool is_used = used == nullptr || reader_.yes(*used);
        for (const auto& [theirs, ours, is_of_two] : {std::tuple{"DataDictionary", "dictionary", false},
                                                      {"TransportDataDictionary", "dictionary", true},
                                                      {"AppDataDictionary", "application_dictionary", true}}) {
            if (!is_used || is_of_two != is_on_fixt_) {
                reader_.skip(theirs);
            } else if (const auto* file = reader_.consume(theirs)) {
                add(*file, ours, toml_text(file->value));
            }
        }
        further_versions(is_used);
    }
    /// "AppDataDictionary.FIX.4.4 = FILE", one for each version.
    void further_versions(bool is_used) {
        constexpr std::string_view kPrefix = "AppDataDictionary.";
        std::string list;
        const Entry* last = nullptr;
        for (const auto& entry : section_.entries()) {
            if (!same_key(std::string_view{entry.key}.substr(0, kPrefix.size()), kPrefix)) continue;
            if (!is_on_fixt_) {
                reader_.skip(entry.key);
                continue;
            }
            static_cast<void>(reader_.consume(entry.key));
            const auto version = application_version(entry.key.substr(kPrefix.size()));
            const bool is_known =
                std::ranges::any_of(kApplVerIds, [&](const auto& one) { return one.second == version; });
            if (!is_known) {
                reader_.fail(entry.line, fmt::format("{}: '{}' is not an application version", entry.key, version));
            }
            if (version != version_) {
                list += list.empty() ? "" : ", ";
                list += toml_text(is_used ? version + "=" + entry.value : version);
                last = &entry;
            } else if (is_used && section_.find("AppDataDictionary") == nullptr) {
                add(entry, "application_dictionary", toml_text(entry.value));
            }
        }
        if (last != nullptr) add(*last, "further_versions", "[" + list + "]");
    }

    /// Leaves messages unchecked that QuickFIX/J would not reject.
    void checks() {
        const Entry* passes = nullptr;
        for (const auto* const key : {"ValidateIncomingMessage", "RejectInvalidMessage"}) {
            const auto* entry = reader_.consume(key);
            if (entry == nullptr || reader_.yes(*entry)) continue;
            passes = entry;
            reader_.leave_out(*entry, "unchecked_types = [\"*\"] is used, and session messages are still checked");
        }
        if (passes != nullptr) add(*passes, "unchecked_types", "[\"*\"]");
    }

    void time_precision() {
        const auto* precision = reader_.consume("TimestampPrecision");
        if (precision == nullptr) precision = reader_.consume("TimeStampPrecision");
        const auto* millis = reader_.consume("MillisecondsInTimeStamp");
        if (precision != nullptr) {
            for (const auto& [theirs, ours] : kPrecisions) {
                if (same_key(theirs, precision->value)) return add(*precision, "time_precision", toml_text(ours));
            }
            reader_.fail(precision->line,
                         fmt::format("{} expects 0, 3, 6 or 9, found '{}'", precision->key, precision->value));
        }
        if (millis != nullptr && !reader_.yes(*millis)) add(*millis, "time_precision", toml_text("s"));
    }

    void latency() {
        const auto* checks = reader_.consume("CheckLatency");
        if (checks == nullptr || reader_.yes(*checks)) return;
        reader_.skip("MaxLatency");
        add(*checks, "max_latency_seconds", "0");
    }

    const Section& section_;
    SectionReader reader_;
    std::set<std::string_view> written_;  // keys of kPlainKeys
    std::string version_;
    bool is_on_fixt_{false};
    fix::SessionConfig ids_;
    TomlLines lines_;
};

}  // namespace

TomlLines session_tables(const Section& section, std::string_view file, std::vector<Acceptor>& acceptors,
                         std::vector<LeftOut>& left_out) {
    return SessionImport{section, file, left_out}.tables(acceptors);
}

}  // namespace millpond::fixd::quickfix
