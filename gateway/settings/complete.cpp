#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "gateway/settings/config.hpp"
#include "gateway/settings/value.hpp"
#include "gateway/sinks/csv/csv_sink.hpp"
#include "gateway/sinks/topic.hpp"

namespace millpond::gateway {
namespace {

/// Refuses the second use of a name or address.
class Unique {
public:
    explicit Unique(std::string_view what) : what_(what) {}
    void add(const std::string& value, std::string_view user) {
        if (!seen_.insert(value).second) {
            throw ConfigError(fmt::format("{}: {} '{}' is used twice", user, what_, value));
        }
    }

    /// Port 0 is a port of its own each time.
    void add(const net::SocketAddress& address, std::string_view user, std::string_view interface = {}) {
        if (address.port() != 0)
            add(fmt::format("{}{}{}", address.to_string(), interface.empty() ? "" : "%", interface), user);
    }

private:
    std::string_view what_;
    std::set<std::string> seen_;
};

void complete_rings(Config& config) {
    if (config.rings.empty()) config.rings.emplace_back();
    Unique names{"name"};
    for (auto& ring : config.rings) {
        names.add(ring.name, "[[ring]]");
        if (ring.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
            std::string::npos) {
            throw ConfigError(fmt::format("[[ring]]: name '{}' may hold letters, digits, '-' and '_' only", ring.name));
        }
        if (!ring.poll) ring.poll = config.poll;
        if (!ring.pin) ring.pin = config.pin;
        if (!ring.realtime) ring.realtime = config.realtime;
    }
}

void choose_ring(const Config& config, std::string_view user, std::string& ring) {
    if (ring.empty()) ring = config.rings.front().name;
    const bool exists = std::any_of(config.rings.begin(), config.rings.end(),
                                    [&](const RingConfig& candidate) { return candidate.name == ring; });
    if (!exists) throw ConfigError(fmt::format("{}: ring '{}' does not exist", user, ring));
}

void complete_lines(FeedConfig& feed, const std::string& user) {
    if (feed.line_b.empty() && !(feed.source_b.empty() && feed.interface_b.empty()))
        throw ConfigError(user + ": source_b or interface_b, but no line_b");
    if (!feed.line_b.empty() && feed.format == FeedFormat::bbo28)
        throw ConfigError(user + ": line_b: bbo28 has no sequence numbers to tell which line lost what");
    if (!feed.rerequest.empty() && feed.format != FeedFormat::itch)
        throw ConfigError(user + ": rerequest: only itch comes by MoldUDP64, which has such servers");
    if (!feed.rerequest.empty() && (feed.rerequest.port() == 0 || feed.rerequest.is_multicast()))
        throw ConfigError(fmt::format("{}: rerequest '{}' is no server's address", user, feed.rerequest.to_string()));
    if (feed.vlan != 0 && feed.receive != net::ReceivePath::af_xdp)
        throw ConfigError(user + ": vlan: only with receive = \"af_xdp\"; else name the VLAN's own interface");
    if ((feed.rebuild || !feed.rebuild_from.empty()) && feed.format != FeedFormat::itch)
        throw ConfigError(user + ": rebuild: only itch has books");
    if (feed.rebuild && feed.rebuild_from.empty() && feed.rerequest.empty())
        throw ConfigError(user + ": rebuild: from what? Give rerequest or rebuild_from");
    feed.rebuild = feed.rebuild || !feed.rebuild_from.empty();
    if (feed.source_b.empty()) feed.source_b = feed.source;
    if (feed.interface_b.empty()) feed.interface_b = feed.interface;
    constexpr std::uint64_t kForOtherLine = 512;
    constexpr std::uint64_t kForServer = 8'192;
    if (feed.reorder_datagrams == 0) feed.reorder_datagrams = feed.rerequest.empty() ? kForOtherLine : kForServer;
    feed.rerequest_start = feed.rerequest_start && !feed.rerequest.empty();
}

void complete_feeds(Config& config) {
    if (config.feeds.size() > std::numeric_limits<std::uint16_t>::max()) throw ConfigError("[[feed]]: too many feeds");
    Unique names{"name"};
    Unique addresses{"address"};
    Unique channels{"channel"};
    for (std::size_t i = 0; i < config.feeds.size(); ++i) {
        auto& feed = config.feeds[i];
        if (feed.listen.empty()) throw ConfigError("[[feed]]: key 'listen' is missing");
        if (feed.name.empty()) feed.name = feed.listen.to_string();
        const auto user = fmt::format("[[feed]] '{}'", feed.name);
        if (!feed.channel) feed.channel = static_cast<std::uint16_t>(i);
        choose_ring(config, user, feed.ring);
        if (!feed.receive) feed.receive = config.receive;
        if (!feed.receive_want) feed.receive_want = config.receive_want;
        names.add(feed.name, user);
        addresses.add(feed.listen, user, feed.interface);
        complete_lines(feed, user);
        if (!feed.line_b.empty()) addresses.add(feed.line_b, user, feed.interface_b);
        channels.add(fmt::format("{}", *feed.channel), user);
        try {
            date::locate_zone(feed.timezone);
        } catch (const std::runtime_error&) {
            throw ConfigError(fmt::format("{}: timezone '{}' is not in the zone database", user, feed.timezone));
        }
    }
}

void check_topic(std::string_view user, std::string_view key, const std::string& topic, TopicRules rules) {
    try {
        static_cast<void>(TopicTemplate{topic, rules});
    } catch (const std::invalid_argument& error) {
        throw ConfigError(fmt::format("{}: {} '{}': {}", user, key, topic, error.what()));
    }
}

void complete_mqtt(MqttConfig& sink, const std::string& user) {
    if (!mqtt::is_built()) throw ConfigError(user + ": this build has no MQTT: libmosquitto-dev was missing");
    if (sink.state_topic.empty()) sink.state_topic = "millpond/" + sink.name;
    check_topic(user, "topic", sink.topic, TopicRules::mqtt);
    check_topic(user, "state_topic", sink.state_topic, TopicRules::mqtt);
    auto& tls = sink.tls;
    tls.on = tls.on || !tls.authority.empty() || !tls.certificate.empty();
    if (tls.certificate.empty() != tls.key.empty()) {
        throw ConfigError(user + ": tls_certificate and tls_key go together");
    }
    if (sink.user.empty() && !sink.password.empty()) throw ConfigError(user + ": a password, but no user");
    if (sink.reconnect_most_ms < sink.reconnect_ms) {
        throw ConfigError(fmt::format("{}: reconnect_most_ms {} is less than reconnect_ms {}", user,
                                      sink.reconnect_most_ms, sink.reconnect_ms));
    }
}

void complete_kafka(const Config& config, KafkaConfig& sink, const std::string& user) {
    if (!kafka::is_built()) throw ConfigError(user + ": this build has no Kafka: librdkafka-dev was missing");
    if (config.journals.empty()) throw ConfigError(user + ": needs a [[journal]] to follow");
    if (sink.journal.empty()) sink.journal = config.journals.front().name;
    const auto journal = std::ranges::find(config.journals, sink.journal, &JournalConfig::name);
    if (journal == config.journals.end()) {
        throw ConfigError(fmt::format("{}: journal '{}' does not exist", user, sink.journal));
    }
    sink.ring = journal->ring;
    sink.folder = journal->folder;
    if (sink.position_file.empty()) sink.position_file = fmt::format("{}/{}.position", sink.folder, sink.name);
    check_topic(user, "topic", sink.topic, TopicRules::kafka);
    check_topic(user, "events_topic", sink.events_topic, TopicRules::kafka);
    for (const auto& property : sink.properties) {
        if (property.find('=') == std::string::npos) {
            throw ConfigError(fmt::format("{}: property '{}': expects KEY=VALUE", user, property));
        }
    }
    try {
        kafka::check(unchecked_kafka_options(sink));
    } catch (const std::invalid_argument& error) {
        throw ConfigError(fmt::format("{}: {}", user, error.what()));
    }
}

/// A file in a folder whose files an output renames and removes could be taken for one of them, or displace one.
void check_csv_path(const Config& config, const std::string& path, const std::string& user) {
    const auto in_folder = [&](const std::filesystem::path& folder) {
        const auto canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(folder));
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path)).parent_path() ==
               (canonical.has_filename() ? canonical : canonical.parent_path());
    };
    const auto refuse_in = [&](const std::string& folder, std::string_view whose) {
        if (folder.empty() || !in_folder(folder)) return;
        throw ConfigError(fmt::format("{}: path '{}' is in the folder of {}; name another folder", user, path, whose));
    };
    for (const auto& journal : config.journals)
        refuse_in(journal.folder, fmt::format("[[journal]] '{}'", journal.name));
    refuse_in(config.capture, "the capture");
    try {
        csv::check_path(path);
    } catch (const std::invalid_argument& error) {
        throw ConfigError(fmt::format("{}: {}", user, error.what()));
    }
}

