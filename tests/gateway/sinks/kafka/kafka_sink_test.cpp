#include "gateway/sinks/kafka/kafka_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
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
#include <sys/inotify.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "gateway/sinks/journal/journal_sink.hpp"
#include "gateway/sinks/sink_thread.hpp"
#include "tests/gateway/captured_log.hpp"
#include "tests/gateway/sinks/kafka/kafka_broker.hpp"
#include "tests/gateway/sinks/kafka/kafka_cluster.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/service/certificate.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::gateway::kafka {
namespace {

using test::KafkaReader;
using test::MockCluster;
using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

/// A ring, the journal of its events, and a sink that follows the journal.
class KafkaSinkTest : public ::testing::Test {
protected:
    void open_journal(const millpond::journal::WriterOptions& more = {}) {
        journal_.reset();
        auto options = more;
        options.folder = folder_ / "journal";
        options.ring = ring_.name;
        options.segment_bytes = kMiB;
        auto sink = std::make_unique<journal::JournalSink>("journal", options, log_.function());
        newest_ = &sink->counters().newest_record;
        is_open_ = &sink->is_open();
        journal_ = std::make_unique<SinkThread>(SinkThread::Options{.ring = ring_.name, .name = "journal"},
                                                std::move(sink), log_.function());
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
    [[nodiscard]] Settings settings_for(const std::string& brokers) const {
        return test::settings_with<Settings>([&](Settings& s) {
            s.brokers = {brokers};
            s.properties = {"reconnect.backoff.max.ms=50", "reconnect.backoff.ms=5"};
        });
    }
    [[nodiscard]] JournalSource journal_source() const {
        return {.ring = ring_.name, .folder = folder_ / "journal", .newest_record = newest_, .is_open = is_open_};
    }
    std::unique_ptr<KafkaSink> open(const Settings& settings) { return open(settings, journal_source()); }
    std::unique_ptr<KafkaSink> open(const Settings& settings, const JournalSource& journal) {
        auto sink = std::make_unique<KafkaSink>(settings, journal, "", core::kFileMode, log_.function());
        sink->start();
        return sink;
    }
    /// Waits until `reached` returns true; false after a timeout.
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
    /// Values of each key in order, without repeated messages. Expects that they are in the order of their sequence.
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
    CapturedLog log_;
    const core::Tally* newest_{nullptr};
    const std::atomic<bool>* is_open_{nullptr};
    std::unique_ptr<SinkThread> journal_;
};

TEST_F(KafkaSinkTest, EveryQuoteArrivesOnceInOrderOfItsSymbolWithKeyHeadersAndValue) {
    constexpr std::uint64_t kQuotes = 3'000;
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    publish(kQuotes / 2);  // before the sink opens
    const auto sink = open(settings_for(cluster.brokers()));
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

TEST_F(KafkaSinkTest, AtTheEndOfTheJournalItOpensNoFiles) {
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    const auto sink = open(settings_for(cluster.brokers()));
    publish(1);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == 1 && sink->account().queued == 0; }));
    const core::Descriptor watch{inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    ASSERT_GE(inotify_add_watch(watch.get(), (folder_ / "journal").c_str(), IN_OPEN | IN_MODIFY), 0);
    int opened = 0;
    int saved = 0;
    alignas(inotify_event) std::array<char, 4'096> buffer{};
    const auto count_events = [&] {
        const auto got = ::read(watch.get(), buffer.data(), buffer.size());
        for (ssize_t at = 0; at < got;) {
            inotify_event event{};
            std::memcpy(&event, buffer.data() + at, sizeof event);
            const std::string name = event.len == 0 ? "" : buffer.data() + at + sizeof event;
            if ((event.mask & IN_OPEN) != 0 && name.ends_with(".mpj")) ++opened;
            if ((event.mask & IN_MODIFY) != 0 && name == "kafka.position") ++saved;
            at += static_cast<ssize_t>(sizeof event + event.len);
        }
    };
    // Saves are 100 ms apart: until the last one the sink has looked for records many times.
    constexpr int kSaves = 4;
    for (int i = 1; i <= kSaves; ++i) {
        publish(1);
        ASSERT_TRUE(wait([&] {
            count_events();
            return saved >= i;
        }));
    }
    constexpr int kOpenedByTheWriter = 5;  // at most: it prepares the next segment
    EXPECT_LE(opened, kOpenedByTheWriter);
}

TEST_F(KafkaSinkTest, AnOutageOfTheBrokersLosesAndRepeatsNothing) {
    constexpr std::uint64_t kPart = 2'000;
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    const auto sink = open(settings_for(cluster.brokers()));
    publish(kPart);
    ASSERT_TRUE(wait([&] { return sink->counters().messages.read() != 0; }));
    cluster.stop_brokers();
    publish(kPart);
    ASSERT_TRUE(wait([&] { return sink->counters().errors.read() != 0; }));
    cluster.bring_up();
    publish(kPart);
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == 3 * kPart; }));
    expect_all(reader, 3 * kPart);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == 3 * kPart; }));
    EXPECT_EQ(sink->counters().restarts.read(), 0U);
    EXPECT_TRUE(log_.has("kafka sink 'kafka': "));
}

