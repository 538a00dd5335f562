#include "gateway/sinks/kafka/producer.hpp"

#include <fmt/ranges.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/endian.hpp>

namespace millpond::gateway::kafka {
namespace {

using Conf = std::unique_ptr<rd_kafka_conf_t, decltype(&rd_kafka_conf_destroy)>;

/// Properties that the sink sets itself, because its guarantees depend on them or they have keys.
constexpr std::string_view kOurs[] = {
    "enable.idempotence",
    "acks",
    "request.required.acks",
    "message.timeout.ms",
    "delivery.timeout.ms",
    "retries",
    "message.send.max.retries",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "queue.buffering.max.messages",
    "queue.buffering.max.kbytes",
    "bootstrap.servers",
    "metadata.broker.list",
    "transactional.id",
    "compression.codec",
    "compression.type",
    "enable.gapless.guarantee",
    "statistics.interval.ms",
};

constexpr std::int64_t kNanosPerMilli = 1'000'000;

Conf make_conf(const Settings& settings, const std::string& password, std::optional<std::size_t> batch = {}) {
    Conf conf{rd_kafka_conf_new(), rd_kafka_conf_destroy};
    const auto set = [&](const std::string& key, const std::string& value) {
        std::array<char, 512> text{};
        if (rd_kafka_conf_set(conf.get(), key.c_str(), value.c_str(), text.data(), text.size()) != RD_KAFKA_CONF_OK) {
            throw std::invalid_argument(text.data());
        }
    };
    // Partitions by key like Kafka's Java clients.
    set("partitioner", "murmur2_random");
    set("socket.keepalive.enable", "true");
    // Detects refused topics that were created later.
    set("topic.metadata.refresh.interval.ms", "10000");
    for (const auto& property : settings.properties) {
        const auto [key, value] = key_and_value(property);
        if (std::ranges::find(kOurs, key) != std::end(kOurs)) {
            throw std::invalid_argument(fmt::format("property '{}' must not be changed", key));
        }
        set(key, value);
    }
    set("bootstrap.servers", fmt::format("{}", fmt::join(settings.brokers, ",")));
    set("compression.codec", settings.compression);
    set("enable.idempotence", "true");
    set("enable.gapless.guarantee", "true");  // sends nothing after a message that was refused permanently
    set("acks", "all");
    set("message.timeout.ms", "0");
    set("queue.buffering.max.messages", std::to_string(settings.window + 2));
    set("queue.buffering.max.kbytes", "2097151");
    if (batch) set("batch.num.messages", std::to_string(*batch));
    set("statistics.interval.ms", "250");  // statistics report whether a broker is connected
    if (!password.empty()) set("sasl.password", password);
    rd_kafka_conf_set_log_cb(conf.get(), [](const rd_kafka_t*, int, const char*, const char*) {});
    return conf;
}

Producer::Reports& reports_of(void* opaque) { return *static_cast<Producer::Reports*>(opaque); }

/// Returns the producer's fatal error; empty if there is none.
std::string fatal_error_of(rd_kafka_t* handle) {
    std::array<char, 512> text{};
    rd_kafka_fatal_error(handle, text.data(), text.size());
    return text.data();
}

Refusal::Kind kind_of(rd_kafka_resp_err_t error) {
    switch (error) {
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: return Refusal::Kind::unknown_topic;
        case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION: return Refusal::Kind::invalid_topic;
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED: return Refusal::Kind::not_authorized;
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE: return Refusal::Kind::too_large;
        default: return Refusal::Kind::producer;
    }
}

/// Makes a refusal from a report. After a fatal error, reports only state that messages were purged; the fatal error
/// has the reason.
Refusal refusal_of(rd_kafka_t* handle, rd_kafka_topic_t* topic, rd_kafka_resp_err_t error, const char* text) {
    if (auto fatal = fatal_error_of(handle); !fatal.empty()) return {Refusal::Kind::producer, std::move(fatal)};
    return {kind_of(error), fmt::format("topic '{}': {}", rd_kafka_topic_name(topic), text)};
}

void on_delivery(rd_kafka_t* handle, const rd_kafka_message_t* message, void* opaque) {
    const auto number = std::bit_cast<std::uint64_t>(message->_private);
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return reports_of(opaque).delivered(number, message->len);
    reports_of(opaque).failed(number, refusal_of(handle, message->rkt, message->err, rd_kafka_err2str(message->err)));
}

void on_error(rd_kafka_t* handle, int error, const char* reason, void* opaque) {
    // The error of each broker, with its reason, was reported before this one.
    if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
    reports_of(opaque).error(error == RD_KAFKA_RESP_ERR__FATAL ? fatal_error_of(handle) : reason);
}

/// Source: librdkafka's STATISTICS.md: the state of a broker is "UP" once it is connected and has accepted the client.
int on_statistics(rd_kafka_t*, char* json, std::size_t bytes, void* opaque) {
    reports_of(opaque).connected(std::string_view{json, bytes}.find(R"("state":"UP")") != std::string_view::npos);
    return 0;  // librdkafka frees the text
}

/// Encodes a number in big-endian order, like Kafka's LongSerializer.
std::array<std::byte, 8> long_bytes(std::uint64_t value) {
    std::array<std::byte, 8> bytes{};
    core::store_be(bytes.data(), value);
    return bytes;
}

using Headers = std::unique_ptr<rd_kafka_headers_t, decltype(&rd_kafka_headers_destroy)>;

// Creates the headers here, because librdkafka frees headers that it creates itself (RD_KAFKA_VTYPE_HEADER) twice if it
// refuses the message.
// Source: librdkafka issue 4627.
Headers headers_of(const Record& record) {
    constexpr std::size_t kHeaders = 3;
    Headers headers{rd_kafka_headers_new(kHeaders), rd_kafka_headers_destroy};
    const auto add = [&](std::string_view name, std::uint64_t value) {
        const auto bytes = long_bytes(value);
        rd_kafka_header_add(headers.get(), name.data(), static_cast<ssize_t>(name.size()), bytes.data(),
                            static_cast<ssize_t>(bytes.size()));
    };
    add("epoch", record.epoch);
    add("sequence", record.sequence);
    add("received", static_cast<std::uint64_t>(record.received_utc_ns));
    return headers;
}

}  // namespace

void check(const Settings& settings, const std::string& password) { static_cast<void>(make_conf(settings, password)); }

void check_files(const Settings& settings, const std::string& password) {
    auto conf = make_conf(settings, password);
    std::array<char, 512> text{};
    auto* const producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), text.data(), text.size());
    if (producer == nullptr) throw std::invalid_argument(text.data());
    static_cast<void>(conf.release());  // owned by the producer now
    rd_kafka_destroy(producer);
}

