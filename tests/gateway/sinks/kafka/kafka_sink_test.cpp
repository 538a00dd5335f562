#include "gateway/sinks/kafka/kafka_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "gateway/sinks/journal/journal_sink.hpp"
#include "gateway/sinks/sink_thread.hpp"
#include "tests/gateway/said.hpp"
#include "tests/gateway/sinks/kafka/kafka_cluster.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/service/certificate.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::gateway::kafka {
namespace {

using test::KafkaReader;
using test::MockCluster;
using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

/// A ring, the journal of its events, and what follows it.
class KafkaSinkTest : public ::testing::Test {
protected:
    void open_journal(const millpond::journal::WriterOptions& more = {}) {
        journal_.reset();
        auto options = more;
        options.folder = folder_ / "journal";
        options.ring = ring_.name;
        options.segment_bytes = kMiB;
        auto sink = std::make_unique<journal::JournalSink>(journal::Options{.writer = options}, said_.say());
        newest_ = &sink->counters().newest_record;
        journal_ = std::make_unique<SinkThread>(SinkThread::Options{.ring = ring_.name, .name = "journal"},
                                                std::move(sink), said_.say());
    }
    void publish(std::uint64_t quotes) {
        constexpr std::uint64_t kBurst = 500;
        for (; quotes != 0; drain()) {
            const auto now = std::min(quotes, kBurst);
            ring_.publish_quotes(now);
            quotes -= now;
        }
    }
    void drain() {
        do {
            journal_->round(core::monotonic_nanos());
        } while (journal_->account().queued != 0);
    }
    [[nodiscard]] Options options(const std::string& brokers) {
        return {.ring = ring_.name,
                .journal = folder_ / "journal",
                .newest_record = newest_,
                .position_file = folder_ / "kafka.position",
                .brokers = brokers,
                .properties = {{"reconnect.backoff.max.ms", "50"}, {"reconnect.backoff.ms", "5"}}};
    }
    std::unique_ptr<KafkaSink> open(const Options& options) {
        auto sink = std::make_unique<KafkaSink>(options, said_.say());
        sink->start();
        return sink;
    }
    /// Waits until; false when that takes too long.
    template <class Reached>
    static bool wait(Reached&& reached) {
        constexpr std::int64_t kPatienceNs = 120'000'000'000;
        const auto until = core::monotonic_nanos() + kPatienceNs;
        while (!reached()) {
            if (core::monotonic_nanos() > until) return false;
            ::poll(nullptr, 0, 1);
        }
        return true;
    }
    /// Without what was sent again: each key's values in their order, and that this is the order of the sequence.
    static std::map<std::string, std::vector<std::string>> by_key(const KafkaReader& reader) {
        std::map<std::string, std::vector<std::string>> values;
        std::map<std::string, std::uint64_t> newest;
        for (const auto& message : reader.received) {
            auto& last = newest[message.key];
            if (message.sequence <= last) continue;
            last = message.sequence;
            values[message.key].push_back(message.value);
        }
        return values;
    }
    static void expect_all(const KafkaReader& reader, std::uint64_t quotes) {
        const auto values = by_key(reader);
        ASSERT_EQ(values.at("MSFT").size() + values.at("AAPL").size(), quotes);
        for (std::uint64_t n = 1; n <= quotes; ++n) {
            ASSERT_EQ(values.at(n % 2 == 0 ? "AAPL" : "MSFT")[(n - 1) / 2], json_of(n));
        }
    }