TEST_F(KafkaSinkTest, AfterItsEndItGoesOnBehindTheLastDeliveredRecord) {
    constexpr std::uint64_t kPart = 1'000;
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    for (int run = 0; run < 3; ++run) {
        const auto sink = open(settings_for(cluster.brokers()));
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
    cluster.stop_brokers();
    {
        auto settings = settings_for(cluster.brokers());
        settings.window = kPart / 10;  // the window is full at the end
        const auto sink = open(settings);
        publish(kPart);
        ASSERT_TRUE(wait([&] { return sink->counters().in_flight.read() == settings.window; }));
    }
    EXPECT_EQ(PositionFile{folder_ / "journal/kafka.position"}.record(), 0U);
    cluster.bring_up();
    publish(kPart);
    const auto sink = open(settings_for(cluster.brokers()));
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == 2 * kPart; }));
    expect_all(reader, 2 * kPart);
}

TEST_F(KafkaSinkTest, ProcessesThatAreKilledLoseNothing) {
    constexpr std::uint64_t kPart = 3'000;
    constexpr int kKills = 3;
    /// Task of a child process, which is forked before any thread is started.
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
            const std::atomic<bool> is_open{true};
            is_open_ = &is_open;
            auto settings = settings_for(task.brokers.data());
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
    const auto sink = open(settings_for(cluster.brokers()));
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
    ring_.writer.publish(trade_of(0, 2 * feed::kPriceScale));
    ring_.writer.publish(feed::Status{.instrument = 1, .state = feed::TradingState::halted});
    ring_.writer.publish(feed::TradeBreak{.instrument = 0, .trade_id = 4'711});
    drain();
    auto settings = settings_for(cluster.brokers());
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
    ring_.publish_quotes(5'000);  // more than the ring holds
    drain();
    const auto missed = journal_->account().missed;
    ASSERT_NE(missed, 0U);
    const MockCluster cluster;
    for (const auto* topic : {"bbo", "millpond.events"}) cluster.make_topic(topic);
    const auto sink = open(settings_for(cluster.brokers()));
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
        const auto sink = open(settings_for(cluster.brokers()));
        ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    }
    publish(30'000);  // several segments
    const auto files = millpond::journal::list_segments(folder_ / "journal");
    ASSERT_GE(files.size(), 3U);
    std::filesystem::remove(files[0].path);
    const auto sink = open(settings_for(cluster.brokers()));
    ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    const auto account = sink->account();
    EXPECT_TRUE(account.closes());
    EXPECT_NE(account.missed, 0U);
    EXPECT_EQ(account.published, newest_->read() - 102);
    EXPECT_TRUE(log_.has("of the journal are removed"));
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
        const auto sink = open(settings_for(cluster.brokers()));
        ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    }
    journal_.reset();
    for (const auto& file : millpond::journal::list_segments(folder_ / "journal")) {
        std::filesystem::remove(file.path);
    }
    open_journal();
    publish(500);
    const auto sink = open(settings_for(cluster.brokers()));
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
        // A run that ends in the middle of this segment; the next run starts there.
        auto few = settings_for(cluster.brokers());
        few.window = 100;
        const auto sink = open(few);
        ASSERT_TRUE(wait([&] { return sink->account().delivered >= 300; }));
    }
    const auto sink = open(settings_for(cluster.brokers()));
    ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    EXPECT_TRUE(sink->account().closes());
    KafkaReader reader{cluster.brokers(), {"bbo", "millpond.events"}, MockCluster::kPartitions};
    ASSERT_TRUE(
        reader.until([&] { return reader.sequences.size() == kQuotes + 1; }));  // and sequence 0 of the lost name
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
    const auto sink = open(settings_for(cluster.brokers()));
    publish(1);
    // A real broker would also refuse the other messages in flight, because of their numbers; the mock broker does not.
    ASSERT_TRUE(wait([&] { return sink->counters().restarts.read() == 1; }));
    publish(kQuotes - 1);
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.sequences.size() == kQuotes; }));
    expect_all(reader, kQuotes);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == kQuotes; }));
    EXPECT_TRUE(sink->account().closes());
    EXPECT_TRUE(log_.has("Topic authorization failed"));
}

