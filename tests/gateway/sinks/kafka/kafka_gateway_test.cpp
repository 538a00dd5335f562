// A whole gateway with a kafka sink, and librdkafka's mock cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include <sys/mount.h>

#include <millpond/journal/catalog.hpp>

#include "gateway/gateway.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/sinks/journal/settings.hpp"
#include "gateway/sinks/kafka/settings.hpp"
#include "tests/gateway/receive/paced_quotes.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/kafka/kafka_cluster.hpp"
#include "tests/service/certificate.hpp"

namespace millpond::gateway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Adds a journal and a kafka sink that follows it to a configuration.
std::function<void(Config&)> with_kafka(const millpond::test::Folder& folder, const std::string& brokers) {
    return [&folder, brokers](Config& config) {
        auto& journal = config.add<journal::Settings>();
        journal.writer.folder = folder / "journal";
        journal.writer.segment_bytes = 1U << 20U;
        config.add<kafka::Settings>().brokers = {brokers};
    };
}

TEST(KafkaGateway, ADeadBrokerIsNamedByItsHealthAndTheEventsWait) {
    const millpond::test::Folder folder{"kafkahealth"};
    const test::MockCluster cluster;
    cluster.stop_brokers();
    test::RunningGateway gateway{"kafkahealth", with_kafka(folder, cluster.brokers())};
    gateway.send_quote();
    // The quote may reach the journal after the sink has found no broker.
    const auto found = gateway.found(health::Stage::sink_disconnected, "1 events queued");
    EXPECT_EQ(found.of, "sink 'kafka'");
    EXPECT_THAT(found.text, AllOf(HasSubstr("1 events queued"), HasSubstr("kafka sink 'kafka': ")));
    cluster.bring_up();
    EXPECT_TRUE(gateway.becomes_good());
}

TEST(KafkaGateway, ASinkGoesAndComesWithItsJournal) {
    const millpond::test::Folder folder{"kafkareload"};
    const test::MockCluster cluster;
    Config config;
    test::RunningGateway gateway{"kafkareload", [&](Config& started) {
                                     with_kafka(folder, cluster.brokers())(started);
                                     config = started;
                                 }};
    complete(config);
    const auto& sinks = gateway.gateway().sinks();
    ASSERT_EQ(sinks.size(), 2U);
    EXPECT_EQ(sinks[1]->type(), "kafka");
    EXPECT_EQ(sinks[1]->ring(), config.rings[0].name);
    EXPECT_THAT(gateway.gateway().reconfigure(config).done, IsEmpty());
    config.first<journal::Settings>()->writer.keep_for = std::chrono::hours{1};
    EXPECT_THAT(
        gateway.gateway().reconfigure(config).done,
        ElementsAre("sink 'kafka' is closed", "sink 'journal' is closed", "sink 'journal' runs", "sink 'kafka' runs"));
    gateway.send_quote();
    EXPECT_TRUE(gateway.watch_until([&](const health::State&) { return sinks[1]->account().delivered == 1; }));
    config.first<kafka::Settings>()->properties = {"linger.ms=1"};
    EXPECT_THAT(gateway.gateway().reconfigure(config).done, ElementsAre("sink 'kafka' is closed", "sink 'kafka' runs"));
    EXPECT_TRUE(sinks[1]->account().closes());
    EXPECT_FALSE(sinks[1]->ended());
}