Producer::Producer(const Settings& settings, const std::string& password, std::optional<std::size_t> batch,
                   Reports& reports)
    : reports_(reports) {
    auto conf = make_conf(settings, password, batch);
    rd_kafka_conf_set_opaque(conf.get(), &reports);
    rd_kafka_conf_set_dr_msg_cb(conf.get(), on_delivery);
    rd_kafka_conf_set_error_cb(conf.get(), on_error);
    rd_kafka_conf_set_stats_cb(conf.get(), on_statistics);
    std::array<char, 512> text{};
    handle_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), text.data(), text.size());
    if (handle_ == nullptr) throw std::invalid_argument(text.data());
    static_cast<void>(conf.release());  // owned by the producer now
    policies_ = rd_kafka_queue_new(handle_);
}

Producer::~Producer() {
    rd_kafka_queue_destroy(policies_);
    for (const auto& [name, topic] : topics_) rd_kafka_topic_destroy(topic);
    rd_kafka_purge(handle_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
    rd_kafka_destroy(handle_);
}

Producer::Topic Producer::topic(const std::string& name) {
    auto& topic = topics_[name];
    if (topic == nullptr) topic = rd_kafka_topic_new(handle_, name.c_str(), nullptr);
    return topic;
}

std::optional<Refusal> Producer::send(Topic topic, const Record& record, std::uint64_t number) {
    auto headers = headers_of(record);
    std::array<rd_kafka_vu_t, 8> parts{};
    std::size_t count = 0;
    const auto part = [&](rd_kafka_vtype_t type) -> rd_kafka_vu_t& {
        parts[count].vtype = type;
        return parts[count++];
    };
    part(RD_KAFKA_VTYPE_RKT).u.rkt = topic;
    part(RD_KAFKA_VTYPE_PARTITION).u.i32 = RD_KAFKA_PARTITION_UA;
    part(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
    // librdkafka copies key and value; its pointers are not const because of other modes.
    part(RD_KAFKA_VTYPE_KEY).u.mem = {const_cast<char*>(record.key.data()), record.key.size()};
    part(RD_KAFKA_VTYPE_VALUE).u.mem = {const_cast<char*>(record.value.data()), record.value.size()};
    part(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = record.received_utc_ns / kNanosPerMilli;
    part(RD_KAFKA_VTYPE_OPAQUE).u.ptr = std::bit_cast<void*>(number);
    part(RD_KAFKA_VTYPE_HEADERS).u.headers = headers.get();
    auto* error = rd_kafka_produceva(handle_, parts.data(), count);
    if (error == nullptr) {
        static_cast<void>(headers.release());  // owned by the message now
        return std::nullopt;
    }
    auto refusal = refusal_of(handle_, topic, rd_kafka_error_code(error), rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return refusal;
}

std::optional<Refusal> Producer::topic_error(Topic topic) const {
    constexpr int kPatienceMs = 500;
    const struct rd_kafka_metadata* metadata = nullptr;  // `struct`: a function has that name too
    if (rd_kafka_metadata(handle_, 0, topic, &metadata, kPatienceMs) != RD_KAFKA_RESP_ERR_NO_ERROR) return std::nullopt;
    std::optional<Refusal> refusal;
    if (metadata->topic_cnt == 1) {
        const auto error = metadata->topics[0].err;
        const auto kind = kind_of(error);
        // An unknown topic may be being created: librdkafka waits for it, and reports the result.
        if (kind == Refusal::Kind::invalid_topic || kind == Refusal::Kind::not_authorized) {
            refusal = Refusal{kind, fmt::format("topic '{}': {}", rd_kafka_topic_name(topic), rd_kafka_err2str(error))};
        }
    }
    rd_kafka_metadata_destroy(metadata);
    return refusal;
}

bool Producer::batch_was_too_large() const {
    // The fatal error's code is that of enable.gapless.guarantee; only its text has the broker's error.
    return fatal_error_of(handle_).find(rd_kafka_err2str(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)) != std::string::npos;
}

void Producer::query_policy(Topic topic) {
    auto* resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, rd_kafka_topic_name(topic));
    rd_kafka_DescribeConfigs(handle_, &resource, 1, nullptr, policies_);
    rd_kafka_ConfigResource_destroy(resource);
}

void Producer::read_policies() {
    auto* const event = rd_kafka_queue_poll(policies_, 0);
    if (event == nullptr) return;
    std::size_t topics = 0;
    const auto* const answer = rd_kafka_event_DescribeConfigs_result(event);
    const auto* const* const resources =
        answer == nullptr ? nullptr : rd_kafka_DescribeConfigs_result_resources(answer, &topics);
    for (const auto* const resource : std::span{resources, topics}) {
        std::size_t count = 0;
        const auto* const* const entries = rd_kafka_ConfigResource_configs(resource, &count);
        for (const auto* const entry : std::span{entries, count}) {
            const auto* const value = rd_kafka_ConfigEntry_value(entry);
            if (rd_kafka_ConfigEntry_name(entry) != std::string_view{"cleanup.policy"} || value == nullptr) continue;
            if (std::string_view{value}.contains("compact")) {
                reports_.compacted(rd_kafka_ConfigResource_name(resource));
            }
        }
    }
    rd_kafka_event_destroy(event);
}

void Producer::poll(std::chrono::milliseconds timeout) {
    rd_kafka_poll(handle_, static_cast<int>(timeout.count()));
    read_policies();
}

}  // namespace millpond::gateway::kafka