TEST_F(KafkaSinkTest, ATopicThatIsMissingIsNamed) {
    open_journal();
    const MockCluster cluster;
    cluster.refuse("bbo", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    auto settings = settings_for(cluster.brokers());
    settings.properties.emplace_back("topic.metadata.propagation.max.ms=0");
    publish(1);
    const auto sink = open(settings);
    EXPECT_TRUE(wait([&] { return log_.has("topic 'bbo': ") && log_.has("Unknown topic"); }));
}

TEST_F(KafkaSinkTest, ATopicThatIsRefusedIsNamedAndCountedAndTheOthersGoOn) {
    constexpr std::uint64_t kQuotes = 500;
    for (const auto& [error, text] :
         {std::pair{RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, "Broker: Invalid topic"},
          std::pair{RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, "nknown topic"},
          std::pair{RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "authorization failed"}}) {
        open_journal();
        const MockCluster cluster;
        cluster.make_topic("c.AAPL");
        cluster.refuse("c.MSFT", error);
        auto settings = settings_for(cluster.brokers());
        settings.topic = "c.{symbol}";
        settings.name = "kafka" + std::to_string(error);
        settings.properties.emplace_back("topic.metadata.propagation.max.ms=0");
        const auto sink = open(settings);
        const auto before = sink->account().published;
        publish(kQuotes);
        ASSERT_TRUE(wait([&] { return sink->account().published >= before + kQuotes && sink->account().queued == 0; }))
            << text << ": " << sink->account().queued << " of " << sink->account().published << " queued, "
            << sink->counters().restarts.read() << " restarts; " << log_.texts().back();
        const auto account = sink->account();
        EXPECT_EQ(account.delivered, account.refused) << text;
        EXPECT_GE(account.delivered, kQuotes / 2) << text;
        EXPECT_EQ(account.missed, account.refused) << text;
        EXPECT_TRUE(account.closes()) << text;
        EXPECT_EQ(sink->counters().restarts.read(), 0U) << text;
        EXPECT_TRUE(log_.has("messages are refused and counted as missed: topic 'c.MSFT': ")) << text;
        EXPECT_TRUE(log_.has(text));
        KafkaReader reader{cluster.brokers(), {"c.AAPL"}, MockCluster::kPartitions};
        EXPECT_TRUE(reader.until([&] { return reader.sequences.size() == account.delivered; })) << text;
    }
}

TEST_F(KafkaSinkTest, ASingleTopicThatIsAlsoTheEventsTopicIsWaitedForAndLosesNothing) {
    constexpr std::uint64_t kQuotes = 10;
    open_journal();
    const MockCluster cluster;
    cluster.refuse("bbo", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    auto settings = settings_for(cluster.brokers());
    settings.events_topic = "bbo";
    settings.properties.emplace_back("topic.metadata.propagation.max.ms=0");
    publish(kQuotes);
    const auto sink = open(settings);
    ASSERT_TRUE(wait([&] { return sink->counters().restarts.read() != 0; }));
    EXPECT_EQ(sink->account().missed, 0U);
    cluster.refuse("bbo", RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_TRUE(wait([&] { return sink->account().queued == 0; }));
    EXPECT_EQ(sink->account().delivered, kQuotes);
    EXPECT_EQ(sink->account().missed, 0U);
}

TEST_F(KafkaSinkTest, TheEventsTopicIsWaitedForThoughTopicsOfATemplateAreNot) {
    open_journal();
    const MockCluster cluster;
    for (const auto* topic : {"c.AAPL", "c.MSFT"}) cluster.make_topic(topic);
    cluster.refuse("millpond.events", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    auto settings = settings_for(cluster.brokers());
    settings.topic = "c.{symbol}";
    settings.properties.emplace_back("topic.metadata.propagation.max.ms=0");
    ASSERT_TRUE(ring_.writer.publish(feed::Gap{}));
    drain();
    const auto sink = open(settings);
    ASSERT_TRUE(wait([&] { return sink->counters().restarts.read() != 0; }));
    EXPECT_TRUE(log_.has("topic 'millpond.events': "));
    EXPECT_EQ(sink->account().missed, 0U);
    cluster.refuse("millpond.events", RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == 1; }));
    EXPECT_TRUE(sink->account().closes());
}

TEST_F(KafkaSinkTest, BinaryValuesHoldTheEventAsItStandsInTheJournal) {
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    auto settings = settings_for(cluster.brokers());
    settings.format = Format::binary;
    settings.compression = "zstd";
    const auto sink = open(settings);
    publish(1);
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.received.size() == 1; }));
    const auto& value = reader.received[0].value;
    ASSERT_EQ(value.size(), kValueHeadBytes + sizeof(feed::Quote));
    EXPECT_EQ(value.substr(0, 4), (std::string{"\2\0\1\0", 4}));
    std::uint64_t sequence = 0;
    feed::Quote quote;
    std::memcpy(&sequence, value.data() + 8, sizeof(sequence));
    std::memcpy(&quote, value.data() + kValueHeadBytes, sizeof(quote));
    EXPECT_EQ(sequence, 1U);
    EXPECT_EQ(quote.bid_price, 1);
    EXPECT_EQ(quote.ask_price, 1 + feed::price_from<100>(1));
    EXPECT_EQ(quote.bid_size, 100U);
}

