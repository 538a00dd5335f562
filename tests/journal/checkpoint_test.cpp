#include <millpond/journal/checkpoint.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <unistd.h>

#include <millpond/journal/catch_up_reader.hpp>
#include <millpond/journal/segment_reader.hpp>
#include <millpond/memory/region.hpp>

#include "tests/journal/journal_fixture.hpp"
#include "tests/journal/order_day.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::journal {
namespace {

constexpr std::int64_t kTickNs = 1'000;  // between events

std::int64_t time_of(std::uint64_t ring) { return static_cast<std::int64_t>(ring) * kTickNs; }

/// Writes a day to a journal, and knows the books after each group.
class Recorder {
public:
    Recorder(WriterOptions options, std::uint64_t seed) : options_(std::move(options)), day_(seed) { open(); }

    void open() {
        writer_.reset();
        writer_ = std::make_unique<JournalWriter>(options_, now());
        writer_->set_epoch(kEpoch);
        writer_->keep_books();
        for (feed::InstrumentId id = 0; id < OrderDay::kInstruments; ++id)
            writer_->name(id, {feed::Venue{"XNAS"}, feed::Symbol{"S" + std::to_string(id)}, 4});
    }
    [[nodiscard]] JournalWriter& writer() { return *writer_; }
    [[nodiscard]] OrderDay& day() { return day_; }
    [[nodiscard]] std::uint64_t newest() const { return ring_; }
    [[nodiscard]] std::int64_t now() const { return time_of(ring_) + 1; }

    void write(std::uint64_t groups) {
        for (; groups != 0; --groups) append(day_.next());
    }
    void append(std::vector<OrderDay::Event> group) {
        for (auto& event : group) {
            std::visit([&](auto& each) { append_one(each); }, event);
            // Slices lie between the events of a group too.
            if (day_.pick(2) == 0) step();
        }
        note();
    }
    void lose(std::uint64_t events) {
        const auto first = ring_ + 1;
        ring_ += events;
        ASSERT_TRUE(writer_->append_lost({.first = first, .last = ring_, .utc_ns = now()}));
        day_.lose();
        note();
    }
    void step() {
        writer_->step(now());
        writer_->service(now());
    }
    /// Writes a checkpoint of now.
    void end_books() {
        step();
        writer_->end_books();
    }
    void begin_segment() {
        writer_->service(now());
        ASSERT_TRUE(writer_->begin_session());
        writer_->service(now());
    }
    /// The instrument's books after the entry.
    [[nodiscard]] OrderDay::State state(feed::InstrumentId id, std::uint64_t ring) const {
        return std::prev(states_.at(id).upper_bound(ring))->second;
    }

private:
    template <class Event>
    void append_one(Event& event) {
        event.receive_utc_ns = time_of(++ring_);
        // A clock that goes back a little.
        if (day_.pick(10) == 0) event.receive_utc_ns -= 3 * kTickNs;
        writer_->set_depth(event.channel, OrderDay::depth_of(event.channel));
        while (!writer_->append(event, ring_)) ASSERT_TRUE(writer_->service(now()));
    }
    void note() {
        for (feed::InstrumentId id = 0; id < OrderDay::kInstruments; ++id) {
            auto state = day_.state(id);
            auto& states = states_[id];
            if (states.empty() || states.rbegin()->second != state) states.emplace(ring_, std::move(state));
        }
    }

    WriterOptions options_;
    OrderDay day_;
    std::unique_ptr<JournalWriter> writer_;
    std::uint64_t ring_{0};
    std::map<feed::InstrumentId, std::map<std::uint64_t, OrderDay::State>> states_;
};

/// Checks the books that a reader makes of what it gets.
class Checker {
public:
    /// has_all: each book that is complete in the recording must be complete here.
    Checker(const Recorder& recorded, CatchUpReader& reader, bool has_all)
        : recorded_(recorded),
          reader_(reader),
          has_all_(has_all),
          books_([this](std::uint16_t channel) { return reader_.depth(channel); }) {}

    template <class Event>
    void on(const Event& event) {
        const bool ends = books_.on(event);
        if (reader_.in_snapshot()) {
            ++snapshot_;
            return;
        }
        if (first_ == 0) first_ = reader_.current();
        ++events_;
        if constexpr (requires { event.flags; }) {
            if (!ends || event.instrument == feed::kNoInstrument || (event.flags & feed::kLast) == 0) return;
            check(event.instrument);
        }
    }
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const queue::MissedRange& missed) {
        books_.on(missed);
        missed_ += missed.count();
    }
    void on(const NewEpoch&) { books_.reset(); }

