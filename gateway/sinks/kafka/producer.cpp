#include "gateway/sinks/kafka/producer.hpp"

#include <fmt/format.h>
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

/// On these depends that nothing is lost, repeated or reordered, or they have keys of their own.
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

Conf make_conf(const Options& options) {
    Conf conf{rd_kafka_conf_new(), rd_kafka_conf_destroy};
    const auto set = [&](const std::string& key, const std::string& value) {
        std::array<char, 512> text{};
        if (rd_kafka_conf_set(conf.get(), key.c_str(), value.c_str(), text.data(), text.size()) != RD_KAFKA_CONF_OK) {
            throw std::invalid_argument(text.data());
        }
    };
    // A consumer or producer in Java that hashes keys finds them on the same partitions.
    set("partitioner", "murmur2_random");
    set("socket.keepalive.enable", "true");
    for (const auto& [key, value] : options.properties) {
        if (std::ranges::find(kOurs, key) != std::end(kOurs)) {
            throw std::invalid_argument(fmt::format("property '{}' must not be changed", key));
        }
        set(key, value);
    }
    set("bootstrap.servers", options.brokers);
    set("compression.codec", options.compression);
    set("enable.idempotence", "true");
    set("enable.gapless.guarantee", "true");  // nothing is sent after a message that was refused permanently
    set("acks", "all");
    set("message.timeout.ms", "0");
    set("queue.buffering.max.messages", std::to_string(options.window + 1));
    set("queue.buffering.max.kbytes", "2097151");
    if (options.batch) set("batch.num.messages", std::to_string(*options.batch));
    set("statistics.interval.ms", "250");  // they say whether a broker is connected
    if (!options.password.empty()) set("sasl.password", options.password);
    rd_kafka_conf_set_log_cb(conf.get(), [](const rd_kafka_t*, int, const char*, const char*) {});
    return conf;
}

Producer::Reports& reports_of(void* opaque) { return *static_cast<Producer::Reports*>(opaque); }

/// Empty if there is none.
std::string fatal_error_of(rd_kafka_t* handle) {
    std::array<char, 512> text{};
    rd_kafka_fatal_error(handle, text.data(), text.size());
    return text.data();
}

/// After a fatal error the reports say only that what waited was purged; the error says why.
std::string reason_of(rd_kafka_t* handle, const rd_kafka_message_t& message) {
    if (auto fatal = fatal_error_of(handle); !fatal.empty()) return fatal;
    return fmt::format("topic '{}': {}", rd_kafka_topic_name(message.rkt), rd_kafka_err2str(message.err));
}

void on_delivery(rd_kafka_t* handle, const rd_kafka_message_t* message, void* opaque) {
    const auto number = std::bit_cast<std::uint64_t>(message->_private);
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return reports_of(opaque).delivered(number, message->len);
    reports_of(opaque).failed(number, reason_of(handle, *message));
}

void on_error(rd_kafka_t* handle, int error, const char* reason, void* opaque) {
    // Each broker's own error, which says why, came before this one.
    if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
    reports_of(opaque).error(error == RD_KAFKA_RESP_ERR__FATAL ? fatal_error_of(handle) : reason);
}

/// Source: librdkafka's STATISTICS.md: the state of a broker is "UP" once it is connected and has accepted the client.
int on_statistics(rd_kafka_t*, char* json, std::size_t bytes, void* opaque) {
    reports_of(opaque).connected(std::string_view{json, bytes}.find(R"("state":"UP")") != std::string_view::npos);
    return 0;  // librdkafka frees the text
}

/// Eight bytes, the highest first, as Kafka's LongSerializer writes them.
std::array<std::byte, 8> long_bytes(std::uint64_t value) {
    std::array<std::byte, 8> bytes{};
    core::store_be(bytes.data(), value);
    return bytes;
}

using Headers = std::unique_ptr<rd_kafka_headers_t, decltype(&rd_kafka_headers_destroy)>;

// Made here: those that librdkafka makes itself (RD_KAFKA_VTYPE_HEADER) it frees twice when it refuses the message.
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

void check(const Options& options) { static_cast<void>(make_conf(options)); }

void check_files(const Options& options) {
    auto conf = make_conf(options);
    std::array<char, 512> text{};
    auto* const producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), text.data(), text.size());
    if (producer == nullptr) throw std::invalid_argument(text.data());
    static_cast<void>(conf.release());  // it is the producer's now
    rd_kafka_destroy(producer);
}

Producer::Producer(const Options& options, Reports& reports) {
    auto conf = make_conf(options);
    rd_kafka_conf_set_opaque(conf.get(), &reports);
    rd_kafka_conf_set_dr_msg_cb(conf.get(), on_delivery);
    rd_kafka_conf_set_error_cb(conf.get(), on_error);
    rd_kafka_conf_set_stats_cb(conf.get(), on_statistics);
    std::array<char, 512> text{};
    handle_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), text.data(), text.size());
    if (handle_ == nullptr) throw std::invalid_argument(text.data());
    static_cast<void>(conf.release());  // it is the producer's now
}

Producer::~Producer() {
    for (const auto& [name, topic] : topics_) rd_kafka_topic_destroy(topic);
    rd_kafka_purge(handle_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
    rd_kafka_destroy(handle_);
}

Producer::Topic Producer::topic(const std::string& name) {
    auto& topic = topics_[name];
    if (topic == nullptr) topic = rd_kafka_topic_new(handle_, name.c_str(), nullptr);
    return topic;
}

std::optional<std::string> Producer::send(Topic topic, const Record& record, std::uint64_t number) {
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
    // It copies both: the pointers are not to const for the sake of its other modes.
    part(RD_KAFKA_VTYPE_KEY).u.mem = {const_cast<char*>(record.key.data()), record.key.size()};
    part(RD_KAFKA_VTYPE_VALUE).u.mem = {const_cast<char*>(record.value.data()), record.value.size()};
    part(RD_KAFKA_VTYPE_TIMESTAMP).u.i64 = record.received_utc_ns / kNanosPerMilli;
    part(RD_KAFKA_VTYPE_OPAQUE).u.ptr = std::bit_cast<void*>(number);
    part(RD_KAFKA_VTYPE_HEADERS).u.headers = headers.get();
    auto* error = rd_kafka_produceva(handle_, parts.data(), count);
    if (error == nullptr) {
        static_cast<void>(headers.release());  // they are the message's now
        return std::nullopt;
    }
    auto reason = fmt::format("topic '{}': {}", rd_kafka_topic_name(topic), rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return reason;
}

bool Producer::batch_was_too_large() const {
    // Its number is that of enable.gapless.guarantee, whatever the broker said.
    return fatal_error_of(handle_).find(rd_kafka_err2str(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)) != std::string::npos;
}

void Producer::poll(std::chrono::milliseconds longest) { rd_kafka_poll(handle_, static_cast<int>(longest.count())); }

}  // namespace millpond::gateway::kafka
