#include "gateway/sinks/kafka/producer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <millpond/core/clock.hpp>

#include "tests/gateway/sinks/kafka/kafka_cluster.hpp"

namespace millpond::gateway::kafka {
namespace {

using ::testing::HasSubstr;

struct Counted final : Producer::Reports {
    void delivered(std::uint64_t, std::size_t) override { ++deliveries; }
    void failed(std::uint64_t, const Refusal&) override { ++failures; }
    void error(const std::string&) override {}
    void compacted(const std::string&) override {}
    void connected(bool) override {}
    std::uint64_t deliveries{0};
    std::uint64_t failures{0};
};

constexpr Record kRecord{.key = "AAPL", .value = "{}", .epoch = 1, .sequence = 2, .received_utc_ns = 3};
constexpr std::uint64_t kRefusals = 1'000;

/// Polls until `reached` returns true; false after a timeout.
template <class Reached>
bool poll_until(Producer& producer, Reached&& reached) {
    constexpr std::int64_t kPatienceNs = 60'000'000'000;
    const auto until = core::monotonic_nanos() + kPatienceNs;
    while (!reached()) {
        if (core::monotonic_nanos() > until) return false;
        producer.poll(std::chrono::milliseconds{1});
    }
    return true;
}

TEST(KafkaProducer, NothingGoesOutBehindAMessageThatIsRefusedForGood) {
    const test::MockCluster cluster;
    cluster.make_topic("bbo");
    cluster.fail_produce(1, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    Counted counted;
    Settings settings;
    settings.brokers = {cluster.brokers()};
    Producer producer{settings, "", {}, counted};
    auto* const topic = producer.topic("bbo");
    ASSERT_FALSE(producer.send(topic, kRecord, 0));
    ASSERT_TRUE(poll_until(producer, [&] { return counted.failures == 1; }));
    for (std::uint64_t i = 0; i < kRefusals; ++i) {
        const auto refusal = producer.send(topic, kRecord, i + 1);
        ASSERT_TRUE(refusal);
        ASSERT_EQ(refusal->kind, Refusal::Kind::producer);
        ASSERT_THAT(refusal->text, HasSubstr("Topic authorization failed"));
    }
    EXPECT_EQ(counted.deliveries, 0U);
}

TEST(KafkaProducer, AMessageForATopicThatIsNotThereIsRefusedAndHarmsNothing) {
    const test::MockCluster cluster;
    cluster.refuse("bbo", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    Counted counted;
    Settings settings;
    settings.brokers = {cluster.brokers()};
    settings.properties = {"topic.metadata.propagation.max.ms=0"};
    Producer producer{settings, "", {}, counted};
    auto* const topic = producer.topic("bbo");
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    ASSERT_TRUE(poll_until(producer, [&] {
        const auto refusal = producer.send(topic, kRecord, accepted);
        ++(refusal ? refused : accepted);
        return refused == kRefusals;
    }));
    EXPECT_TRUE(poll_until(producer, [&] { return counted.failures == accepted; }));
    EXPECT_EQ(counted.deliveries, 0U);
}

}  // namespace
}  // namespace millpond::gateway::kafka