    millpond::test::Folder folder_{"kafka"};
    TestRing ring_{"kafka"};
    Said said_;
    const core::Tally* newest_{nullptr};
    std::unique_ptr<SinkThread> journal_;
};

TEST_F(KafkaSinkTest, EveryQuoteArrivesOnceInOrderOfItsSymbolWithKeyHeadersAndValue) {
    constexpr std::uint64_t kQuotes = 3'000;
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    publish(kQuotes / 2);  // before it is opened
    const auto sink = open(options(cluster.brokers()));
    publish(kQuotes / 2);
    ASSERT_TRUE(reader.until([&] { return reader.received.size() >= kQuotes; }));
    EXPECT_EQ(reader.received.size(), kQuotes);
    expect_all(reader, kQuotes);
    std::map<std::string, std::set<std::int32_t>> partitions;
    for (const auto& message : reader.received) {
        partitions[message.key].insert(message.partition);
        ASSERT_EQ(message.received_utc_ns, 1'700'000'000'000'000'000U);
        ASSERT_NE(message.epoch, 0U);
    }
    for (const auto& [key, where] : partitions) EXPECT_EQ(where.size(), 1U) << key;
    ASSERT_TRUE(wait([&] { return sink->account().delivered == kQuotes; }));
    const auto account = sink->account();
    EXPECT_TRUE(account.closes());
    EXPECT_EQ(account.missed, 0U);
    EXPECT_EQ(account.filtered, 2U);  // the names
    EXPECT_EQ(sink->counters().messages.read(), kQuotes);
}

TEST_F(KafkaSinkTest, AnOutageOfTheBrokersLosesAndRepeatsNothing) {
    constexpr std::uint64_t kPart = 2'000;
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    const auto sink = open(options(cluster.brokers()));
    publish(kPart);
    ASSERT_TRUE(wait([&] { return sink->counters().messages.read() != 0; }));
    cluster.take_down();
    publish(kPart);
    ASSERT_TRUE(wait([&] { return sink->counters().errors.read() != 0; }));
    cluster.bring_up();
    publish(kPart);
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == 3 * kPart; }));
    expect_all(reader, 3 * kPart);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == 3 * kPart; }));
    EXPECT_EQ(sink->counters().restarts.read(), 0U);
    EXPECT_TRUE(said_.has("kafka sink 'kafka': "));
}

TEST_F(KafkaSinkTest, AfterItsEndItGoesOnBehindTheLastDeliveredRecord) {
    constexpr std::uint64_t kPart = 1'000;
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    for (int run = 0; run < 3; ++run) {
        const auto sink = open(options(cluster.brokers()));
        publish(kPart);
        ASSERT_TRUE(wait([&] { return sink->account().delivered == kPart; }));
        EXPECT_EQ(sink->account().queued, 0U);
    }
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == 3 * kPart; }));
    EXPECT_EQ(reader.received.size(), 3 * kPart);
    expect_all(reader, 3 * kPart);
}

TEST_F(KafkaSinkTest, WhatAnEndDuringAnOutageLeftUndeliveredComesInTheNextRun) {
    constexpr std::uint64_t kPart = 1'000;
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    cluster.take_down();
    {
        auto settings = options(cluster.brokers());
        settings.window = kPart / 10;  // full at the end
        const auto sink = open(settings);
        publish(kPart);
        ASSERT_TRUE(wait([&] { return sink->counters().in_flight.read() == settings.window; }));
    }
    EXPECT_EQ(PositionFile{folder_ / "kafka.position"}.record(), 0U);
    cluster.bring_up();
    publish(kPart);
    const auto sink = open(options(cluster.brokers()));
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == 2 * kPart; }));
    expect_all(reader, 2 * kPart);
}