/// Publishes groups of one instrument: an order, two levels and a quote, which ends the group.
class KafkaDepthTest : public KafkaSinkTest {
protected:
    static constexpr std::uint64_t kEventsOfGroup = 4;

    void publish_groups(std::uint64_t groups) {
        for (; groups != 0; --groups) {
            const auto size = ++groups_;
            publish_order(size);
            publish_level(2 * size - 1);
            publish_level(2 * size);
            auto quote = quote_of(0, 1);
            quote.flags = feed::kLast;
            ring_.writer.publish(quote);
            drain();
        }
    }
    void publish_order(std::uint64_t id) {
        ring_.writer.publish(feed::Order{
            .instrument = 0, .side = feed::Side::bid, .order_id = id, .price = 1, .size = 1, .size_left = 1});
    }
    void publish_level(std::uint64_t size, std::uint16_t flags = 0) {
        ring_.writer.publish(feed::Level{.instrument = 0,
                                         .flags = flags,
                                         .side = feed::Side::bid,
                                         .orders = 1,
                                         .price = feed::kPriceScale,
                                         .size = size});
    }
    [[nodiscard]] Settings depth_settings(const std::string& brokers) const {
        auto settings = settings_for(brokers);
        settings.levels_topic = "levels.{symbol}";
        settings.orders_topic = "orders";
        return settings;
    }
    /// Expects the levels and orders of all groups, each in order and the last of each group marked.
    void expect_depth(const KafkaReader& reader) const {
        std::uint64_t levels = 0;
        std::uint64_t orders = 0;
        std::uint64_t newest = 0;
        for (const auto& message : reader.received) {
            if (message.topic == "bbo" || message.topic == "millpond.events") continue;
            ASSERT_EQ(message.key, "AAPL");
            const bool is_level = message.topic == "levels.AAPL";
            if (is_level) {
                if (message.sequence <= newest) continue;  // sent again after a restart
                newest = message.sequence;
                ++levels;
                ASSERT_EQ(number_in(message.value, "size"), static_cast<std::int64_t>(levels));
                ASSERT_EQ(message.sequence, (levels - 1) / 2 * kEventsOfGroup + 2 + (levels - 1) % 2);
                ASSERT_EQ(number_in(message.value, "flags"), levels % 2 == 0 ? 128 : -1) << message.value;
            } else {
                ASSERT_EQ(message.topic, "orders");
                ++orders;
                ASSERT_EQ(number_in(message.value, "order_id"), static_cast<std::int64_t>(orders));
                ASSERT_EQ(number_in(message.value, "flags"), 128) << message.value;
            }
        }
        ASSERT_EQ(levels, 2 * groups_);
        ASSERT_EQ(orders, groups_);
    }