void complete_sinks(Config& config) {
    Unique names{"name"};
    Unique outputs{"output"};
    for (auto& sink : config.tcp) {
        const auto user = fmt::format("[[tcp]] '{}'", sink.name);
        choose_ring(config, user, sink.ring);
        names.add(sink.name, user);
        outputs.add(sink.listen, user);
    }
    for (auto& sink : config.csv) {
        const auto user = fmt::format("[[csv]] '{}'", sink.name);
        if (sink.path.empty()) throw ConfigError(user + ": key 'path' is missing");
        choose_ring(config, user, sink.ring);
        names.add(sink.name, user);
        outputs.add(sink.path, user);
        check_csv_path(config, sink.path, user);
    }
    for (auto& sink : config.udp) {
        const auto user = fmt::format("[[udp]] '{}'", sink.name);
        if (sink.to.empty()) throw ConfigError(user + ": key 'to' is missing");
        choose_ring(config, user, sink.ring);
        names.add(sink.name, user);
        outputs.add(sink.to, user);
    }
    for (auto& sink : config.web) {
        const auto user = fmt::format("[[web]] '{}'", sink.name);
        choose_ring(config, user, sink.ring);
        names.add(sink.name, user);
        outputs.add(sink.listen, user);
    }
    for (auto& sink : config.journals) {
        const auto user = fmt::format("[[journal]] '{}'", sink.name);
        if (sink.folder.empty()) throw ConfigError(user + ": key 'folder' is missing");
        constexpr std::uint64_t kUnit = 65'536;
        constexpr std::uint64_t kLeast = 1U << 20U;
        constexpr std::uint64_t kMost = std::uint64_t{32} << 30U;
        if (sink.segment_bytes < kLeast || sink.segment_bytes > kMost || sink.segment_bytes % kUnit != 0) {
            throw ConfigError(fmt::format("{}: segment_bytes {}: needs a multiple of 64KiB from 1MiB to 32GiB", user,
                                          sink.segment_bytes));
        }
        choose_ring(config, user, sink.ring);
        names.add(sink.name, user);
        outputs.add(sink.folder, user);
    }
    for (auto& sink : config.mqtt) {
        const auto user = fmt::format("[[mqtt]] '{}'", sink.name);
        choose_ring(config, user, sink.ring);
        names.add(sink.name, user);
        complete_mqtt(sink, user);
    }
    for (auto& sink : config.kafka) {
        const auto user = fmt::format("[[kafka]] '{}'", sink.name);
        names.add(sink.name, user);
        complete_kafka(config, sink, user);
        outputs.add(sink.position_file, user);
    }
    if (!config.metrics.empty()) outputs.add(config.metrics, "metrics");
}

}  // namespace

kafka::Options unchecked_kafka_options(const KafkaConfig& sink) {
    kafka::Options options{.name = sink.name,
                           .ring = sink.ring,
                           .journal = sink.folder,
                           .position_file = sink.position_file,
                           .brokers = fmt::format("{}", fmt::join(sink.brokers, ",")),
                           .topic = sink.topic,
                           .events_topic = sink.events_topic,
                           .format = sink.format,
                           .compression = sink.compression,
                           .window = sink.window,
                           .pin = sink.pin};
    for (const auto& property : sink.properties) {
        const auto equals = property.find('=');
        options.properties.emplace_back(property.substr(0, equals), property.substr(equals + 1));
    }
    return options;
}

void complete(Config& config) {
    complete_rings(config);
    complete_feeds(config);
    complete_sinks(config);
}

}  // namespace millpond::gateway