    std::size_t read(std::size_t max = SIZE_MAX) { return reader_.poll(*this, max); }
    [[nodiscard]] std::uint64_t first() const { return first_; }
    [[nodiscard]] std::uint64_t events() const { return events_; }
    [[nodiscard]] std::uint64_t snapshot() const { return snapshot_; }
    [[nodiscard]] std::uint64_t missed() const { return missed_; }
    [[nodiscard]] std::uint64_t complete_orders() const { return complete_orders_; }
    [[nodiscard]] std::uint64_t complete_levels() const { return complete_levels_; }

private:
    void check(feed::InstrumentId id) {
        const auto found = books_.state(id);
        const auto expected = recorded_.state(id, reader_.current());
        const auto compare = [&](const std::string& mine, const std::string& theirs, const char* what) {
            if (!has_all_ && mine.empty()) return;
            ASSERT_EQ(mine, theirs) << what << " of instrument " << id << " after entry " << reader_.current();
        };
        compare(found.orders, expected.orders, "orders");
        compare(found.levels, expected.levels, "levels");
        complete_orders_ += found.orders.empty() ? 0U : 1U;
        complete_levels_ += found.levels.empty() ? 0U : 1U;
    }

    const Recorder& recorded_;
    CatchUpReader& reader_;
    bool has_all_;
    DayBooks books_;
    std::uint64_t first_{0};
    std::uint64_t events_{0};
    std::uint64_t snapshot_{0};
    std::uint64_t missed_{0};
    std::uint64_t complete_orders_{0};
    std::uint64_t complete_levels_{0};
};

/// An order of 1, the only event of its group.
feed::Order order_of(feed::InstrumentId id, std::uint64_t number, feed::Price price = 1'000) {
    feed::Order event;
    event.instrument = id;
    event.flags = feed::kLast;
    event.side = number % 2 == 0 ? feed::Side::bid : feed::Side::ask;
    event.order_id = number;
    event.price = price;
    event.size = event.size_left = 1;
    return event;
}

class CheckpointTest : public JournalTest {
protected:
    void TearDown() override {
        JournalTest::TearDown();
        std::filesystem::remove_all(copy_folder());
    }
    [[nodiscard]] WriterOptions options() const {
        auto options = JournalTest::options();
        options.checkpoint_interval = std::chrono::nanoseconds{time_of(300)};
        options.checkpoint_slice = std::chrono::nanoseconds{0};  // one instrument each
        return options;
    }
    [[nodiscard]] std::filesystem::path copy_folder() const { return folder_.string() + "-copy"; }
    [[nodiscard]] static CatchUpOptions with_books(const std::filesystem::path& folder) {
        return {.folder = folder, .ring = "millpond-test-none-" + std::to_string(getpid()), .books = true};
    }
    [[nodiscard]] CatchUpOptions with_books() const { return with_books(folder_); }
    /// Reads from there, and compares the books. Reads all if `events` is 0.
    Checker checked(const Recorder& recorded, const StartAt& from, bool has_all = true,
                    std::uint64_t events = 0) const {
        return checked(folder_, recorded, from, has_all, events);
    }
    static Checker checked(const std::filesystem::path& folder, const Recorder& recorded, const StartAt& from,
                           bool has_all = true, std::uint64_t events = 0) {
        CatchUpReader reader{with_books(folder), from};
        Checker checker{recorded, reader, has_all};
        while ((events == 0 || checker.events() < events) && checker.read(100) != 0) {
        }
        const auto account = reader.account();
        EXPECT_EQ(account.published, account.delivered + account.missed);
        EXPECT_EQ(account.delivered, checker.events());
        EXPECT_EQ(account.missed, checker.missed());
        EXPECT_EQ(account.snapshot, checker.snapshot());
        return checker;
    }
};

TEST_F(CheckpointTest, AReaderThatBeginsAtAnyRecordHasTheBooksOfOneThatReadEverything) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(seed);
        std::filesystem::remove_all(folder_);
        Recorder recorded{options(), seed};
        for (int part = 0; part < 8; ++part) {
            recorded.write(1'000);
            if (part % 3 == 2) recorded.begin_segment();
        }
        EXPECT_GT(recorded.writer().counters().checkpoints.read(), 15U);
        EXPECT_EQ(recorded.writer().counters().checkpoint_errors.read(), 0U);
        const auto records = recorded.writer().next_record() - 1;
        std::mt19937_64 random{seed};
        std::uint64_t late = 0;
        for (int i = 0; i < 60; ++i) {
            const auto record = 1 + random() % records;
            SCOPED_TRACE(record);
            const auto checker = checked(recorded, AtRecord{record}, true, 2'000);
            ASSERT_FALSE(HasFailure());
            EXPECT_EQ(checker.missed(), 0U);
            const auto origin = find_books_before(folder_, record);
            if (!origin || !origin->checkpoint) continue;
            ++late;
            EXPECT_LT(origin->checkpoint->last, record);
            EXPECT_GT(checker.snapshot(), OrderDay::kChannels);
        }
        EXPECT_GT(late, 50U);
    }
}