    std::uint64_t groups_{0};
};

TEST_F(KafkaDepthTest, LevelsAndOrdersHaveTopicsOfTheirOwnAndTheLastOfEachGroupSaysSo) {
    constexpr std::uint64_t kGroups = 300;
    open_journal();
    const MockCluster cluster;
    for (const auto* const topic : {"bbo", "orders", "levels.AAPL"}) cluster.make_topic(topic);
    const auto sink = open(depth_settings(cluster.brokers()));
    publish_groups(kGroups);
    KafkaReader reader{cluster.brokers(), {"bbo", "orders", "levels.AAPL"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.received.size() == kGroups * kEventsOfGroup; }));
    expect_depth(reader);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == kGroups * kEventsOfGroup; }));
    const auto account = sink->account();
    EXPECT_TRUE(account.closes());
    EXPECT_EQ(account.filtered, 1U) << "the name";
    EXPECT_EQ(account.missed + account.queued, 0U);
}

TEST_F(KafkaDepthTest, ACompactedTopicOfLevelsOrOrdersIsNamed) {
    if (!test::KafkaBroker::is_there()) GTEST_SKIP() << "needs MILLPOND_KAFKA_JARS=$(tools/fetch_kafka)";
    open_journal();
    test::KafkaBroker broker{folder_, "127.0.0.1", {"log.cleanup.policy=compact"}};
    broker.start();
    const auto sink = open(depth_settings(broker.brokers()));
    publish_groups(10);
    ASSERT_TRUE(wait([&] { return log_.has("topic 'orders' is compacted"); }));
    ASSERT_TRUE(wait([&] { return log_.has("topic 'levels.AAPL' is compacted, which removes changes of books"); }));
    EXPECT_FALSE(log_.has("topic 'bbo' is compacted")) << "a quote is a state";
}

TEST_F(KafkaDepthTest, WithoutTopicsLevelsAndOrdersAreFiltered) {
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    const auto sink = open(settings_for(cluster.brokers()));
    publish_groups(10);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == 10; }));
    EXPECT_TRUE(sink->account().closes());
    EXPECT_EQ(sink->account().filtered, 1U + 30U);
    EXPECT_EQ(sink->account().queued, 0U);
}

TEST_F(KafkaDepthTest, WithoutATopicOfLevelsALevelThatEndsTheGroupMarksItsLastOrder) {
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("orders");
    auto settings = depth_settings(cluster.brokers());
    settings.levels_topic.clear();
    const auto sink = open(settings);
    for (std::uint64_t id = 1; id <= 6; ++id) {
        publish_order(id);
        if (id % 2 == 0) publish_level(id, feed::kLast);
    }
    drain();
    KafkaReader reader{cluster.brokers(), {"orders"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.received.size() == 6; }));
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(number_in(reader.received[i].value, "order_id"), static_cast<std::int64_t>(i + 1));
        EXPECT_EQ(number_in(reader.received[i].value, "flags"), i % 2 == 1 ? 128 : -1) << reader.received[i].value;
    }
    ASSERT_TRUE(wait([&] { return sink->account().delivered == 6; }));
    EXPECT_TRUE(sink->account().closes());
    EXPECT_EQ(sink->account().filtered, 1U + 3U) << "the name, the levels";
}

