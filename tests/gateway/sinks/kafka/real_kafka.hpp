#pragma once

#include <gtest/gtest.h>

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>

#include "gateway/settings/config.hpp"
#include "gateway/sinks/journal/settings.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "gateway/sinks/kafka/value.hpp"
#include "tests/gateway/receive/paced_quotes.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/gateway/sinks/kafka/kafka_broker.hpp"
#include "tests/gateway/sinks/kafka/kafka_cluster.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::gateway::test {

/// Tests with a whole gateway, its journal, and a real Kafka.
class RealKafka : public ::testing::Test {
protected:
    static constexpr int kPartitions = 3;  // tools/kafka_broker's

    void SetUp() override {
        if (!KafkaBroker::is_there()) GTEST_SKIP() << "needs MILLPOND_KAFKA_JARS=$(tools/fetch_kafka)";
    }
    std::function<void(Config&)> with_kafka(const std::string& brokers, const std::vector<std::string>& properties) {
        return [this, brokers, properties](Config& config) {
            config.add<journal::Settings>().writer.folder = folder_ / "journal";
            auto& kafka = config.add<kafka::Settings>();
            kafka.brokers = {brokers};
            kafka.format = kafka::Format::binary;
            kafka.properties = {"reconnect.backoff.ms=10", "reconnect.backoff.max.ms=200"};
            kafka.properties.insert(kafka.properties.end(), properties.begin(), properties.end());
        };
    }
    static const Consumer& sink_of(RunningGateway& gateway) { return *gateway.gateway().sinks().back(); }
    /// The journal, which must not be lapped: events would be lost before they reach Kafka.
    static const Consumer* journal_of(RunningGateway& gateway) { return gateway.gateway().sinks().front().get(); }
    static bool delivers(RunningGateway& gateway, std::uint64_t count) {
        constexpr std::int64_t kTimeoutNs = 600'000'000'000;
        const auto until = core::monotonic_nanos() + kTimeoutNs;
        while (sink_of(gateway).account().delivered < count) {
            if (core::monotonic_nanos() > until) return false;
            gateway.gateway().watch();
            ::poll(nullptr, 0, 1);
        }
        return true;
    }
    /// Expects that the topic has every quote, in order for each symbol; returns its number of messages.
    static std::size_t expect_complete(const std::string& brokers, std::uint64_t count,
                                       const KafkaSettings& security = {}) {
        KafkaReader reader{brokers, {"bbo"}, kPartitions, security};
        EXPECT_TRUE(reader.until([&] { return reader.sequences.size() == count; })) << reader.sequences.size();
        std::map<std::string, std::uint64_t> newest;
        std::map<std::string, std::uint64_t> next;
        for (std::uint64_t n = 1; n <= PacedQuotes::kSymbols; ++n) next[PacedQuotes::symbol(n)] = n;
        for (const auto& message : reader.received) {
            auto& last = newest[message.key];
            if (message.sequence <= last) continue;  // sent again
            last = message.sequence;
            feed::Quote quote;
            std::memcpy(&quote, message.value.data() + kafka::kValueHeadBytes, sizeof(quote));
            auto& expected = next.at(message.key);
            EXPECT_EQ(static_cast<std::uint64_t>(quote.bid_price), expected) << message.key;
            if (static_cast<std::uint64_t>(quote.bid_price) != expected) break;
            expected += PacedQuotes::kSymbols;
        }
        return reader.received.size();
    }
    static void expect_settled(RunningGateway& gateway, PacedQuotes& quotes) {
        quotes.expect_all_received();
        for (const auto& sink : gateway.gateway().sinks()) {
            const auto account = sink->account();
            EXPECT_TRUE(account.closes()) << sink->name();
            EXPECT_EQ(account.missed, 0U) << sink->name();
        }
    }

    millpond::test::Folder folder_{"realkafka"};
};

}  // namespace millpond::gateway::test