TEST_F(CheckpointTest, AReaderThatBeginsAtATimeHasTheBooksOfThatTime) {
    Recorder recorded{options(), 7};
    recorded.write(6'000);
    std::mt19937_64 random{7};
    int late = 0;
    for (int i = 0; i < 60; ++i) {
        const auto time = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(recorded.now()));
        SCOPED_TRACE(time);
        CatchUpReader plain{{.folder = folder_, .ring = with_books().ring}, AtTime{time}};
        Checker first{recorded, plain, false};
        while (first.events() == 0 && first.read(1) != 0) {
        }
        const auto checker = checked(recorded, AtTime{time}, true, 2'000);
        ASSERT_FALSE(HasFailure());
        EXPECT_EQ(checker.first(), first.first());
        const auto origin = find_books_until(folder_, time);
        if (origin && origin->checkpoint) ++late;
    }
    EXPECT_GT(late, 40);
}

/// Numbers of what a reader delivers first.
struct FirstEvent {
    void on(const auto& event) {
        if (reader.in_snapshot()) return;
        if constexpr (requires { event.receive_utc_ns; }) {
            if (ring == 0) {
                epoch = reader.epoch();
                ring = reader.current();
            }
            ++events;
        }
    }
    CatchUpReader& reader;
    std::uint64_t epoch{0};
    std::uint64_t ring{0};
    std::uint64_t events{0};
};

/// events of epoch kEpoch at 1, 2, ... and of the next one at `later`, `later` + 1, ...
TEST_F(CheckpointTest, AReaderThatBeginsAtATimeOfAnEarlierEpochGetsAllEventsFromThere) {
    constexpr std::uint64_t kEvents = 100;
    constexpr std::int64_t kLater = 1'000;
    for (const bool has_checkpoint : {false, true}) {
        for (const bool has_untimed : {false, true}) {
            SCOPED_TRACE(testing::Message() << has_checkpoint << has_untimed);
            std::filesystem::remove_all(folder_);
            JournalWriter writer{options(), 1};
            writer.set_epoch(kEpoch);
            writer.keep_books();
            const auto write = [&](std::int64_t from) {
                writer.set_depth(0, {.orders = true});
                for (std::uint64_t ring = 1; ring <= kEvents; ++ring) {
                    auto order = order_of(0, ring);
                    order.receive_utc_ns = from + static_cast<std::int64_t>(ring) - 1;
                    if (has_untimed && ring == 1) order.receive_utc_ns = 0;
                    while (!writer.append(order, ring)) ASSERT_TRUE(writer.service(1));
                }
                if (has_checkpoint) writer.end_books();
            };
            write(1);
            writer.set_epoch(kEpoch + 1);
            writer.service(1);
            write(kLater);
            const auto first_from = [&](std::int64_t utc_ns) {
                CatchUpReader reader{with_books(), AtTime{utc_ns}};
                FirstEvent first{reader};
                reader.poll(first, SIZE_MAX);
                return std::tuple{first.epoch, first.ring, first.events};
            };
            EXPECT_EQ(first_from(51), std::tuple(kEpoch, 51U, 2 * kEvents - 50));
            EXPECT_EQ(first_from(500), std::tuple(kEpoch + 1, has_untimed ? 2U : 1U, kEvents - (has_untimed ? 1 : 0)));
            EXPECT_EQ(first_from(kLater + 50), std::tuple(kEpoch + 1, 51U, kEvents - 50));
            // The books of a time between the epochs are those of the first one.
            const auto between = find_books_until(folder_, 500);
            ASSERT_TRUE(between);
            EXPECT_EQ(between->checkpoint.has_value(), has_checkpoint);
            EXPECT_LE(between->record, kEvents + 2);
        }
    }
}

TEST_F(CheckpointTest, AReaderThatContinuesAtAPositionHasTheBooksOfItsEntry) {
    Recorder recorded{options(), 8};
    recorded.write(6'000);
    std::mt19937_64 random{8};
    std::uint64_t continued = 0;
    for (int i = 0; i < 40; ++i) {
        CatchUpReader before{with_books(), AtRecord{1 + random() % recorded.writer().next_record()}};
        Checker until{recorded, before, true};
        until.read(1 + random() % 1'000);
        const auto position = before.position();
        if (!position) continue;
        const auto checker = checked(recorded, *position, true, 2'000);
        ASSERT_FALSE(HasFailure());
        if (checker.events() == 0) continue;
        EXPECT_EQ(checker.first(), position->ring + 1);
        ++continued;
    }
    EXPECT_GT(continued, 20U);
}

TEST_F(CheckpointTest, ACheckpointThatIsCutOffAnywhereIsSkippedForTheOneBefore) {
    Recorder recorded{options(), 3};
    recorded.write(1'500);
    recorded.end_books();
    recorded.write(20);
    const auto before = recorded.writer().next_record();
    recorded.end_books();
    ASSERT_GT(recorded.writer().next_record(), before + OrderDay::kInstruments);
    const auto path = list_segments(folder_).front().path;
    // Places at which the writer may have been killed: what follows in the file is zero.
    std::vector<std::size_t> cuts;
    {
        SegmentReader segment{path};
        segment.seek(before);
        RecordView view;
        while (segment.next(view) == ReadOutcome::record) {
            if (view.record < before) continue;
            for (const auto part : {std::size_t{0}, std::size_t{8}, std::size_t{16}, std::size_t{40}})
                cuts.push_back(view.offset + part);
        }
        cuts.push_back(segment.offset());
    }
    std::uint64_t skipped = 0;
    std::uint64_t used = 0;
    for (const bool is_recovered : {false, true}) {
        for (const auto cut : cuts) {
            SCOPED_TRACE(cut);
            std::filesystem::remove_all(copy_folder());
            std::filesystem::copy(folder_, copy_folder());
            {
                auto region = memory::Region::open_file(copy_folder() / path.filename(), memory::Access::writable);
                std::fill(region.data() + cut, region.data() + region.size(), std::byte{0});
            }
            if (is_recovered) {
                auto copied = options();
                copied.folder = copy_folder();
                const JournalWriter next{copied, 0};
            }
            const auto origin = find_books_before(copy_folder(), UINT64_MAX);
            ASSERT_TRUE(origin && origin->checkpoint);
            ++(origin->checkpoint->first < before ? skipped : used);
            const auto checker = checked(copy_folder(), recorded, AtRecord{before - 10});
            ASSERT_FALSE(HasFailure());
            EXPECT_EQ(checker.events(), 10U);
        }
    }
    EXPECT_EQ(used, 2U);
    EXPECT_EQ(skipped, 2 * cuts.size() - 2);
}

TEST_F(CheckpointTest, ACheckpointWithADamagedRecordIsSkippedForTheOneBefore) {
    Recorder recorded{options(), 4};
    recorded.write(1'500);
    recorded.end_books();
    const auto first = find_books_before(folder_, UINT64_MAX);
    recorded.write(20);
    recorded.end_books();
    const auto second = find_books_before(folder_, UINT64_MAX);
    ASSERT_TRUE(first && first->checkpoint && second && second->checkpoint);
    ASSERT_GT(second->checkpoint->first, first->checkpoint->last);
    const auto path = list_segments(folder_).front().path;
    const auto checkpoints = count_checkpoints(path).complete;
    SegmentReader segment{path};
    segment.seek(second->record);
    RecordView view;
    std::uint64_t damaged = 0;
    auto region = memory::Region::open_file(path, memory::Access::writable);
    while (segment.next(view) == ReadOutcome::record) {
        if (view.record < second->record) continue;
        const auto at = view.offset + 20;
        region.data()[at] ^= std::byte{1};
        const auto found = find_books_before(folder_, UINT64_MAX);
        ASSERT_TRUE(found && found->checkpoint) << view.record;
        EXPECT_EQ(found->checkpoint->last, first->checkpoint->last) << view.record;
        const auto checker = checked(recorded, AtRecord{second->record - 5}, false);
        ASSERT_FALSE(HasFailure());
        EXPECT_EQ(count_checkpoints(path).complete, checkpoints - 1);
        region.data()[at] ^= std::byte{1};
        ++damaged;
    }
    EXPECT_EQ(damaged, second->checkpoint->last + 1 - second->record);
}

TEST_F(CheckpointTest, WithDamagedBytesAnywhereNoBookIsWrong) {
    Recorder recorded{options(), 6};
    recorded.write(1'000);
    recorded.begin_segment();
    recorded.write(1'000);
    const auto records = recorded.writer().next_record();
    std::vector<std::filesystem::path> files;
    std::vector<std::size_t> ends;
    for (const auto& file : list_segments(folder_)) {
        if (!SegmentReader::is_started(file.path)) continue;
        SegmentReader segment{file.path};
        RecordView view;
        while (segment.next(view) == ReadOutcome::record) {
        }
        files.push_back(file.path);
        ends.push_back(segment.offset());
    }
    std::mt19937_64 random{6};
    std::uint64_t complete = 0;
    for (int round = 0; round < 100; ++round) {
        SCOPED_TRACE(round);
        std::filesystem::remove_all(copy_folder());
        std::filesystem::copy(folder_, copy_folder());
        for (auto bytes = 1 + random() % 10; bytes != 0; --bytes) {
            const auto which = random() % files.size();
            auto region = memory::Region::open_file(copy_folder() / files[which].filename(), memory::Access::writable);
            const auto begin = data_offset(kSegmentBytes);
            // Most of the bytes are in records, some in headers.
            const auto at = random() % 8 == 0 ? random() % begin : begin + random() % (ends[which] - begin);
            region.data()[at] ^= static_cast<std::byte>(1 + random() % 255);
        }
        const auto checker = checked(copy_folder(), recorded, AtRecord{1 + random() % records}, false);
        ASSERT_FALSE(HasFailure());
        complete += checker.complete_orders() + checker.complete_levels();
    }
    EXPECT_GT(complete, 10'000U);
}

/// The kind of a record is under no checksum.
TEST_F(CheckpointTest, WithARecordOfADamagedKindNoBookIsWrong) {
    Recorder recorded{options(), 12};
    recorded.write(1'500);
    const auto path = list_segments(folder_).front().path;
    std::vector<RecordView> records;
    SegmentReader segment{path};
    RecordView view;
    while (segment.next(view) == ReadOutcome::record) {
        if (is_of_ring(view.kind)) records.push_back(view);
    }
    auto region = memory::Region::open_file(path, memory::Access::writable);
    std::mt19937_64 random{12};
    std::uint64_t missed = 0;
    for (int round = 0; round < 20; ++round) {
        const auto& damaged = records[records.size() / 4 + random() % (records.size() / 2)];
        auto& kind = reinterpret_cast<std::uint16_t&>(region.data()[damaged.offset]);
        const auto whole = kind;
        for (const auto other : std::to_array<std::uint16_t>({16, 17, 18, 19, 20, 200})) {
            SCOPED_TRACE(std::to_string(damaged.record) + " as " + std::to_string(other));
            kind = other;
            // Before it, in front of it, and after it.
            for (const auto from : {damaged.record - 100, damaged.record, damaged.record + 100}) {
                missed += checked(recorded, AtRecord{from}, false, 1'000).missed();
                ASSERT_FALSE(HasFailure());
            }
        }
        kind = whole;
    }
    EXPECT_GT(missed, 100U);
}

TEST_F(CheckpointTest, OneThatASegmentEndsBeginsAgainInTheNext) {
    Recorder recorded{options(), 5};
    recorded.write(1'500);
    recorded.end_books();
    const auto before = find_books_before(folder_, UINT64_MAX);
    ASSERT_TRUE(before && before->checkpoint);
    const auto checkpoints = recorded.writer().counters().checkpoints.read();
    std::uint64_t begun = 0;
    while (begun == 0) {
        recorded.append(recorded.day().next());
        const auto record = recorded.writer().next_record();
        recorded.writer().step(recorded.now());
        if (recorded.writer().next_record() != record) begun = record;
    }
    ASSERT_EQ(recorded.writer().counters().checkpoints.read(), checkpoints);
    recorded.begin_segment();
    recorded.append(recorded.day().next());
    const auto files = list_segments(folder_);
    ASSERT_GE(files.size(), 2U);
    EXPECT_EQ(count_checkpoints(files[0].path).torn, 1U);
    SegmentReader second{files[1].path};
    EXPECT_EQ(second.needed_checkpoint(), before->record);
    // It is due at once: no events are needed.
    while (recorded.writer().counters().checkpoints.read() == checkpoints) recorded.step();
    const auto after = find_books_before(folder_, UINT64_MAX);
    ASSERT_TRUE(after && after->checkpoint);
    EXPECT_GE(after->record, second.identity().first_record);
    recorded.write(100);
    for (const auto record : {begun, after->checkpoint->last + 1}) {
        static_cast<void>(checked(recorded, AtRecord{record}));
        ASSERT_FALSE(HasFailure());
    }
}

TEST_F(CheckpointTest, OneThatSeveralSegmentsEndBeginsAgainInEach) {
    auto rare = options();
    rare.checkpoint_interval = std::chrono::hours{1};
    rare.roll_after = {};
    Recorder recorded{rare, 14};
    recorded.write(300);
    const auto late = recorded.now() + std::chrono::nanoseconds{std::chrono::hours{2}}.count();
    auto& writer = recorded.writer();
    for (int segment = 0; segment < 4; ++segment) {
        const auto record = writer.next_record();
        writer.step(late);
        ASSERT_GT(writer.next_record(), record) << "a slice";
        recorded.begin_segment();
        ASSERT_TRUE(writer.append(quote(1), recorded.newest() + static_cast<std::uint64_t>(segment) + 1));
    }
    EXPECT_EQ(writer.counters().checkpoints.read(), 0U);
    for (int i = 0; i < 50; ++i) writer.step(late);
    EXPECT_EQ(writer.counters().checkpoint_errors.read(), 0U);
    EXPECT_EQ(writer.counters().checkpoints.read(), 1U);
}

TEST_F(CheckpointTest, OneThatNeedsANewSegmentDoesNotWaitForItsAge) {
    constexpr auto kHour = std::chrono::nanoseconds{std::chrono::hours{1}}.count();
    auto rare = options();
    rare.checkpoint_interval = std::chrono::hours{1};
    rare.roll_after = {};
    JournalWriter writer{rare, 1};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.orders = true});
    std::uint64_t ring = 0;
    ASSERT_TRUE(writer.append(feed::Clear{}, ++ring));
    for (std::uint64_t order = 0; order < 2'000; ++order)
        ASSERT_TRUE(writer.append(order_of(static_cast<feed::InstrumentId>(order % 50), order + 1), ++ring));
    writer.step(1);
    writer.service(1);
    while (writer.available() >= 1'800) ASSERT_TRUE(writer.append(quote(7), ++ring));
    ASSERT_EQ(writer.counters().segments.read(), 1U);
    const auto steps = [&](std::int64_t hours) {
        ASSERT_TRUE(writer.append(quote(7), ++ring));
        for (int i = 0; i < 100; ++i) writer.step(hours * kHour + 2);
        writer.service(1);
    };
    steps(1);
    EXPECT_EQ(writer.counters().segments.read(), 1U) << "the segment may end before long";
    steps(3);
    steps(3);
    EXPECT_EQ(writer.counters().segments.read(), 2U);
    EXPECT_EQ(writer.counters().checkpoints.read(), 1U);
}

TEST_F(CheckpointTest, ACheckpointThatDoesNotFitIntoASegmentIsCountedAndTheEventsGoOn) {
    const auto hours = [](int count) { return std::chrono::nanoseconds{std::chrono::hours{count}}.count(); };
    auto rare = options();
    rare.checkpoint_interval = std::chrono::hours{1};
    JournalWriter writer{rare, 1};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.orders = true});
    constexpr std::uint64_t kOrders = 40'000;  // 32 bytes each
    std::uint64_t ring = 0;
    const auto append = [&](const auto& event) {
        ++ring;
        while (!writer.append(event, ring)) ASSERT_TRUE(writer.service(1));
    };
    append(feed::Clear{});
    for (std::uint64_t order = 1; order <= kOrders; ++order) {
        append(order_of(static_cast<feed::InstrumentId>(order % 100), order));
        writer.step(1);
    }
    for (int i = 0; i < 20'000 && writer.counters().checkpoint_errors.read() == 0; ++i) {
        append(quote(ring));
        writer.step(hours(2));
    }
    EXPECT_EQ(writer.counters().checkpoint_errors.read(), 1U);
    EXPECT_EQ(writer.counters().checkpoints.read(), 0U);
    EXPECT_GT(writer.counters().checkpoint_bytes.read(), kSegmentBytes);
    append(quote(ring));
    writer.step(hours(2));
    EXPECT_EQ(writer.counters().checkpoint_errors.read(), 1U) << "it is not tried again before the next interval";
    EXPECT_FALSE(find_books_before(folder_, UINT64_MAX)->checkpoint);
}

/// What a handler gets of one instrument's levels.
struct LevelsOf {
    void on(const auto&) {}
    void on(const feed::Level& level) {
        if (level.instrument == id) ++(reader.in_snapshot() ? snapshot : events);
    }
    CatchUpReader& reader;
    feed::InstrumentId id;
    std::uint64_t snapshot{0};
    std::uint64_t events{0};
};

TEST_F(CheckpointTest, ACheckpointHasTheBookOfALargeId) {
    constexpr feed::InstrumentId kLarge = 1U << 20U;
    JournalWriter writer{options(), 1};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.depth = feed::kFullDepth});
    feed::Level level;
    level.instrument = kLarge;
    level.flags = feed::kLast;
    level.price = 1;
    level.size = 1;
    ASSERT_TRUE(writer.append(feed::Clear{}, 1));
    ASSERT_TRUE(writer.append(level, 2));
    writer.end_books();
    const auto record = writer.next_record();
    level.price = 2;
    ASSERT_TRUE(writer.append(level, 3));
    CatchUpReader reader{with_books(), AtRecord{record}};
    LevelsOf levels{reader, kLarge};
    reader.poll(levels, SIZE_MAX);
    EXPECT_EQ(levels.snapshot, 1U);
    EXPECT_EQ(levels.events, 1U);
}

TEST_F(CheckpointTest, AReaderOfEventsGetsNothingOfCheckpoints) {
    Recorder recorded{options(), 13};
    recorded.write(1'500);
    recorded.end_books();
    JournalReader reader{folder_};
    Delivered delivered{reader};
    delivered.drain();
    EXPECT_EQ(delivered.items.size(), recorded.newest());
    EXPECT_TRUE(delivered.all<LostRecord>().empty());
    EXPECT_EQ(reader.left_out(), 0U);
    EXPECT_EQ(reader.next_record(), recorded.writer().next_record());
}

TEST_F(CheckpointTest, AnOrderTakesAtMost40Bytes) {
    JournalWriter writer{options(), 1};
    writer.set_epoch(kEpoch);
    writer.keep_books();
    writer.set_depth(0, {.orders = true});
    std::uint64_t ring = 0;
    ASSERT_TRUE(writer.append(feed::Clear{}, ++ring));
    constexpr std::uint64_t kOrders = 6'000;
    for (std::uint64_t order = 1; order <= kOrders; ++order) {
        const auto id = static_cast<feed::InstrumentId>(order % 300);
        ASSERT_TRUE(writer.append(order_of(id, order, static_cast<feed::Price>(order % 7)), ++ring));
    }
    writer.end_books();
    ASSERT_EQ(writer.counters().checkpoints.read(), 1U);
    const auto origin = find_books_before(folder_, UINT64_MAX);
    ASSERT_TRUE(origin && origin->checkpoint);
    EXPECT_EQ(origin->checkpoint->orders, kOrders);
    EXPECT_EQ(origin->checkpoint->books, 300U);
    EXPECT_LE(writer.counters().checkpoint_bytes.read(), 40 * kOrders);
}

TEST_F(CheckpointTest, AfterALossTheLevelsComeFromTheBoardAndOrdersAreIncompleteUntilASnapshot) {
    Recorder recorded{options(), 9};
    recorded.write(1'500);
    recorded.lose(40);
    recorded.end_books();
    const auto lost = recorded.writer().next_record();
    recorded.append(recorded.day().snapshot(0));
    {
        const auto checker = checked(recorded, AtRecord{lost}, false);
        ASSERT_FALSE(HasFailure());
        EXPECT_GT(checker.events(), 0U);
        EXPECT_EQ(checker.complete_orders() + checker.complete_levels(), 2U) << "those of the snapshot";
    }
    for (feed::InstrumentId id = 0; id < OrderDay::kInstruments; ++id) {
        for (const auto& level : recorded.day().board(id)) recorded.writer().apply_board(level);
    }
    recorded.append(recorded.day().snapshot(0));
    recorded.end_books();
    const auto returned = recorded.writer().next_record();
    recorded.write(300);
    for (const auto from : {lost, returned}) {
        const auto checker = checked(recorded, AtRecord{from}, from == returned);
        ASSERT_FALSE(HasFailure());
        EXPECT_GT(checker.complete_levels(), 150U);
    }
    for (feed::InstrumentId id = 0; id < OrderDay::kInstruments; ++id) recorded.append(recorded.day().snapshot(id));
    recorded.end_books();
    const auto rebuilt = recorded.writer().next_record();
    recorded.write(300);
    const auto checker = checked(recorded, AtRecord{rebuilt});
    ASSERT_FALSE(HasFailure());
    EXPECT_GT(checker.complete_orders(), 100U);
}

TEST_F(CheckpointTest, AReaderWhoseRecordsAreDamagedHasCompleteBooksFromTheNextCheckpointOn) {
    auto rare = options();
    rare.checkpoint_interval = std::chrono::hours{1};
    Recorder recorded{rare, 10};
    recorded.write(300);
    recorded.end_books();
    const auto first = recorded.writer().next_record();
    recorded.write(100);
    recorded.end_books();
    const auto second = recorded.writer().next_record();
    recorded.write(200);
    const auto path = list_segments(folder_).front().path;
    {
        SegmentReader segment{path};
        segment.seek(first);
        RecordView view;
        while (segment.next(view) == ReadOutcome::record && view.record < first + 5) {
        }
        auto region = memory::Region::open_file(path, memory::Access::writable);
        region.data()[view.offset + 20] ^= std::byte{1};
    }
    CatchUpReader reader{with_books(), AtRecord{first}};
    Checker checker{recorded, reader, false};
    while (reader.journal().next_record() < second) checker.read(1);
    EXPECT_EQ(checker.missed(), 1U);
    const auto orders = checker.complete_orders();
    const auto levels = checker.complete_levels();
    checker.read();
    ASSERT_FALSE(HasFailure());
    EXPECT_GT(checker.complete_orders(), orders + 80);
    EXPECT_GT(checker.complete_levels(), levels + 80);
}

TEST_F(CheckpointTest, TheNextWriterOfTheEpochHasTheBooks) {
    for (const bool writes_last : {false, true}) {
        std::filesystem::remove_all(folder_);
        Recorder recorded{options(), 11};
        for (int run = 0; run < 4; ++run) {
            recorded.write(700);
            if (writes_last) recorded.end_books();
            recorded.open();
        }
        recorded.write(10);
        recorded.end_books();
        const auto record = recorded.writer().next_record();
        recorded.write(300);
        const auto checker = checked(recorded, AtRecord{record});
        ASSERT_FALSE(HasFailure());
        EXPECT_GT(checker.complete_orders(), 40U);
    }
}

TEST_F(CheckpointTest, RetentionKeepsTheCheckpointThatTheOldestKeptSegmentNeeds) {
    const auto at = [](std::int64_t seconds) {
        return std::chrono::nanoseconds{std::chrono::seconds{seconds}}.count();
    };
    for (const bool keeps_books : {true, false}) {
        std::filesystem::remove_all(folder_);
        auto kept = options();
        kept.keep_for = std::chrono::seconds{100};
        JournalWriter writer{kept, 0};
        writer.set_epoch(kEpoch);
        if (keeps_books) writer.keep_books();
        writer.set_depth(0, {.orders = true});
        std::uint64_t ring = 0;
        const auto append = [&](std::int64_t seconds) {
            auto order = order_of(0, ++ring);
            order.receive_utc_ns = at(seconds);
            ASSERT_TRUE(writer.append(order, ring));
        };
        const auto begin_segment = [&] {
            writer.service(at(0));
            ASSERT_TRUE(writer.begin_session());
            writer.service(at(0));
        };
        const auto existing = [&] {
            std::vector<std::uint64_t> found;
            for (std::uint64_t ordinal = 1; ordinal <= 5; ++ordinal) {
                if (std::filesystem::exists(segment_path(folder_, ordinal))) found.push_back(ordinal);
            }
            return found;
        };
        using Ordinals = std::vector<std::uint64_t>;
        append(1);
        writer.end_books();
        begin_segment();
        append(50);
        begin_segment();
        append(100);
        writer.end_books();
        begin_segment();
        append(150);
        begin_segment();
        append(200);
        writer.service(at(170));
        EXPECT_EQ(existing(), keeps_books ? (Ordinals{1, 2, 3, 4, 5}) : (Ordinals{3, 4, 5}));
        writer.service(at(201));
        EXPECT_EQ(existing(), keeps_books ? (Ordinals{3, 4, 5}) : (Ordinals{4, 5}));
        writer.service(at(251));
        EXPECT_EQ(existing(), keeps_books ? (Ordinals{3, 4, 5}) : (Ordinals{5}));
        const auto origin = find_books_before(folder_, UINT64_MAX);
        ASSERT_TRUE(origin);
        EXPECT_EQ(origin->checkpoint.has_value(), keeps_books);
    }
}

TEST_F(CheckpointTest, RetentionGoesOnWhenThereAreNoMoreCheckpoints) {
    const auto at = [](std::int64_t seconds) {
        return std::chrono::nanoseconds{std::chrono::seconds{seconds}}.count();
    };
    enum class Why : std::uint8_t { reload, depth, too_large };
    for (const auto why : {Why::reload, Why::depth, Why::too_large}) {
        SCOPED_TRACE(static_cast<int>(why));
        std::filesystem::remove_all(folder_);
        auto kept = options();
        kept.keep_for = std::chrono::seconds{100};
        std::uint64_t ring = 0;
        std::optional<JournalWriter> writer;
        const auto open = [&] {
            writer.reset();
            writer.emplace(kept, 0);
            writer->set_epoch(kEpoch);
        };
        const auto append = [&](std::int64_t seconds) {
            auto order = order_of(0, ++ring);
            order.receive_utc_ns = at(seconds);
            while (!writer->append(order, ring)) ASSERT_TRUE(writer->service(at(0)));
        };
        open();
        writer->keep_books();
        writer->set_depth(0, {.orders = true});
        ASSERT_TRUE(writer->append(feed::Clear{.receive_utc_ns = at(1)}, ++ring));
        append(1);
        writer->end_books();
        switch (why) {
            case Why::reload: open(); break;
            case Why::depth: writer->set_depth(0, {}); break;
            case Why::too_large:
                for (int order = 0; order < 40'000; ++order) append(2);
                for (int i = 0; i < 20'000 && writer->counters().checkpoint_errors.read() == 0; ++i) {
                    append(2);
                    writer->step(at(3'600 + i));
                }
                ASSERT_EQ(writer->counters().checkpoint_errors.read(), 1U);
                break;
        }
        for (const auto second : {200, 400, 600}) {
            writer->service(at(0));
            ASSERT_TRUE(writer->begin_session());
            append(second);
        }
        writer->service(at(0));
        ASSERT_TRUE(std::filesystem::exists(segment_path(folder_, 1)));
        writer->service(at(601));
        EXPECT_FALSE(std::filesystem::exists(segment_path(folder_, 1)));
    }
}

/// Each of MILLPOND_TEST_KILLS (20) writers is killed at a random place.
TEST_F(CheckpointTest, CheckpointsSurviveKillMinusNine) {
    const char* wanted = std::getenv("MILLPOND_TEST_KILLS");
    const int kills = wanted != nullptr ? std::atoi(wanted) : 20;
    std::mt19937_64 random{42};
    int with_checkpoint = 0;
    for (int kill = 0; kill < kills; ++kill) {
        std::filesystem::remove_all(folder_);
        const auto told_name = "millpond-test-checkpoint-" + std::to_string(getpid());
        auto shared = memory::Region::shared(told_name, 8, {.exclusive = true});
        auto* told = reinterpret_cast<std::atomic<std::uint64_t>*>(shared.data());
        const auto seed = random();
        {
            test::ChildProcess child{[&] {
                Recorder recorded{options(), seed};
                for (;;) {
                    recorded.write(1);
                    told->store(recorded.newest());
                }
                return 0;
            }};
            const auto target = 500 + random() % 2'000;
            while (told->load() < target) std::this_thread::yield();
        }
        const auto acknowledged = told->load();
        memory::Region::unlink_shared(told_name);
        // The same day, in a journal whose writer is not killed.
        auto whole = options();
        whole.folder = copy_folder();
        std::filesystem::remove_all(copy_folder());
        Recorder recorded{whole, seed};
        while (recorded.newest() <= acknowledged + 100) recorded.write(1);
        const auto origin = find_books_before(folder_, UINT64_MAX);
        if (origin && origin->checkpoint) ++with_checkpoint;
        for (const auto record : {std::uint64_t{2}, 1 + random() % acknowledged, acknowledged}) {
            const auto checker = checked(recorded, AtRecord{record});
            ASSERT_FALSE(HasFailure()) << "kill " << kill << " record " << record;
            EXPECT_GT(checker.events(), 0U);
        }
    }
    EXPECT_GT(with_checkpoint, kills / 2);
}

}  // namespace
}  // namespace millpond::journal