/// A file system of limited size; the destructor unmounts it.
class SmallDisk {
public:
    SmallDisk(std::string folder, const std::string& size) : folder_(std::move(folder)) {
        std::filesystem::create_directories(folder_);
        is_there_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    ~SmallDisk() {
        if (is_there_) umount(folder_.c_str());
    }
    [[nodiscard]] bool is_there() const noexcept { return is_there_; }

private:
    std::string folder_;
    bool is_there_;
};

/// Ring numbers that Kafka has an event for or that were reported as lost. Expects each number once.
std::set<std::uint64_t> accounted(test::KafkaReader& reader, std::size_t wanted, std::uint64_t& lost) {
    std::set<std::uint64_t> numbers;
    std::size_t seen = 0;
    EXPECT_TRUE(reader.until([&] {
        for (; seen < reader.received.size(); ++seen) {
            const auto& message = reader.received[seen];
            const bool is_loss = message.value.starts_with(R"({"type":"lost","reason":"lapped")");
            const auto in = [&](const char* key) { return static_cast<std::uint64_t>(number_in(message.value, key)); };
            const auto first = is_loss ? in("first") : message.sequence;
            const auto last = is_loss ? in("last") : message.sequence;
            if (is_loss) lost += last - first + 1;
            for (auto n = first; n <= last; ++n) EXPECT_TRUE(numbers.insert(n).second) << n;
        }
        return numbers.size() >= wanted;
    })) << numbers.size();
    return numbers;
}

TEST(KafkaGateway, OnAFullDiskAGatewayStartsWithoutItsJournalWhichBeginsWhenThereIsSpace) {
    const millpond::test::Folder folder{"journalfull"};
    const SmallDisk disk{folder / "journal", "4k"};
    if (!disk.is_there()) GTEST_SKIP() << "may not mount a tmpfs (root needed)";
    std::ofstream{folder / "journal/full"} << std::string(4'096, 'x');
    test::RunningGateway gateway{"journalfull", [&](Config& config) {
                                     auto& journal = config.add<journal::Settings>();
                                     journal.writer.folder = folder / "journal";
                                     journal.writer.segment_bytes = 1U << 20U;
                                 }};
    gateway.send_quote();
    const auto finding = gateway.found(health::Stage::sink_behind);
    EXPECT_NE(finding.text.find("it records nothing; retrying"), std::string::npos) << finding.text;
    ASSERT_EQ(mount("tmpfs", (folder / "journal").c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0);
    const auto& journal = *gateway.gateway().sinks()[0];
    EXPECT_TRUE(gateway.watch_until([&](const health::State&) { return journal.account().delivered == 1; }));
    EXPECT_TRUE(gateway.watch_until([](const health::State& state) {
        return std::ranges::none_of(health::findings(state, state.now),
                                    [](const health::Finding& one) { return one.stage == health::Stage::sink_behind; });
    }));
    EXPECT_TRUE(journal.account().closes());
}

TEST(KafkaGateway, EventsLostToAFullDiskAreReportedInKafkaAndNoOthersAreMissing) {
    const millpond::test::Folder folder{"kafkadisk"};
    constexpr std::uint64_t kRing = 1'024;
    const SmallDisk disk{folder / "journal", "3m"};
    if (!disk.is_there()) GTEST_SKIP() << "may not mount a tmpfs (root needed)";
    const test::MockCluster cluster;
    for (const auto* topic : {"bbo", "millpond.events"}) cluster.make_topic(topic);
    test::RunningGateway gateway{"kafkadisk", [&](Config& config) {
                                     with_kafka(folder, cluster.brokers())(config);
                                     config.rings[0].capacity = kRing;
                                 }};
    const auto& journal = *gateway.gateway().sinks()[0];
    const auto& kafka = *gateway.gateway().sinks()[1];
    const auto settles = [&](const Consumer& sink) {
        return gateway.watch_until([&](const health::State&) { return sink.account().queued == 0; });
    };
    constexpr std::uint64_t kMaxQuotes = 200'000;
    test::PacedQuotes quotes{gateway};
    while (test::metric_of(journal, "write_errors_total") == 0 || journal.account().missed == 0) {
        ASSERT_LT(quotes.sent(), kMaxQuotes) << "missed " << journal.account().missed << ", write errors "
                                             << test::metric_of(journal, "write_errors_total") << ", segments "
                                             << test::metric_of(journal, "segments_total");
        quotes.send_up_to(quotes.sent() + 500);
        std::this_thread::sleep_for(std::chrono::milliseconds{2});  // gives the journal's threads time to run
    }
    // The first segment may be removed once Kafka has all of its records.
    ASSERT_TRUE(gateway.watch_until(
        [&](const health::State&) { return kafka.account().delivered >= journal.account().delivered; }));
    std::filesystem::remove(millpond::journal::list_segments(folder / "journal").front().path);
    ASSERT_TRUE(settles(journal));
    EXPECT_NE(journal.account().missed, 0U);
    quotes.send_up_to(quotes.sent() + 100);
    quotes.expect_all_received();
    ASSERT_TRUE(settles(journal));
    test::KafkaReader reader{cluster.brokers(), {"bbo", "millpond.events"}, test::MockCluster::kPartitions};
    std::uint64_t lost = 0;
    const auto numbers = accounted(reader, quotes.published(), lost);
    ASSERT_EQ(numbers.size(), quotes.published());
    EXPECT_EQ(*numbers.rbegin(), quotes.published());
    EXPECT_EQ(lost, journal.account().missed);
    EXPECT_TRUE(journal.account().closes());
    ASSERT_TRUE(settles(kafka));
    EXPECT_TRUE(kafka.account().closes());
    EXPECT_EQ(kafka.account().missed, 0U);
}

}  // namespace
}  // namespace millpond::gateway
