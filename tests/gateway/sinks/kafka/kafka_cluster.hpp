#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/endian.hpp>

namespace millpond::gateway::test {

struct DestroyKafka {
    void operator()(rd_kafka_t* handle) const noexcept { rd_kafka_destroy(handle); }
};
using KafkaHandle = std::unique_ptr<rd_kafka_t, DestroyKafka>;
using KafkaSettings = std::vector<std::pair<std::string, std::string>>;

inline KafkaHandle kafka_handle(rd_kafka_type_t type, const KafkaSettings& settings) {
    auto* conf = rd_kafka_conf_new();
    std::array<char, 512> text{};
    rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
    for (const auto& [key, value] : settings) {
        if (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), text.data(), text.size()) != RD_KAFKA_CONF_OK) {
            throw std::runtime_error(text.data());
        }
    }
    KafkaHandle handle{rd_kafka_new(type, conf, text.data(), text.size())};
    if (!handle) throw std::runtime_error(text.data());
    return handle;
}

/// librdkafka's mock cluster, in this process.
class MockCluster {
public:
    static constexpr int kBrokers = 2;
    static constexpr int kPartitions = 3;

    MockCluster()
        : handle_(kafka_handle(RD_KAFKA_PRODUCER, {})), cluster_(rd_kafka_mock_cluster_new(handle_.get(), kBrokers)) {}
    ~MockCluster() { rd_kafka_mock_cluster_destroy(cluster_); }
    MockCluster(const MockCluster&) = delete;
    MockCluster& operator=(const MockCluster&) = delete;

    [[nodiscard]] std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
    void make_topic(const std::string& name) const {
        rd_kafka_mock_topic_create(cluster_, name.c_str(), kPartitions, kBrokers);
    }
    void stop_brokers() const {
        for (int id = 1; id <= kBrokers; ++id) rd_kafka_mock_broker_set_down(cluster_, id);
    }
    void bring_up() const {
        for (int id = 1; id <= kBrokers; ++id) rd_kafka_mock_broker_set_up(cluster_, id);
    }
    void refuse(const std::string& topic, rd_kafka_resp_err_t error) const {
        rd_kafka_mock_topic_set_error(cluster_, topic.c_str(), error);
    }
    /// Makes the next `requests` PRODUCE requests fail with this error.
    void fail_produce(std::size_t requests, rd_kafka_resp_err_t error) const {
        constexpr std::int16_t kProduce = 0;
        const std::vector<rd_kafka_resp_err_t> errors(requests, error);
        rd_kafka_mock_push_request_errors_array(cluster_, kProduce, errors.size(), errors.data());
    }

private:
    KafkaHandle handle_;
    rd_kafka_mock_cluster_t* cluster_;
};

/// Reads all partitions of topics from the beginning.
class KafkaReader {
public:
    struct Received {
        std::string topic;
        std::int32_t partition;
        std::string key;
        std::string value;
        std::uint64_t epoch;
        std::uint64_t sequence;
        std::uint64_t received_utc_ns;
    };

    /// security: security settings of the connection.
    KafkaReader(const std::string& brokers, const std::vector<std::string>& topics, int partitions,
                const KafkaSettings& security = {})
        : handle_(kafka_handle(RD_KAFKA_CONSUMER, settings_of(brokers, security))) {
        auto* list = rd_kafka_topic_partition_list_new(1);
        for (const auto& topic : topics) {
            for (int i = 0; i < partitions; ++i) {
                rd_kafka_topic_partition_list_add(list, topic.c_str(), i)->offset = RD_KAFKA_OFFSET_BEGINNING;
            }
        }
        rd_kafka_poll_set_consumer(handle_.get());
        const auto error = rd_kafka_assign(handle_.get(), list);
        rd_kafka_topic_partition_list_destroy(list);
        if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error(rd_kafka_err2str(error));
    }
    ~KafkaReader() { rd_kafka_consumer_close(handle_.get()); }
    KafkaReader(const KafkaReader&) = delete;
    KafkaReader& operator=(const KafkaReader&) = delete;

    /// Receives messages and calls `meanwhile` until `reached` returns true; false after a timeout.
    bool until(const std::function<bool()>& reached, const std::function<void()>& meanwhile = [] {}) {
        constexpr std::int64_t kTimeoutNs = 120'000'000'000;
        const auto until = core::monotonic_nanos() + kTimeoutNs;
        while (!reached()) {
            if (core::monotonic_nanos() > until) return false;
            meanwhile();
            store(rd_kafka_consumer_poll(handle_.get(), 5));
        }
        return true;
    }

    std::vector<Received> received;
    std::set<std::uint64_t> sequences;  ///< Sequences of the messages.

private:
    static KafkaSettings settings_of(const std::string& brokers, const KafkaSettings& security) {
        KafkaSettings settings{{"bootstrap.servers", brokers},  {"group.id", "test"},
                               {"enable.auto.commit", "false"}, {"fetch.wait.max.ms", "10"},
                               {"fetch.error.backoff.ms", "5"}, {"auto.offset.reset", "earliest"}};
        settings.insert(settings.end(), security.begin(), security.end());
        return settings;
    }
    void store(rd_kafka_message_t* message) {
        if (message == nullptr) return;
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            received.push_back({rd_kafka_topic_name(message->rkt),
                                message->partition,
                                {static_cast<const char*>(message->key), message->key_len},
                                {static_cast<const char*>(message->payload), message->len},
                                header(message, "epoch"),
                                header(message, "sequence"),
                                header(message, "received")});
            sequences.insert(received.back().sequence);
        }
        rd_kafka_message_destroy(message);
    }
    static std::uint64_t header(const rd_kafka_message_t* message, const char* name) {
        rd_kafka_headers_t* headers = nullptr;
        const void* value = nullptr;
        std::size_t size = 0;
        if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
            rd_kafka_header_get_last(headers, name, &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR || size != 8) {
            throw std::runtime_error(std::string{"no header "} + name);
        }
        return core::load_be<std::uint64_t>(static_cast<const std::byte*>(value));
    }

    KafkaHandle handle_;
};

}  // namespace millpond::gateway::test
