#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
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
#include "gateway/sinks/ring_sink.hpp"
#include "gateway/sinks/topic.hpp"

namespace millpond::gateway::kafka {
namespace {

using settings::ConfigError;
using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr std::pair<std::string_view, Format> kFormats[] = {{"json", Format::json}, {"binary", Format::binary}};
constexpr std::pair<std::string_view, std::string_view> kCompressions[] = {
    {"none", "none"}, {"gzip", "gzip"}, {"snappy", "snappy"}, {"lz4", "lz4"}, {"zstd", "zstd"}};
constexpr std::uint64_t kMostMessages = 1'000'000;

constexpr settings::Key<Settings> kKeys[] = {
    Keys::kName,
    K::text<&Settings::journal>("journal", "NAME", "Journal to follow; the first [[journal]] if unset."),
    K::list<&Settings::brokers>("brokers", "HOST:PORT,...", "Bootstrap brokers."),
    K::text<&Settings::topic>("topic", "TEMPLATE", "Topic of an instrument's events, with {symbol} and {venue}."),
    K::text<&Settings::events_topic>("events_topic", "TOPIC", "Topic of events that concern no single instrument."),
    K::choice<&Settings::format, kFormats>("format", "json|binary", "Format of the messages."),
    K::choice<&Settings::compression, kCompressions>("compression", "none|gzip|snappy|lz4|zstd",
                                                     "Compression of batches."),
    K::integer<&Settings::window, 1, kMostMessages>("window", "MESSAGES", "Maximum number of messages in flight."),
    K::text<&Settings::position_file>(
        "position_file", "FILE",
        "File with the last delivered position; NAME.position in the journal's folder if unset."),
    K::text<[](auto& s) -> auto& { return s.password.file; }>("password_file", "FILE",
                                                              "File whose first line is the password for SASL."),
    K::text<[](auto& s) -> auto& { return s.password.environment; }>(
        "password_env", "NAME", "Environment variable with the password for SASL."),
    K::list<&Settings::properties>("properties", "KEY=VALUE,...",
                                   "Settings of librdkafka: security.protocol, sasl.*, ssl.*, linger.ms, ..."),
    Keys::kPin,
};

/// Opens when the journal that it follows runs, with the folder and ring of that journal.
class Prepared final : public PreparedSink {
public:
    Prepared(const Settings& settings, Options options) : journal_(settings.journal), options_(std::move(options)) {}

    void check() override {
        check_files(options_);
        const auto& file = options_.position_file;
        if (file.has_parent_path()) need_writable_folder(file.parent_path());
    }
    void open(const SinkHost& host) override {
        // The position file in the journal's folder can be taken when the journal runs: in join.
        if (!options_.position_file.empty()) check_position_file(options_.position_file, host.file_mode);
    }
    std::unique_ptr<Consumer> join(const SinkHost& host) override {
        const auto journal = host.journal(journal_);
        options_.ring = journal.ring;
        options_.journal = journal.folder;
        options_.newest_record = journal.newest_record;
        options_.file_mode = host.file_mode;
        if (options_.position_file.empty()) options_.position_file = journal.folder / (options_.name + ".position");
        return kafka::open(options_, host.say);
    }

private:
    std::string journal_;
    Options options_;
};

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "kafka"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "a journal's records to Kafka"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void complete(Settings& settings, const SinkContext& context) const override {
        const auto& user = context.user;
        if (!is_built()) throw ConfigError(user + ": this build has no Kafka: librdkafka-dev was missing");
        const auto is_journal = [&](const SinkConfig& sink) {
            return sink.kind().name() == "journal" && (settings.journal.empty() || sink.name() == settings.journal);
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
        for (const auto& property : settings.properties) {
            if (property.find('=') == std::string::npos) {
                throw ConfigError(fmt::format("{}: property '{}': expects KEY=VALUE", user, property));
            }
        }
        try {
            kafka::check(options_of(settings));
        } catch (const std::invalid_argument& error) {
            throw ConfigError(fmt::format("{}: {}", user, error.what()));
        }
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        if (settings.position_file.empty()) return {};
        return {{.name = settings.position_file, .claim = claim_of(settings.position_file)}};
    }
    [[nodiscard]] std::string follows(const Settings& settings) const override { return settings.journal; }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        auto options = options_of(settings);
        options.password = service::read_secret(settings.password, "password");
        kafka::check(options);
        return std::make_unique<Prepared>(settings, std::move(options));
    }
};

}  // namespace

Options options_of(const Settings& settings) {
    Options options{.name = settings.name,
                    .ring = settings.ring,
                    .position_file = settings.position_file,
                    .brokers = fmt::format("{}", fmt::join(settings.brokers, ",")),
                    .topic = settings.topic,
                    .events_topic = settings.events_topic,
                    .format = settings.format,
                    .compression = settings.compression,
                    .window = settings.window,
                    .pin = settings.pin};
    for (const auto& property : settings.properties) {
        const auto equals = property.find('=');
        options.properties.emplace_back(property.substr(0, equals), property.substr(equals + 1));
    }
    return options;
}

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::kafka