TEST_F(KafkaSinkTest, ProcessesThatAreKilledLoseNothing) {
    constexpr std::uint64_t kPart = 3'000;
    constexpr int kKills = 3;
    /// What a child, forked before there are any threads, waits for.
    struct Task {
        std::uint64_t newest;
        std::array<char, 128> brokers;
    };
    struct Child {
        std::array<int, 2> pipe{};
        std::unique_ptr<millpond::test::ChildProcess> process;
    };
    std::array<Child, kKills> children;
    for (auto& child : children) {
        ASSERT_EQ(::pipe(child.pipe.data()), 0);
        child.process = std::make_unique<millpond::test::ChildProcess>([&] {
            Task task{};
            if (::read(child.pipe[0], &task, sizeof(task)) != sizeof(task)) return 1;
            core::Tally newest;
            newest.set(task.newest);
            newest_ = &newest;
            auto settings = options(task.brokers.data());
            settings.window = 100;
            const auto sink = open(settings);
            return wait([] { return false; }) ? 0 : 1;
        });
    }
    open_journal();
    publish(kPart);
    const MockCluster cluster;
    cluster.make_topic("bbo");
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    for (auto& child : children) {
        Task task{.newest = newest_->read(), .brokers = {}};
        cluster.brokers().copy(task.brokers.data(), task.brokers.size() - 1);
        const auto before = reader.received.size();
        ASSERT_EQ(::write(child.pipe[1], &task, sizeof(task)), static_cast<ssize_t>(sizeof(task)));
        ASSERT_TRUE(reader.until([&] { return reader.received.size() > before + 50; }));
        child.process->kill_now();
        for (const int end : child.pipe) ::close(end);
    }
    publish(kPart);
    const auto sink = open(options(cluster.brokers()));
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == 2 * kPart; }));
    expect_all(reader, 2 * kPart);
}

