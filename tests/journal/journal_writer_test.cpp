#include <millpond/journal/journal_writer.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/channel_depth.hpp>
#include <millpond/journal/journal_error.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "tests/journal/journal_fixture.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::journal {
namespace {

using JournalWriterTest = JournalTest;

TEST_F(JournalWriterTest, ItsFilesHaveTheModeThatIsAskedForWhateverTheUmask) {
    using std::filesystem::perms;
    auto options = this->options();
    options.file_mode = 0664;
    const auto before = umask(0077);
    JournalWriter writer{options, 5};
    static_cast<void>(writer.service(5));  // the first segment
    umask(before);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator{folder_}) {
        EXPECT_EQ(entry.status().permissions(), perms{0664}) << entry.path();
        ++files;
    }
    EXPECT_GE(files, 2U);  // at least the lock and a segment
}

TEST_F(JournalWriterTest, EveryEventIsReadAsItWasAppended) {
    JournalWriter writer{options(), 5};
    writer.set_epoch(kEpoch);
    writer.name(3, {feed::Venue{"XMIO"}, feed::Symbol{"MSFT 261218C00500000"}, 2});
    const feed::Trade trade{.instrument = 3, .price = 12'345, .size = 7, .trade_id = 99, .receive_utc_ns = 1};
    const feed::Status status{
        .instrument = 3, .state = feed::TradingState::halted, .reason = core::FixedString<4>{"H10"}};
    const feed::Gap gap{.first = 10, .last = 12, .receive_utc_ns = 2};
    const feed::Clear clear{.reason = feed::ClearReason::end_of_session};
    ASSERT_TRUE(writer.append(quote(1, 3), 1));
    ASSERT_TRUE(writer.append(trade, 2));
    ASSERT_TRUE(writer.append(status, 3));
    ASSERT_TRUE(writer.append(gap, 4));
    ASSERT_TRUE(writer.append(clear, 5));
    ASSERT_TRUE(writer.append_lost({.first = 6, .last = 9, .utc_ns = 3}));

    JournalReader reader{folder_};
    Delivered delivered{reader};
    EXPECT_EQ(delivered.drain(), 6U);
    ASSERT_EQ(delivered.items.size(), 6U);
    EXPECT_EQ(delivered.all<feed::Quote>().at(0).ask_price, 2);
    EXPECT_EQ(delivered.all<feed::Trade>().at(0).trade_id, 99U);
    EXPECT_EQ(delivered.all<feed::Status>().at(0).reason, core::FixedString<4>{"H10"});
    EXPECT_EQ(delivered.all<feed::Gap>().at(0).last, 12U);
    EXPECT_EQ(delivered.all<feed::Clear>().at(0).reason, feed::ClearReason::end_of_session);
    EXPECT_EQ(delivered.all<LostRecord>().at(0).count(), 4U);
    ASSERT_NE(reader.instrument(3), nullptr);
    EXPECT_EQ(reader.instrument(3)->symbol, feed::Symbol{"MSFT 261218C00500000"});
    EXPECT_EQ(reader.instrument(3)->decimals, 2U);
    EXPECT_EQ(reader.instrument(0), nullptr);
    EXPECT_EQ(reader.ring(), "main");
    EXPECT_EQ(delivered.items[1].at.epoch, kEpoch);
    EXPECT_EQ(delivered.items[1].at.ring, 2U);
}

TEST_F(JournalWriterTest, ASessionBeginsASegmentOnceTheNextOneIsThereAndItsNumberSurvivesTheWriter) {
    {
        JournalWriter writer{options(), 5};
        writer.set_epoch(kEpoch);
        ASSERT_TRUE(writer.append(quote(1), 1));
        EXPECT_FALSE(writer.begin_session()) << "the next segment is not allocated yet";
        ASSERT_TRUE(writer.append(quote(2), 2));
        ASSERT_TRUE(writer.service(6));
        ASSERT_TRUE(writer.begin_session());
        ASSERT_TRUE(writer.append(quote(3), 3));
    }
    JournalWriter writer{options(), 7};
    writer.set_epoch(kEpoch);
    ASSERT_TRUE(writer.append(quote(4), 4));
    ASSERT_TRUE(writer.service(8));
    ASSERT_TRUE(writer.begin_session());
    ASSERT_TRUE(writer.append(quote(5), 5));
    ASSERT_TRUE(writer.service(9));
    writer.set_epoch(kEpoch + 1);  // another run restarts its numbers
    ASSERT_TRUE(writer.append(quote(6), 1));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;  // session and records
    for (const auto& segment : describe_segments(folder_)) {
        if (segment.state != SegmentState::waiting)
            found.emplace_back(segment.session, segment.next_record - segment.first_record);
    }
    EXPECT_THAT(found, ::testing::ElementsAre(std::pair{1U, 2U}, std::pair{2U, 1U}, std::pair{2U, 1U},
                                              std::pair{3U, 1U}, std::pair{1U, 1U}));
}

TEST_F(JournalWriterTest, AFullSegmentIsFollowedByOneThatIsReady) {
    JournalWriter writer{options(), 0};
    writer.set_epoch(kEpoch);
    writer.name(0, {feed::Venue{"X"}, feed::Symbol{"A"}});
    append(writer, 1, 3 * kQuotesInSegment);
    EXPECT_EQ(writer.counters().segments.read(), 4U);
    EXPECT_GT(writer.counters().refused.read(), 0U);
    for (const auto& file : list_segments(folder_)) {
        if (!SegmentReader::is_started(file.path)) continue;
        int names = 0;
        SegmentReader{file.path}.for_each_description([&](const NameRecord& name) {
            EXPECT_EQ(name.symbol, feed::Symbol{"A"});
            ++names;
        });
        EXPECT_EQ(names, 1) << file.path;
    }
}

TEST_F(JournalWriterTest, WithoutTheNextSegmentAnAppendIsRefusedAndNothingIsLost) {
    JournalWriter writer{options(), 0};
    std::uint64_t number = 1;
    while (writer.append(quote(number), number)) ++number;
    EXPECT_EQ(writer.available(), 0U);
    EXPECT_FALSE(writer.append(quote(number), number));
    EXPECT_TRUE(writer.service(0));
    EXPECT_GT(writer.available(), 1'000U);
    append(writer, number, number + 10);
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    expect_quotes(delivered, 1, number + 10);
}

TEST_F(JournalWriterTest, ASegmentOfACertainAgeIsEnded) {
    auto options = this->options();
    options.roll_after = std::chrono::seconds{10};
    JournalWriter writer{options, 1'000'000'000};
    append(writer, 1, 5);
    writer.step(10'999'999'999);
    append(writer, 6, 6);
    EXPECT_EQ(writer.counters().segments.read(), 1U);
    writer.step(11'000'000'000);
    writer.service(11'000'000'000);
    append(writer, 7, 7);
    EXPECT_EQ(writer.counters().segments.read(), 2U);
}

TEST_F(JournalWriterTest, ARestartedWriterContinuesAfterTheLastRecord) {
    {
        JournalWriter writer{options(), 0};
        EXPECT_EQ(writer.resume_at(kEpoch), 1U);
        writer.set_epoch(kEpoch);
        append(writer, 1, 100);
    }
    JournalWriter writer{options(), 0};
    EXPECT_EQ(writer.next_record(), 101U);
    EXPECT_EQ(writer.resume_at(kEpoch), 101U);
    EXPECT_EQ(writer.resume_at(kEpoch + 1), 1U);
    writer.set_epoch(kEpoch);
    append(writer, 101, 150);
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    expect_quotes(delivered, 1, 150);
}

TEST_F(JournalWriterTest, AnotherEpochForgetsTheNames) {
    JournalWriter writer{options(), 0};
    writer.set_epoch(kEpoch);
    writer.name(0, {feed::Venue{"X"}, feed::Symbol{"OLD"}});
    append(writer, 1, 1);
    writer.set_epoch(kEpoch + 1);
    EXPECT_EQ(writer.resume_at(kEpoch + 1), 1U);
    ASSERT_TRUE(writer.service(0));
    append(writer, 1, 1);
    JournalReader reader{folder_};
    Delivered delivered{reader};
    EXPECT_EQ(reader.poll(delivered, 1), 1U);
    ASSERT_NE(reader.instrument(0), nullptr);
    EXPECT_EQ(delivered.drain(), 1U);
    EXPECT_EQ(reader.instrument(0), nullptr);
    EXPECT_EQ(reader.current().epoch, kEpoch + 1);
}

TEST_F(JournalWriterTest, ADepthThatNoFeedCanHaveIsNotContinuedByTheNextWriter) {
    std::filesystem::create_directories(folder_);
    {
        SegmentWriter segment{{1, segment_path(folder_, 1)}, kSegmentBytes};
        segment.begin({.ring = RingName{"main"}, .epoch = kEpoch, .session = 1, .first_record = 1});
        ASSERT_TRUE(segment.append_channel({.channel = 0, .depth = market::kMaxBoardDepth + 1, .orders = 1}));
        ASSERT_TRUE(segment.append_channel({.channel = 1, .depth = 7}));
    }
    const JournalWriter writer{options(), 5};
    EXPECT_EQ(writer.depth(0), (market::ChannelDepth{.depth = 0, .orders = true}));
    EXPECT_EQ(writer.depth(1), market::ChannelDepth{.depth = 7});
    EXPECT_THAT(recorded_depths(folder_), ::testing::UnorderedElementsAre(writer.depth(0), writer.depth(1)));
}

TEST_F(JournalWriterTest, ASecondWriterIsRefusedByName) {
    JournalWriter writer{options(), 0};
    try {
        JournalWriter second{options(), 0};
        FAIL() << "two writers of one journal";
    } catch (const JournalError& error) {
        EXPECT_NE(std::string{error.what()}.find(folder_.string()), std::string::npos);
    }
}

TEST_F(JournalWriterTest, WrongOptionsAreRefused) {
    auto wrong = options();
    wrong.segment_bytes = kSegmentBytes + 1;
    EXPECT_THROW((JournalWriter{wrong, 0}), std::invalid_argument);
    wrong.segment_bytes = 65'536;
    EXPECT_THROW((JournalWriter{wrong, 0}), std::invalid_argument);
    wrong = options();
    wrong.folder.clear();
    EXPECT_THROW((JournalWriter{wrong, 0}), std::invalid_argument);
    wrong = options();
    wrong.ring = std::string(65, 'x');
    EXPECT_THROW((JournalWriter{wrong, 0}), std::invalid_argument);
}

TEST_F(JournalWriterTest, RetentionByBytesRemovesTheOldestOnly) {
    auto options = this->options();
    options.keep_bytes = 3 * kSegmentBytes;
    JournalWriter writer{options, 0};
    append(writer, 1, 6 * kQuotesInSegment);
    ASSERT_TRUE(writer.service(2'000'000'000));
    EXPECT_GE(writer.counters().removed_segments.read(), 3U);
    JournalReader reader{folder_};
    reader.seek(1);
    Delivered delivered{reader};
    delivered.drain();
    const auto quotes = delivered.all<feed::Quote>();
    EXPECT_EQ(quotes.back().feed_sequence, 6 * kQuotesInSegment);
    EXPECT_GT(quotes.front().feed_sequence, 3 * kQuotesInSegment - 100);
    for (std::size_t i = 1; i < quotes.size(); ++i) {
        ASSERT_EQ(quotes[i].feed_sequence, quotes[i - 1].feed_sequence + 1);
    }
}

TEST_F(JournalWriterTest, RetentionByAgeRemovesOlderSegments) {
    auto options = this->options();
    options.keep_for = std::chrono::seconds{100};
    JournalWriter writer{options, 0};
    append(writer, 1, 2 * kQuotesInSegment);
    writer.service(5'000'000'000);
    EXPECT_EQ(writer.counters().removed_segments.read(), 0U);
    writer.service(200'000'000'000);
    EXPECT_EQ(writer.counters().removed_segments.read(), 2U);
}

TEST_F(JournalWriterTest, NumbersAndPlaceContinueAfterASilenceThatIsLongerThanRetention) {
    auto by_age = options();
    by_age.keep_for = std::chrono::seconds{100};
    auto by_size = options();
    by_size.keep_bytes = 1;
    for (auto options : {by_age, by_size}) {
        SCOPED_TRACE(options.keep_bytes);
        std::filesystem::remove_all(folder_);
        options.roll_after = std::chrono::seconds{10};
        {
            JournalWriter writer{options, 0};
            writer.set_epoch(kEpoch);
            append(writer, 1, 2 * kQuotesInSegment);
            writer.step(200'000'000'000);  // ends the segment although no event arrives
            writer.service(200'000'000'000);
            for (std::int64_t now = 400; now < 500; now += 10) {
                writer.step(now * 1'000'000'000);
                writer.service(now * 1'000'000'000);
            }
            EXPECT_EQ(writer.counters().removed_segments.read(), 2U);
        }
        ASSERT_EQ(list_segments(folder_).size(), 1U) << "the newest with records stays, whatever it takes";
        JournalWriter next{options, 500'000'000'000};
        EXPECT_EQ(next.counters().newest_record.read(), 2 * kQuotesInSegment);
        EXPECT_EQ(next.resume_at(kEpoch), 2 * kQuotesInSegment + 1);
        next.set_epoch(kEpoch);
        append(next, 2 * kQuotesInSegment + 1, 2 * kQuotesInSegment + 5);
        JournalReader reader{folder_};
        Delivered delivered{reader};
        delivered.drain();
        EXPECT_TRUE(delivered.all<LostRecord>().empty());
        EXPECT_EQ(delivered.items.back().at.record, 2 * kQuotesInSegment + 5);
    }
}

TEST_F(JournalWriterTest, NumbersContinueWhereAllSegmentsWereRemovedBetweenTwoRuns) {
    {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        append(writer, 1, 2 * kQuotesInSegment);
    }
    JournalReader follower{folder_};
    Delivered before{follower};
    before.drain();
    const auto remembered = follower.current().record;
    ASSERT_EQ(remembered, 2 * kQuotesInSegment);
    for (int run = 0; run < 2; ++run) {  // the second removes segments without records
        for (const auto& file : list_segments(folder_)) std::filesystem::remove(file.path);
        JournalWriter writer{options(), 0};
        EXPECT_EQ(writer.next_record(), remembered + 1);
    }
    JournalWriter writer{options(), 0};
    writer.set_epoch(kEpoch + 1);
    append(writer, 1, 10);
    Delivered followed{follower};
    followed.drain();
    expect_quotes(followed, 1, 10);
    EXPECT_EQ(followed.items.size(), 10U) << "no loss";
    JournalReader later{folder_};
    later.seek(remembered + 1);
    Delivered sought{later};
    sought.drain();
    expect_quotes(sought, 1, 10);
}

TEST_F(JournalWriterTest, NumbersOfADeadWriterAreNotUsedAgainWhereItsSegmentsWereRemoved) {
    const auto lock = folder_ / "lock";
    const auto dead = folder_ / "lock of a dead writer";
    {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        append(writer, 1, 2 * kQuotesInSegment);
        std::filesystem::copy_file(lock, dead);  // left by kill -9
    }
    for (const auto& file : list_segments(folder_)) std::filesystem::remove(file.path);
    std::filesystem::rename(dead, lock);
    JournalWriter writer{options(), 0};
    EXPECT_GT(writer.next_record(), 2 * kQuotesInSegment);
    writer.set_epoch(kEpoch);
    append(writer, 1, 10);
    EXPECT_GT(list_segments(folder_).front().ordinal, 3U);
}

TEST_F(JournalWriterTest, NumbersOfADeadWriterAreNotUsedAgainAlsoWhereTheNextHasSegmentsOfAnotherSize) {
    const auto lock = folder_ / "lock";
    const auto dead = folder_ / "lock of a dead writer";
    auto small = options();
    auto large = options();
    large.segment_bytes *= 8;
    std::uint64_t next = 1;
    for (const auto& [before, after] : {std::pair{large, small}, std::pair{small, large}}) {
        {
            JournalWriter writer{before, 0};
            EXPECT_GE(writer.next_record(), next);
            writer.set_epoch(kEpoch);
            append(writer, 1, 2 * kQuotesInSegment);
            next = writer.next_record();
            std::filesystem::copy_file(lock, dead);  // left by kill -9
        }
        for (const auto& file : list_segments(folder_)) std::filesystem::remove(file.path);
        std::filesystem::rename(dead, lock);
        JournalWriter writer{after, 0};
        EXPECT_GE(writer.next_record(), next);
        next = writer.next_record();
    }
}

TEST_F(JournalWriterTest, ADamagedLockFileCostsNothingWhileTheSegmentsAreThere) {
    {
        JournalWriter writer{options(), 0};
        append(writer, 1, 100);
    }
    std::ofstream{folder_ / "lock", std::ios::in | std::ios::binary} << std::string(200, 'x');
    JournalWriter writer{options(), 0};
    EXPECT_EQ(writer.next_record(), 101U);
}

TEST_F(JournalWriterTest, ASyncOnIntervalReportsTheLastSyncedRecord) {
    auto options = this->options();
    options.sync = Sync::interval;
    options.sync_interval = std::chrono::seconds{1};
    JournalWriter writer{options, 0};
    append(writer, 1, 10);
    writer.service(999'999'999);
    EXPECT_EQ(writer.counters().synced_record.read(), 0U);
    writer.service(1'000'000'000);
    EXPECT_EQ(writer.counters().synced_record.read(), 10U);
}

TEST_F(JournalWriterTest, AClockThatIsSetBackDelaysNoSync) {
    auto options = this->options();
    options.sync = Sync::interval;
    options.sync_interval = std::chrono::seconds{1};
    constexpr std::int64_t kHour = 3'600'000'000'000;
    JournalWriter writer{options, 2 * kHour};
    append(writer, 1, 10);
    writer.service(kHour);
    EXPECT_EQ(writer.counters().synced_record.read(), 10U);
    append(writer, 11, 20);
    writer.service(kHour + 999'999'999);
    EXPECT_EQ(writer.counters().synced_record.read(), 10U);
    writer.service(kHour + 1'000'000'000);
    EXPECT_EQ(writer.counters().synced_record.read(), 20U);
}

TEST_F(JournalWriterTest, ASyncOfEachReportsTheLastSyncedRecord) {
    auto options = this->options();
    options.sync = Sync::each;
    JournalWriter writer{options, 0};
    append(writer, 1, 10);
    writer.sync();
    EXPECT_EQ(writer.counters().synced_record.read(), 10U);
}

TEST_F(JournalWriterTest, AnAppendNeedsNoHeapNoFaultAndNoSystemCall) {
    JournalWriter writer{options(), 0};
    writer.set_epoch(kEpoch);
    std::uint64_t number = 0;
    // The pages beyond were touched in the round before; a fresh page is a fault of the appending thread, which is not
    // the receive path.
    test::expect_free_of_cost([&] {
        bool right = true;
        for (int i = 0; i < 8; ++i, ++number) right = writer.append(quote(number + 1), number + 1) && right;
        return right;
    });
}

TEST_F(JournalWriterTest, SegmentsThatAreRemovedWhileTheyAreInUseAreNamedAndReplaced) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    std::int64_t now = kSecond;
    JournalWriter writer{options(), now};
    writer.set_epoch(kEpoch);
    append(writer, 1, 10);
    writer.service(now += 2 * kSecond);  // allocates the next segment
    EXPECT_FALSE(writer.pop_error());
    const auto files = list_segments(folder_);
    ASSERT_EQ(files.size(), 2U);
    for (const auto& file : files) std::filesystem::remove(file.path);
    std::string said;
    for (int round = 0; round < 3; ++round) {
        writer.service(now += 2 * kSecond);
        if (const auto error = writer.pop_error()) said += *error + "\n";
        writer.step(now);
    }
    EXPECT_NE(said.find(files[1].path.string() + " was moved or removed before it was used"), std::string::npos)
        << said;
    EXPECT_EQ(writer.counters().allocation_errors.read(), 2U);
    append(writer, 11, 20);
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    ASSERT_EQ(delivered.all<feed::Quote>().size(), 10U);
    EXPECT_EQ(delivered.all<feed::Quote>().front().feed_sequence, 11U);
}

TEST_F(JournalWriterTest, AFullDiskIsAReadableErrorAndWritingContinuesWhenThereIsSpace) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
    std::filesystem::create_directories(folder_);
    if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2560k") != 0) GTEST_SKIP() << "may not mount a tmpfs";
    {
        JournalWriter writer{options(), 0};
        std::uint64_t number = 1;
        for (int attempt = 0; attempt < 4; ++attempt) {
            while (writer.append(quote(number), number)) ++number;
            writer.service(0);
        }
        EXPECT_EQ(writer.available(), 0U);
        EXPECT_GE(writer.counters().allocation_errors.read(), 1U);
        const auto said = writer.pop_error();
        ASSERT_TRUE(said);
        EXPECT_NE(said->find("cannot allocate 1 MiB"), std::string::npos) << *said;
        EXPECT_EQ(number - 1, writer.next_record() - 1);

        std::filesystem::remove(list_segments(folder_).front().path);
        EXPECT_TRUE(writer.service(0));
        ASSERT_TRUE(writer.append_lost({.first = number, .last = number + 9}));
        append(writer, number + 10, number + 19);
        JournalReader reader{folder_};
        Delivered delivered{reader};
        delivered.drain();
        ASSERT_EQ(delivered.all<LostRecord>().size(), 1U);
        EXPECT_EQ(delivered.all<LostRecord>()[0].first, number);
        EXPECT_EQ(delivered.all<feed::Quote>().back().feed_sequence, number + 19);
    }
    umount(folder_.c_str());
}

TEST_F(JournalWriterTest, OnADiskThatIsFullAtTheStartItOpensWhenThereIsSpace) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
    constexpr std::int64_t kSecond = 1'000'000'000;
    constexpr std::uint64_t kEpoch = 7;
    std::filesystem::create_directories(folder_);
    // No space for the lock file either; then none for the first segment.
    for (const auto* first : {"size=4k", "size=512k"}) {
        if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, first) != 0) GTEST_SKIP() << "may not mount a tmpfs";
        if (std::string_view{first} == "size=4k") std::ofstream{folder_ / "full"} << std::string(4'096, 'x');
        {
            JournalWriter writer{options(), 0};
            EXPECT_EQ(writer.resume_at(kEpoch), 1U);
            writer.set_epoch(kEpoch);
            EXPECT_EQ(writer.available(), 0U);
            writer.service(0);
            writer.step(2 * kSecond);
            const auto why = writer.pop_open_error();
            const auto said = why ? why : writer.pop_error();
            ASSERT_TRUE(said) << first;
            EXPECT_GE(writer.counters().allocation_errors.read(), 1U) << first;
            EXPECT_FALSE(writer.append(quote(1), 1)) << first;

            ASSERT_EQ(mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0);
            writer.step(4 * kSecond);
            EXPECT_FALSE(writer.pop_open_error()) << first;
            EXPECT_TRUE(writer.service(4 * kSecond)) << first;
            append(writer, 10, 19);
            JournalReader reader{folder_};
            Delivered delivered{reader};
            delivered.drain();
            EXPECT_EQ(delivered.all<feed::Quote>().size(), 10U) << first;
            EXPECT_EQ(writer.resume_at(kEpoch), 20U) << first;
        }
        umount(folder_.c_str());
    }
}

TEST_F(JournalWriterTest, NamesGivenBeforeAJournalOfAnotherEpochOpensAreWritten) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
    constexpr std::int64_t kSecond = 1'000'000'000;
    std::filesystem::create_directories(folder_);
    if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2m") != 0) GTEST_SKIP() << "may not mount a tmpfs";
    {
        JournalWriter writer{options(), 0};
        writer.set_epoch(7);
        append(writer, 1, 10);
    }
    std::filesystem::remove(folder_ / kLockName);
    std::ofstream{folder_ / "full"} << std::string(4'000'000, 'x');
    {
        JournalWriter writer{options(), 0};
        EXPECT_FALSE(writer.is_open());
        writer.set_epoch(8);
        writer.name(0, {feed::Venue{"XTST"}, feed::Symbol{"NEW"}});
        writer.step(2 * kSecond);  // fails again
        EXPECT_FALSE(writer.is_open());
        ASSERT_EQ(mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0);
        writer.step(4 * kSecond);
        ASSERT_TRUE(writer.is_open());
        EXPECT_TRUE(writer.service(4 * kSecond));
        append(writer, 1, 1);
        JournalReader reader{folder_};
        Delivered delivered{reader};
        delivered.drain();
        EXPECT_EQ(reader.current().epoch, 8U);
        ASSERT_NE(reader.instrument(0), nullptr);
        EXPECT_EQ(reader.instrument(0)->symbol.view(), "NEW");
    }
    umount(folder_.c_str());
}

TEST_F(JournalWriterTest, AJournalWhoseNextSegmentDoesNotFitResumesWhereItStopped) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to mount a small tmpfs";
    std::filesystem::create_directories(folder_);
    if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2m") != 0) GTEST_SKIP() << "may not mount a tmpfs";
    {
        JournalWriter writer{options(), 0};
        append(writer, 1, 10);
    }
    std::ofstream{folder_ / "full"} << std::string(2'000'000, 'x');
    {
        JournalWriter writer{options(), 0};
        EXPECT_EQ(writer.available(), 0U);
        EXPECT_EQ(writer.resume_at(0), 11U);
        ASSERT_EQ(mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=8m"), 0);
        EXPECT_TRUE(writer.service(0));
        append(writer, 11, 20);
        JournalReader reader{folder_};
        Delivered delivered{reader};
        delivered.drain();
        EXPECT_EQ(delivered.all<feed::Quote>().size(), 20U);
    }
    umount(folder_.c_str());
}

}  // namespace
}  // namespace millpond::journal
