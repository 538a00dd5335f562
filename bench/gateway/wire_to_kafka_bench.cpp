// Measured:     from before the send call of a bbo28 datagram on loopback until a consumer has the JSON of it, through
//               journal and Kafka; beside it, from before the bare client's produce call. Acknowledged by all, lz4,
//               linger.ms=0. Kafka is a real one of one node where MILLPOND_KAFKA_JARS says where it is, librdkafka's
//               make-believe one otherwise. Consumer and sender are one thread; threads run where the kernel puts them.
// Not measured: a burst, several partitions, connecting, brokers on other machines.
#include <librdkafka/rdkafka.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_json.hpp>

#include "bench/gateway/one_way.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/harness/compare.hpp"
#include "gateway/sinks/journal/settings.hpp"
#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/kafka/producer.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "tests/gateway/sinks/kafka/kafka_broker.hpp"
#include "tests/gateway/sinks/kafka/kafka_cluster.hpp"

namespace {

using namespace millpond;
namespace kafka = gateway::kafka;
using gateway::test::KafkaBroker;

/// The cluster, and a new topic for each run.
class Cluster {
public:
    Cluster() {
        if (KafkaBroker::is_there()) {
            real_.emplace(folder_);
            real_->start();
        } else {
            made_up_.emplace();
        }
    }
    [[nodiscard]] std::string brokers() const { return real_ ? real_->brokers() : made_up_->brokers(); }
    [[nodiscard]] std::string what() const {
        return real_ ? "a real Kafka of one node"
                     : "librdkafka's make-believe cluster (MILLPOND_KAFKA_JARS is not set)";
    }
    [[nodiscard]] std::string new_topic() { return "bbo" + std::to_string(++topics_); }
    [[nodiscard]] std::string folder_of(const std::string& topic) const { return folder_ / topic; }

private:
    millpond::test::Folder folder_{"wire_to_kafka"};
    std::optional<KafkaBroker> real_;
    std::optional<gateway::test::MockCluster> made_up_;
    int topics_{0};
};

/// Reads an existing topic from its beginning.
class Consumer {
public:
    Consumer(const std::string& brokers, const std::string& topic)
        : handle_(gateway::test::kafka_handle(
              RD_KAFKA_CONSUMER,
              {{"bootstrap.servers", brokers}, {"group.id", "bench"}, {"enable.auto.commit", "false"}})) {
        rd_kafka_poll_set_consumer(handle_.get());
        auto* list = rd_kafka_topic_partition_list_new(1);
        constexpr int kPartitions = 3;
        for (int i = 0; i < kPartitions; ++i) {
            rd_kafka_topic_partition_list_add(list, topic.c_str(), i)->offset = RD_KAFKA_OFFSET_BEGINNING;
        }
        rd_kafka_assign(handle_.get(), list);
        rd_kafka_topic_partition_list_destroy(list);
    }
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;
    ~Consumer() {
        message_.reset();
        rd_kafka_consumer_close(handle_.get());
    }

