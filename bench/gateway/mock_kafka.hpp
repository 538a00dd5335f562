#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <stdexcept>
#include <string>

namespace millpond::bench {

/// librdkafka's mock cluster with one broker in this process.
///
/// Threads: its own, on the processors of the thread that constructs it.
class MockKafka {
public:
    static constexpr int kPartitions = 3;

    MockKafka() {
        auto* conf = rd_kafka_conf_new();
        rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
        std::array<char, 256> why{};
        handle_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size());
        if (handle_ == nullptr) throw std::runtime_error(why.data());
        cluster_ = rd_kafka_mock_cluster_new(handle_, 1);
        rd_kafka_mock_topic_create(cluster_, "bbo", kPartitions, 1);
    }
    MockKafka(const MockKafka&) = delete;
    MockKafka& operator=(const MockKafka&) = delete;
    ~MockKafka() {
        rd_kafka_mock_cluster_destroy(cluster_);
        rd_kafka_destroy(handle_);
    }

    [[nodiscard]] std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }

private:
    rd_kafka_t* handle_;
    rd_kafka_mock_cluster_t* cluster_;
};

}  // namespace millpond::bench