TEST_F(KafkaSinkTest, WhatConcernsNoInstrumentGoesToTheEventsTopic) {
    open_journal();
    const MockCluster cluster;
    for (const auto* topic : {"q.X", "millpond.events"}) cluster.make_topic(topic);
    ring_.writer.publish(feed::Gap{.channel = 1, .first = 5, .last = 9});
    ring_.writer.publish(feed::Clear{.channel = 1});
    ring_.writer.publish(feed::Status{.channel = 1, .state = feed::TradingState::halted});
    ring_.writer.publish(trade_of(0, 20'000));
    ring_.writer.publish(feed::Status{.instrument = 1, .state = feed::TradingState::halted});
    ring_.writer.publish(feed::TradeBreak{.instrument = 0, .trade_id = 4'711});
    drain();
    auto settings = options(cluster.brokers());
    settings.topic = "q.{venue}";
    const auto sink = open(settings);
    KafkaReader reader{cluster.brokers(), {"q.X", "millpond.events"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.received.size() == 6; }));
    std::map<std::uint64_t, KafkaReader::Received> all;
    for (const auto& message : reader.received) all[message.sequence] = message;
    for (const std::uint64_t sequence : {1U, 2U, 3U}) {
        EXPECT_EQ(all[sequence].topic, "millpond.events");
        EXPECT_EQ(all[sequence].key, ring_.name);
    }
    EXPECT_THAT(all[1].value, HasSubstr(R"("type":"gap","channel":1)"));
    EXPECT_THAT(all[1].value, HasSubstr(R"("first":5,"last":9)"));
    EXPECT_THAT(all[2].value, HasSubstr(R"("type":"clear")"));
    EXPECT_EQ(all[4].topic, "q.X");
    EXPECT_EQ(all[4].key, "AAPL");
    EXPECT_THAT(all[4].value, HasSubstr(R"("type":"trade","symbol":"AAPL")"));
    EXPECT_EQ(all[5].key, "MSFT");
    EXPECT_THAT(all[5].value, HasSubstr(R"("state":"halted")"));
    EXPECT_EQ(all[6].topic, "q.X");
    EXPECT_EQ(all[6].key, "AAPL");
    EXPECT_THAT(all[6].value, HasSubstr(R"("type":"trade_break","symbol":"AAPL")"));
    EXPECT_THAT(all[6].value, HasSubstr(R"("trade_id":4711})"));
}

TEST_F(KafkaSinkTest, WhatTheRingLostBeforeItWasWrittenDownIsTold) {
    open_journal();
    ring_.publish_quotes(10);
    drain();
    ring_.publish_quotes(5'000);  // more than it holds
    drain();
    const auto missed = journal_->account().missed;
    ASSERT_NE(missed, 0U);
    const MockCluster cluster;
    for (const auto* topic : {"bbo", "millpond.events"}) cluster.make_topic(topic);
    const auto sink = open(options(cluster.brokers()));
    KafkaReader reader{cluster.brokers(), {"bbo", "millpond.events"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.received.size() == 5'010 - missed + 1; }));
    const auto lost = std::ranges::find(reader.received, "millpond.events", &KafkaReader::Received::topic);
    ASSERT_NE(lost, reader.received.end());
    EXPECT_THAT(lost->value, HasSubstr(R"({"type":"lost","reason":"lapped","timestamp":)"));
    EXPECT_EQ(number_in(lost->value, "first"), 11);
    EXPECT_EQ(number_in(lost->value, "last"), static_cast<std::int64_t>(10 + missed));
    EXPECT_TRUE(wait([&] { return sink->account().queued == 0; }));
    EXPECT_TRUE(sink->account().closes());
}

TEST_F(KafkaSinkTest, WhatRetentionRemovedDuringAnOutageIsToldAndCounted) {
    open_journal();
    const MockCluster cluster;
    for (const auto* topic : {"bbo", "millpond.events"}) cluster.make_topic(topic);
    publish(100);
    {
        const auto sink = open(options(cluster.brokers()));
        ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    }
    publish(30'000);  // some segments
    const auto files = millpond::journal::list_segments(folder_ / "journal");
    ASSERT_GE(files.size(), 3U);
    std::filesystem::remove(files[0].path);
    const auto sink = open(options(cluster.brokers()));
    ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    const auto account = sink->account();
    EXPECT_TRUE(account.closes());
    EXPECT_NE(account.missed, 0U);
    EXPECT_EQ(account.published, newest_->read() - 102);
    EXPECT_TRUE(said_.has("of the journal are removed"));
    KafkaReader reader{cluster.brokers(), {"bbo", "millpond.events"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.received.size() == 100 + account.delivered + 1; }));
    const auto lost = std::ranges::find(reader.received, "millpond.events", &KafkaReader::Received::topic);
    ASSERT_NE(lost, reader.received.end());
    EXPECT_EQ(number_in(lost->value, "first"), 103);
    EXPECT_EQ(number_in(lost->value, "last"), static_cast<std::int64_t>(102 + account.missed));
}

TEST_F(KafkaSinkTest, OfAJournalWhoseSegmentsWereRemovedBetweenTwoRunsNothingNewIsSkipped) {
    open_journal();
    const MockCluster cluster;
    for (const auto* topic : {"bbo", "millpond.events"}) cluster.make_topic(topic);
    publish(1'000);
    {
        const auto sink = open(options(cluster.brokers()));
        ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    }
    journal_.reset();
    for (const auto& file : millpond::journal::list_segments(folder_ / "journal")) {
        std::filesystem::remove(file.path);
    }
    open_journal();
    publish(500);
    const auto sink = open(options(cluster.brokers()));
    ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    EXPECT_TRUE(sink->account().closes());
    EXPECT_EQ(sink->account().missed, 0U);
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == 1'500; }));
    expect_all(reader, 1'500);
}

TEST_F(KafkaSinkTest, ANameThatIsDamagedInOneSegmentIsThatOfTheNextWhileItCatchesUp) {
    constexpr std::uint64_t kQuotes = 30'000;
    open_journal();
    const MockCluster cluster;
    for (const auto* topic : {"bbo", "millpond.events"}) cluster.make_topic(topic);
    publish(kQuotes);
    const auto files = millpond::journal::list_segments(folder_ / "journal");
    ASSERT_GE(files.size(), 3U);
    const auto last_damaged = millpond::journal::SegmentReader{files[0].path}.tail()->last_ring;
    std::fstream segment{files[0].path, std::ios::in | std::ios::out | std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{segment}, {}};
    const auto name = bytes.find(std::string{"AAPL\0", 5});
    ASSERT_NE(name, std::string::npos);
    segment.seekp(static_cast<std::streamoff>(name)).put('?').flush();
    {
        // A run that ends in the middle of that segment: the next begins there.
        auto few = options(cluster.brokers());
        few.window = 100;
        const auto sink = open(few);
        ASSERT_TRUE(wait([&] { return sink->account().delivered >= 300; }));
    }
    const auto sink = open(options(cluster.brokers()));
    ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    EXPECT_TRUE(sink->account().closes());
    KafkaReader reader{cluster.brokers(), {"bbo", "millpond.events"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == kQuotes + 1; }));  // and 0 of the lost name
    std::set<std::uint64_t> seen;
    for (const auto& message : reader.received) {
        if (message.topic != "bbo") continue;
        seen.insert(message.sequence);
        const auto* const named = message.sequence % 2 == 0 ? "AAPL" : "MSFT";
        if (message.sequence % 2 == 0 && message.sequence <= last_damaged) {
            ASSERT_EQ(message.key.front(), '#') << message.sequence;
        } else {
            ASSERT_EQ(message.key, named) << message.sequence;
        }
    }
    EXPECT_EQ(seen.size(), kQuotes);
}

TEST_F(KafkaSinkTest, AMessageThatIsRefusedForGoodIsNamedAndAllBehindThePositionComesAgain) {
    constexpr std::uint64_t kQuotes = 500;
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    cluster.fail_produce(1, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    const auto sink = open(options(cluster.brokers()));
    publish(1);
    // What were on its way beside it a real broker would refuse too, for its number; the make-believe one would not.
    ASSERT_TRUE(wait([&] { return sink->counters().restarts.read() == 1; }));
    publish(kQuotes - 1);
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == kQuotes; }));
    expect_all(reader, kQuotes);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == kQuotes; }));
    EXPECT_TRUE(sink->account().closes());
    EXPECT_TRUE(said_.has("Topic authorization failed"));
}

TEST_F(KafkaSinkTest, ATopicThatIsMissingIsNamed) {
    open_journal();
    const MockCluster cluster;
    cluster.refuse("bbo", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    auto settings = options(cluster.brokers());
    settings.properties.emplace_back("topic.metadata.propagation.max.ms", "0");
    publish(1);
    const auto sink = open(settings);
    EXPECT_TRUE(wait([&] { return said_.has("topic 'bbo': ") && said_.has("Unknown topic"); }));
}

TEST_F(KafkaSinkTest, BinaryValuesHoldTheEventAsItStandsInTheJournal) {
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    auto settings = options(cluster.brokers());
    settings.format = Format::binary;
    settings.compression = "zstd";
    const auto sink = open(settings);
    publish(1);
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.received.size() == 1; }));
    const auto& value = reader.received[0].value;
    ASSERT_EQ(value.size(), kValueHeadBytes + sizeof(feed::Quote));
    EXPECT_EQ(value.substr(0, 4), (std::string{"\1\0\1\0", 4}));
    std::uint64_t sequence = 0;
    feed::Quote quote;
    std::memcpy(&sequence, value.data() + 8, sizeof(sequence));
    std::memcpy(&quote, value.data() + kValueHeadBytes, sizeof(quote));
    EXPECT_EQ(sequence, 1U);
    EXPECT_EQ(quote.bid_price, 1);
    EXPECT_EQ(quote.ask_price, 101);
    EXPECT_EQ(quote.bid_size, 100U);
}

TEST_F(KafkaSinkTest, AFileOfItsSettingsThatIsMissingIsNamedAtOnce) {
    open_journal();
    auto settings = options("127.0.0.1:9");
    settings.properties = {{"security.protocol", "ssl"}, {"ssl.ca.location", "/no/such/authority.pem"}};
    try {
        const KafkaSink sink{settings, said_.say()};
        FAIL() << "was opened";
    } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), HasSubstr("ssl.ca.location failed"));
    }
}

TEST_F(KafkaSinkTest, APositionBehindTheJournalsEndIsNamedAndItGoesOnAtTheEnd) {
    open_journal();
    publish(10);
    PositionFile{folder_ / "kafka.position"}.save(1'000);
    const MockCluster cluster;
    cluster.make_topic("bbo");
    const auto sink = open(options(cluster.brokers()));
    EXPECT_TRUE(said_.has("its position 1000 is behind the journal's end 12"));
    publish(1);
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return !reader.received.empty(); }));
    EXPECT_EQ(reader.received[0].value, json_of(11));
}

}  // namespace
}  // namespace millpond::gateway::kafka