    /// The next value, valid until the next call.
    [[nodiscard]] std::string_view read_line() {
        do {
            message_.reset(rd_kafka_consumer_poll(handle_.get(), 1'000));
        } while (message_ == nullptr || message_->err != RD_KAFKA_RESP_ERR_NO_ERROR);
        return {static_cast<const char*>(message_->payload), message_->len};
    }

private:
    struct Destroy {
        void operator()(rd_kafka_message_t* message) const noexcept { rd_kafka_message_destroy(message); }
    };
    gateway::test::KafkaHandle handle_;
    std::unique_ptr<rd_kafka_message_t, Destroy> message_;
};

/// The bare client's produce call with a finished value.
class ProduceWire final : public kafka::Producer::Reports {
public:
    ProduceWire(const std::string& brokers, const std::string& topic)
        : producer_(settings_for(brokers), "", {}, *this), topic_(producer_.topic(topic)) {
        prepare(1);
        send();
        while (delivered_ == 0) producer_.poll(std::chrono::milliseconds{10});  // creates the topic
    }
    void prepare(std::uint32_t price) {
        const feed::Quote quote{.bid_price = feed::price_from<10'000>(price),
                                .ask_price = feed::price_from<10'000>(price + 100),
                                .bid_size = 200,
                                .ask_size = 300};
        value_ = feed::quote_json(buffer_, quote, symbol_, 1);
        producer_.poll(std::chrono::milliseconds{0});
    }
    void send() {
        if (const auto refused = producer_.send(topic_, {.key = "MILLPOND", .value = value_}, 0)) {
            throw std::runtime_error(refused->text);
        }
    }

    void delivered(std::uint64_t, std::size_t) override { ++delivered_; }
    void failed(std::uint64_t, const kafka::Refusal& refusal) override { throw std::runtime_error(refusal.text); }
    void error(const std::string& text) override { throw std::runtime_error(text); }
    void connected(bool) override {}

private:
    static kafka::Settings settings_for(const std::string& brokers) {
        kafka::Settings settings;
        settings.brokers = {brokers};
        settings.properties = {"linger.ms=0"};
        return settings;
    }

    kafka::Producer producer_;
    kafka::Producer::Topic topic_;
    std::uint64_t delivered_{0};
    feed::JsonSymbol symbol_{feed::Symbol{"MILLPOND"}};
    std::array<char, feed::kMaxJsonBytes> buffer_{};
    std::string_view value_;
};

std::size_t count() { return bench::scaled(150); }

// Each path is made once and stays connected: unread messages of former runs are skipped.
class BarePath {
public:
    explicit BarePath(Cluster& cluster) : BarePath(cluster.brokers(), cluster.new_topic()) {}
    bench::Finding run() { return bench::follow(wire_, consumer_, count()); }

private:
    BarePath(const std::string& brokers, const std::string& topic) : wire_(brokers, topic), consumer_(brokers, topic) {}

    ProduceWire wire_;
    Consumer consumer_;
};

class SinkPath {
public:
    explicit SinkPath(Cluster& cluster) : SinkPath(cluster, cluster.new_topic()) {}
    bench::Finding run() { return bench::follow(wire_, consumer_, count()); }

private:
    SinkPath(const Cluster& cluster, const std::string& topic)
        : gateway_(options(cluster, topic)), consumer_(cluster.brokers(), topic), wire_(gateway_.feed_port()) {}
    static bench::RunningGateway::Options options(const Cluster& cluster, const std::string& topic) {
        {
            const ProduceWire exists{cluster.brokers(), topic};
        }
        return {.receive_core = bench::two_cores().second,
                .poll = core::Poll::adaptive,
                .also = [&cluster, topic](gateway::Config& config) {
                    config.add<gateway::journal::Settings>().writer.folder = cluster.folder_of(topic);
                    auto& kafka = config.add<gateway::kafka::Settings>();
                    kafka.brokers = {cluster.brokers()};
                    kafka.topic = topic;
                    kafka.properties = {"linger.ms=0"};
                }};
    }

    bench::RunningGateway gateway_;
    Consumer consumer_;
    bench::FeedWire wire_;
};

}  // namespace

int main() {
    bench::roam();
    Cluster cluster;
    BarePath bare{cluster};
    SinkPath sink{cluster};
    bench::compare(
        {.question = "How long from the wire to a Kafka consumer?",
         .unit = "us",
         .goals = {{.contender = "millpond gateway, journal and kafka sink",
                    .to = "bare librdkafka, produce to consumer",
                    .at_most = 1.5}},
         .measured = "from before the send call of a bbo28 datagram on loopback (the bare client: from before "
                     "its produce call) until a consumer has the JSON, acks=all, lz4, linger.ms=0, by " +
                     cluster.what() + "; threads run where the kernel puts them",
         .not_measured = "a burst, several partitions, connecting, brokers on other machines"},
        {{"bare librdkafka, produce to consumer", [&] { return bare.run(); }},
         {"millpond gateway, journal and kafka sink", [&] { return sink.run(); }}});
}