TEST_F(KafkaDepthTest, AGroupThatIsCutByARestartIsSentOnceWithItsMark) {
    open_journal();
    const MockCluster cluster;
    for (const auto* const topic : {"bbo", "orders", "levels.AAPL", "millpond.events"}) cluster.make_topic(topic);
    const auto settings = depth_settings(cluster.brokers());
    ++groups_;
    publish_order(1);
    publish_level(1);
    publish_level(2);
    drain();
    {
        const auto sink = open(settings);
        ASSERT_TRUE(wait([&] { return sink->account().delivered == 2; }));
        EXPECT_TRUE(sink->account().closes());
        EXPECT_EQ(sink->account().queued, 1U) << "the level that may be the last one";
    }
    EXPECT_EQ((PositionFile{folder_ / "journal/kafka.position", core::kFileMode}.record()), 3U) << "name, order, level";
    auto quote = quote_of(0, 1);
    quote.flags = feed::kLast;
    ring_.writer.publish(quote);
    drain();
    const auto sink = open(settings);
    publish_groups(1);
    KafkaReader reader{cluster.brokers(), {"orders", "levels.AAPL"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return reader.received.size() == 2 * 3; }));
    expect_depth(reader);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == 2 + kEventsOfGroup; }));
    // A gap ends the group, and its level has no mark.
    publish_level(77);
    ASSERT_TRUE(ring_.writer.publish(feed::Gap{}));
    drain();
    ASSERT_TRUE(reader.until([&] { return reader.received.size() == 2 * 3 + 1; }));
    EXPECT_EQ(number_in(reader.received.back().value, "size"), 77);
    EXPECT_EQ(number_in(reader.received.back().value, "flags"), -1);
}

TEST_F(KafkaSinkTest, AFileOfItsSettingsThatIsMissingIsNamedAtOnce) {
    open_journal();
    auto settings = settings_for("127.0.0.1:9");
    settings.properties = {"security.protocol=ssl", "ssl.ca.location=/no/such/authority.pem"};
    try {
        const KafkaSink sink{settings, journal_source(), "", core::kFileMode, log_.function()};
        FAIL() << "was opened";
    } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), HasSubstr("ssl.ca.location failed"));
    }
}

TEST_F(KafkaSinkTest, WhileTheJournalIsNotOpenItWaitsAndKeepsItsPosition) {
    open_journal();
    const MockCluster cluster;
    cluster.make_topic("bbo");
    publish(10);
    {
        const auto sink = open(settings_for(cluster.brokers()));
        ASSERT_TRUE(wait([&] { return sink->account().delivered == 10; }));
    }
    core::Tally unknown;
    std::atomic<bool> is_open{false};
    auto journal = journal_source();
    journal.newest_record = &unknown;
    journal.is_open = &is_open;
    const auto sink = open(settings_for(cluster.brokers()), journal);
    ASSERT_TRUE(wait([&] { return sink->counters().connected.read() == 1; }));
    EXPECT_EQ(sink->account().published, 0U);
    publish(1);
    unknown.set(newest_->read());
    is_open.store(true, std::memory_order_release);
    ASSERT_TRUE(wait([&] { return sink->account().delivered == 1; }));
    EXPECT_FALSE(log_.has("is past the journal's end"));
    EXPECT_EQ(sink->counters().messages.read(), 1U);
}

TEST_F(KafkaSinkTest, APositionBehindTheJournalsEndIsNamedAndItGoesOnAtTheEnd) {
    open_journal();
    publish(10);
    PositionFile{folder_ / "journal/kafka.position"}.save(1'000);
    const MockCluster cluster;
    cluster.make_topic("bbo");
    const auto sink = open(settings_for(cluster.brokers()));
    EXPECT_TRUE(log_.has("its position 1000 is past the journal's end 12"));
    publish(1);
    KafkaReader reader{cluster.brokers(), {"bbo"}, MockCluster::kPartitions};
    ASSERT_TRUE(reader.until([&] { return !reader.received.empty(); }));
    EXPECT_EQ(reader.received[0].value, json_of(11));
}

}  // namespace
}  // namespace millpond::gateway::kafka
