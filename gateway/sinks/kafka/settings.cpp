#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/topic.hpp"
#include "service/config_error.hpp"
#include "service/writable_folder.hpp"

namespace millpond::gateway::kafka {
namespace {

using service::ConfigError;
using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr std::pair<std::string_view, Format> kFormats[] = {{"json", Format::json}, {"binary", Format::binary}};
constexpr std::pair<std::string_view, std::string_view> kCompressions[] = {
    {"none", "none"}, {"gzip", "gzip"}, {"snappy", "snappy"}, {"lz4", "lz4"}, {"zstd", "zstd"}};

constexpr settings::Key<Settings> kKeys[] = {
    Keys::kName,
    K::text<&Settings::journal>("journal", "NAME", "Journal to follow; the first [[journal]] if unset."),
    K::list<&Settings::brokers>("brokers", "HOST:PORT+...", "Bootstrap brokers."),
    K::text<&Settings::topic>("topic", "TEMPLATE", "Topic of an instrument's events, with {symbol} and {venue}."),
    K::text<&Settings::events_topic>("events_topic", "TOPIC", "Topic of events that concern no single instrument."),
    K::text<&Settings::levels_topic>("levels_topic", "TEMPLATE",
                                     "Topic of an instrument's levels, like topic; without it levels are not sent."),
    K::text<&Settings::orders_topic>("orders_topic", "TEMPLATE",
                                     "Topic of an instrument's orders, like topic; without it orders are not sent."),
    K::choice<&Settings::format, kFormats>("format", "json|binary", "Format of the messages."),
    K::choice<&Settings::compression, kCompressions>("compression", "none|gzip|snappy|lz4|zstd",
                                                     "Compression of batches."),
    K::file<[](auto& s) -> auto& { return s.password.file; }>("password_file",
                                                              "File whose first line is the password for SASL."),
    K::text<[](auto& s) -> auto& { return s.password.environment; }>(
        "password_env", "NAME", "Environment variable with the password for SASL."),
    K::list<&Settings::properties>("properties", "KEY=VALUE+...",
                                   "Settings of librdkafka: security.protocol, sasl.*, ssl.*, linger.ms, ..."),
    K::removed("window", "32768 messages in flight"),
    K::removed("pin", "any CPU"),
    K::removed("position_file", "NAME.position in the journal's folder; move an existing file there"),
};

/// A prepared kafka sink; its position file is in the folder of the journal that it follows.
class Prepared final : public PreparedSink {
public:
    Prepared(const Settings& settings, std::string password) : settings_(settings), password_(std::move(password)) {}

    void check() override { check_files(settings_, password_); }
    void open(const SinkHost&) override {}
    std::unique_ptr<Consumer> join(const SinkHost& host) override {
        return kafka::open(settings_, host.journal(settings_.journal), password_, host.file_mode, host.log);
    }

private:
    Settings settings_;
    std::string password_;
};

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "kafka"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "a journal's records to Kafka"; }
    [[nodiscard]] std::string_view followed_kind() const noexcept override { return "journal"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void complete(Settings& settings, const SinkContext& context) const override {
        const auto& user = context.user;
        if (!is_built()) throw ConfigError(user + ": this build has no Kafka: librdkafka-dev was missing");
        const auto is_journal = [&](const SinkConfig& sink) {
            return sink.kind().name() == followed_kind() &&
                   (settings.journal.empty() || sink.name() == settings.journal);
        };
        const auto journal = std::ranges::find_if(context.sinks, is_journal);
        if (journal == context.sinks.end()) {
            throw ConfigError(settings.journal.empty()
                                  ? user + ": needs a [[journal]] to follow"
                                  : fmt::format("{}: journal '{}' does not exist", user, settings.journal));
        }
        settings.journal = journal->name();
        settings.ring = journal->basics().ring;
        check_topic(user, "topic", settings.topic, TopicRules::kafka);
        check_topic(user, "events_topic", settings.events_topic, TopicRules::kafka);
        if (!settings.levels_topic.empty()) check_topic(user, "levels_topic", settings.levels_topic, TopicRules::kafka);
        if (!settings.orders_topic.empty()) check_topic(user, "orders_topic", settings.orders_topic, TopicRules::kafka);
        need_different_topics(settings, user);
        for (const auto& property : settings.properties) {
            if (property.find('=') == std::string::npos) {
                throw ConfigError(fmt::format("{}: property '{}': expects KEY=VALUE", user, property));
            }
        }
        try {
            kafka::check(settings);
        } catch (const std::invalid_argument& error) {
            throw ConfigError(fmt::format("{}: {}", user, error.what()));
        }
    }
    /// Levels and orders have topics of their own: a consumer of one kind must not have to skip others.
    static void need_different_topics(const Settings& settings, const std::string& user) {
        const std::pair<std::string_view, const std::string&> topics[] = {{"topic", settings.topic},
                                                                          {"events_topic", settings.events_topic},
                                                                          {"levels_topic", settings.levels_topic},
                                                                          {"orders_topic", settings.orders_topic}};
        const std::span books = std::span{topics}.last<2>();
        for (const auto& [key, topic] : books) {
            for (const auto& [other_key, other] : topics) {
                if (other_key == key) break;
                if (topic.empty() || topic != other) continue;
                throw ConfigError(fmt::format("{}: {} '{}' is the same as {}", user, key, topic, other_key));
            }
        }
    }
    [[nodiscard]] std::string follows(const Settings& settings) const override { return settings.journal; }
    /// Returns files named by properties such as "ssl.ca.location" and "sasl.kerberos.keytab".
    [[nodiscard]] std::vector<std::string> files_of_properties(const Settings& settings) const override {
        std::vector<std::string> files;
        for (const auto& property : settings.properties) {
            auto [key, value] = key_and_value(property);
            if (key.ends_with(".location") || key.ends_with(".keytab")) files.push_back(std::move(value));
        }
        return files;
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        auto password = service::read_secret(settings.password, "password");
        kafka::check(settings, password);
        return std::make_unique<Prepared>(settings, std::move(password));
    }
};

}  // namespace

std::pair<std::string, std::string> key_and_value(const std::string& property) {
    const auto equals = property.find('=');
    return {property.substr(0, equals), equals == std::string::npos ? std::string{} : property.substr(equals + 1)};
}

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::kafka
