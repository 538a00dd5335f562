#include <millpond/journal/catch_up_reader.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/core/clock.hpp>
#include <millpond/journal/journal_error.hpp>
#include <millpond/journal/segment_reader.hpp>
#include <millpond/journal/segment_writer.hpp>
#include <millpond/market/books.hpp>

#include "tests/journal/journal_fixture.hpp"
#include "tests/market/depth_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::journal {
namespace {

using market::DepthFeed;

constexpr std::uint32_t kDepth = 4;
using Entry = std::pair<std::uint64_t, std::uint64_t>;  // epoch and ring number

/// The bytes of an event with its kind, for comparisons.
template <class Event>
std::string bytes_of(const Event& event) {
    std::string bytes(sizeof event + 1, static_cast<char>(Event::kKind));
    std::memcpy(bytes.data() + 1, &event, sizeof event);
    return bytes;
}

/// Reads a ring from its start, after each publication: what every other reader must get, and the books after each
/// entry.
class Witness {
public:
    struct Side {
        bool is_complete{false};
        std::vector<market::Rung> bids;
        std::vector<market::Rung> asks;
    };

    explicit Witness(const std::string& ring)
        : reader_({.name = ring}),
          books_({.max_instruments = 8}, [this](std::uint16_t channel) { return reader_.depth(channel); }) {
        reader_.seek(1);
    }
    void poll(std::map<Entry, std::string>& events, std::map<Entry, Side>& books) {
        to_ = {&events, &books};
        while (reader_.poll(*this, 64) != 0) {
        }
    }
    template <class Event>
    void on(const Event& event) {
        const Entry at{reader_.epoch(), reader_.current()};
        (*to_.first)[at] = bytes_of(event);
        books_.on(event);
        if constexpr (requires { event.instrument; }) {
            const auto* const book = books_.find(event.instrument);
            if (book == nullptr || !book->complete()) return;
            (*to_.second)[at] = {true, market::rungs_of(book->bids()), market::rungs_of(book->asks())};
        }
    }
    void on(const queue::MissedRange& missed) { ADD_FAILURE() << "the ring is too small: " << missed.first; }

private:
    std::pair<std::map<Entry, std::string>*, std::map<Entry, Side>*> to_{};
    market::RingReader reader_;
    market::Books books_;
};

/// A reader from the journal on, and what it must not do: skip an entry without a word, repeat or change one.
class Follower {
public:
    Follower(const std::map<Entry, std::string>& events, const std::map<Entry, Witness::Side>& books,
             bool begins_with_books)
        : events_(events), books_of_(books), begins_with_books_(begins_with_books) {}

    void open(const std::filesystem::path& folder, const std::string& ring, const StartAt& from) {
        const bool continues = std::holds_alternative<SavedPosition>(from);
        if (!continues) next_ = 0;
        reader_ = std::make_unique<CatchUpReader>(
            CatchUpOptions{.folder = folder, .ring = ring, .books = begins_with_books_}, from);
        books_ = std::make_unique<market::Books>(market::Books::Options{.max_instruments = 8},
                                                 [this](std::uint16_t channel) { return reader_->depth(channel); });
        from_here_ = 0;
    }
    [[nodiscard]] CatchUpReader& reader() { return *reader_; }
    [[nodiscard]] const std::set<Entry>& missed() const { return missed_; }
    [[nodiscard]] std::uint64_t compared() const { return compared_; }
    [[nodiscard]] std::uint64_t complete() const { return complete_; }

    std::size_t poll(std::size_t max) {
        const auto polled = reader_->poll(*this, max);
        const auto account = reader_->account();
        EXPECT_EQ(account.published, account.delivered + account.filtered + account.missed + account.queued);
        EXPECT_EQ(account.delivered + account.missed, from_here_);
        return polled;
    }
    template <class Event>
    void on(const Event& event) {
        if (reader_->in_snapshot()) {
            books_->on(event);
            return;
        }
        const Entry at{reader_->epoch(), reader_->current()};
        step(at, at.second, at.second);
        const auto expected = events_.find(at);
        ASSERT_NE(expected, events_.end()) << at.second;
        ASSERT_EQ(bytes_of(event), expected->second) << at.second;
        ++compared_;
        books_->on(event);
        if constexpr (requires { event.instrument; }) {
            if (event.instrument == feed::kNoInstrument) return;
            EXPECT_NE(reader_->instrument(event.instrument), nullptr);
            const auto* const book = books_->find(event.instrument);
            if (book == nullptr || !book->complete()) return;
            ++complete_;
            const auto of = books_of_.find(at);
            ASSERT_NE(of, books_of_.end())
                << "the book of instrument " << event.instrument << " is not complete at " << at.second;
            ASSERT_EQ(market::rungs_of(book->bids()), of->second.bids) << at.second;
            ASSERT_EQ(market::rungs_of(book->asks()), of->second.asks) << at.second;
        }
    }
    void on(const queue::MissedRange& range) {
        step({reader_->epoch(), range.last}, range.first, range.last);
        for (auto number = range.first; number <= range.last; ++number) missed_.emplace(reader_->epoch(), number);
        books_->on(range);
    }
    void on(const NewEpoch& change) {
        EXPECT_EQ(change.before, epoch_);
        EXPECT_EQ(change.last_of_before + 1, next_);
        EXPECT_EQ(change.epoch, reader_->epoch());
        epoch_ = change.epoch;
        next_ = 1;
        books_->reset();
    }

private:
    void step(const Entry& at, std::uint64_t first, std::uint64_t last) {
        if (next_ == 0) {
            epoch_ = at.first;
            next_ = first;
        }
        ASSERT_EQ(at.first, epoch_);
        ASSERT_EQ(first, next_) << "epoch " << epoch_;
        next_ = last + 1;
        from_here_ += last + 1 - first;
    }

    const std::map<Entry, std::string>& events_;
    const std::map<Entry, Witness::Side>& books_of_;
    bool begins_with_books_;
    std::unique_ptr<CatchUpReader> reader_;
    std::unique_ptr<market::Books> books_;
    std::set<Entry> missed_;
    std::uint64_t epoch_{0};
    std::uint64_t next_{0};  // 0: any
    std::uint64_t from_here_{0};
    std::uint64_t compared_{0};
    std::uint64_t complete_{0};
};

/// A gateway in steps: a ring, its feed, and a journal that follows it at a pace of its own.
class Gateway {
public:
    Gateway(std::filesystem::path folder, std::string ring, std::uint64_t capacity, std::uint64_t seed,
            bool keeps_books)
        : folder_(std::move(folder)),
          name_(std::move(ring)),
          capacity_(capacity),
          random_(seed),
          keeps_books_(keeps_books) {
        start_ring();
        open_journal();
    }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
    [[nodiscard]] const std::map<Entry, std::string>& events() const { return events_; }
    [[nodiscard]] const std::map<Entry, Witness::Side>& books() const { return books_; }
    /// Entries that readers may miss: the journal lost them, or its segment was removed.
    [[nodiscard]] const std::set<Entry>& lost() const { return lost_; }
    [[nodiscard]] std::uint64_t epoch() const { return journaled_->epoch(); }
    [[nodiscard]] std::uint64_t next_record() const { return writer_->next_record(); }
    [[nodiscard]] std::uint64_t newest() const { return ring_->newest(); }

    void publish() {
        now_ += 1'000;
        feed_->publish();
        ring_->heartbeat(core::utc_nanos());
        witness_->poll(events_, books_);
    }
    /// Journals up to `max` entries.
    std::size_t journal(std::size_t max) {
        const auto polled = journaled_->poll(*this, max);
        writer_->step(now_);
        return polled;
    }
    void begin_segment() {
        writer_->service(0);
        ASSERT_TRUE(writer_->begin_session());
        writer_->service(0);
    }
    void start_ring() {
        witness_.reset();
        feed_.reset();
        ring_.reset();
        ring_ = market::deep_writer(name_, kDepth, capacity_);
        market::name_instruments(*ring_, DepthFeed::kInstruments);
        witness_ = std::make_unique<Witness>(name_);
        feed_ = std::make_unique<DepthFeed>(*ring_, kDepth, random_());
        feed_->open();
        ring_->heartbeat(core::utc_nanos());
        witness_->poll(events_, books_);
        if (writer_) follow_ring();
    }
    /// The journal's writer is killed: the next one continues what the files had then.
    void kill_journal() {
        const auto copy = folder_.string() + "k";
        std::filesystem::copy(folder_, copy);
        writer_.reset();
        std::filesystem::remove_all(folder_);
        folder_ = copy;
        open_journal();
    }
    void remove_oldest() {
        const auto files = list_segments(folder_);
        if (files.size() < 4) return;
        JournalReader reader{files.front().path};
        Delivered delivered{reader};
        delivered.drain();
        for (const auto& item : delivered.items) {
            lost_.emplace(item.at.epoch, item.at.ring);
            if (const auto* range = std::get_if<LostRecord>(&item.event)) {
                for (auto number = range->first; number <= range->last; ++number) lost_.emplace(item.at.epoch, number);
            }
        }
        std::filesystem::remove(files.front().path);
    }

    template <class Event>
    void on(const Event& event) {
        const auto& board = journaled_->board();
        for (std::uint32_t id = named_; id < board.instruments(); ++id) writer_->name(id, *board.instrument(id));
        named_ = board.instruments();
        if (event.channel < board.max_channels()) writer_->set_depth(event.channel, board.channel_depth(event.channel));
        auto stored = event;
        while (!writer_->append(stored, journaled_->current())) ASSERT_TRUE(writer_->service(0));
    }
    void on(const queue::MissedRange& missed) {
        ASSERT_TRUE(writer_->append_lost({.first = missed.first, .last = missed.last}));
        for (auto number = missed.first; number <= missed.last; ++number) lost_.emplace(epoch(), number);
    }

private:
    void open_journal() {
        writer_ = std::make_unique<JournalWriter>(WriterOptions{.folder = folder_,
                                                                .ring = name_,
                                                                .segment_bytes = kSegmentBytes,
                                                                .roll_after = std::chrono::nanoseconds{0},
                                                                .sync = Sync::none,
                                                                .checkpoint_interval = std::chrono::microseconds{200},
                                                                .checkpoint_slice = std::chrono::nanoseconds{0}},
                                                  0);
        follow_ring();
        if (keeps_books_) writer_->keep_books();
    }
    void follow_ring() {
        journaled_ = std::make_unique<market::RingReader>(market::RingReaderOptions{.name = name_});
        const auto at = writer_->resume_at(journaled_->epoch());
        writer_->set_epoch(journaled_->epoch());
        journaled_->seek(at);
        named_ = 0;
    }

    std::filesystem::path folder_;
    std::string name_;
    std::uint64_t capacity_;
    std::mt19937_64 random_;
    bool keeps_books_;
    std::unique_ptr<market::RingWriter> ring_;
    std::unique_ptr<Witness> witness_;
    std::unique_ptr<DepthFeed> feed_;
    std::unique_ptr<JournalWriter> writer_;
    std::unique_ptr<market::RingReader> journaled_;
    std::uint32_t named_{0};
    std::int64_t now_{0};
    std::map<Entry, std::string> events_;
    std::map<Entry, Witness::Side> books_;
    std::set<Entry> lost_;
};

class CatchUpReaderTest : public JournalTest {
protected:
    void TearDown() override {
        JournalTest::TearDown();
        for (const auto& name : {folder_.string() + "k", folder_.string() + ".position"})
            std::filesystem::remove_all(name);
    }
    [[nodiscard]] std::string position_file() const { return folder_.string() + ".position"; }

    /// What happens in a schedule.
    struct Chances {
        std::uint64_t journal_lags{1};  ///< Of its steps, in 4.
        bool restarts{false};
        bool kills{false};
        bool removes{false};
        bool readers_are_slow{false};
        bool books{false};  ///< The journal has checkpoints, and readers begin with them.
    };
    struct Outcome {
        std::uint64_t compared{0};
        std::uint64_t missed{0};
        std::uint64_t complete{0};
        std::uint64_t live{0};
        bool has_lost{false};
    };
    Outcome run(std::uint64_t seed, std::uint64_t capacity, const Chances& chances) {
        TearDown();
        std::mt19937_64 random{seed};
        const auto pick = [&](std::uint64_t bound) { return random() % bound; };
        const auto name = market::fresh_name();
        const market::NameGuard guard{name};
        Gateway gateway{folder_, name, capacity, seed, chances.books};
        gateway.journal(64);
        std::vector<std::unique_ptr<Follower>> followers;
        for (int i = 0; i < 4; ++i) {
            followers.push_back(std::make_unique<Follower>(gateway.events(), gateway.books(), chances.books));
            followers.back()->open(gateway.folder(), name, AtRecord{});
        }
        const auto save_and_open = [&](Follower& follower) {
            const auto position = follower.reader().position();
            if (!position) return follower.open(gateway.folder(), name, AtRecord{});
            save_position(position_file(), *position);
            follower.open(gateway.folder(), name, load_position(position_file()).value());
        };
        Outcome outcome;
        for (int step = 0; step < 1'500; ++step) {
            for (auto groups = 1 + pick(6); groups != 0; --groups) gateway.publish();
            if (pick(4) >= chances.journal_lags) gateway.journal(1 + pick(100));
            if (pick(100) == 0) {
                gateway.journal(SIZE_MAX);
                gateway.begin_segment();
            }
            if (chances.removes && pick(100) == 0) gateway.remove_oldest();
            if (chances.kills && pick(150) == 0) {
                gateway.kill_journal();
                for (auto& follower : followers) save_and_open(*follower);
            }
            if (chances.restarts && pick(200) == 0) {
                if (pick(2) == 0) gateway.journal(SIZE_MAX);  // as a gateway that is stopped does
                gateway.start_ring();
            }
            for (auto& follower : followers) {
                if (pick(chances.readers_are_slow ? 8 : 2) == 0) follower->poll(1 + pick(120));
                outcome.live += follower->reader().is_live() ? 1U : 0U;
                if (pick(120) == 0) save_and_open(*follower);
                if (follower != followers.front() && pick(200) == 0)
                    follower->open(gateway.folder(), name, AtRecord{1 + pick(gateway.next_record())});
            }
            if (HasFatalFailure()) return outcome;
        }
        gateway.journal(SIZE_MAX);
        gateway.publish();
        gateway.journal(SIZE_MAX);
        for (auto& follower : followers) {
            while (follower->poll(1'000) != 0) {
            }
            EXPECT_TRUE(follower->reader().is_live());
            EXPECT_EQ(follower->reader().epoch(), gateway.epoch());
            EXPECT_EQ(follower->reader().current(), gateway.newest());
            EXPECT_EQ(follower->reader().account().queued, 0U);
            for (const auto& entry : follower->missed())
                EXPECT_TRUE(gateway.lost().contains(entry)) << entry.second << " was not lost";
            outcome.compared += follower->compared();
            outcome.missed += follower->missed().size();
            outcome.complete += follower->complete();
        }
        outcome.has_lost = !gateway.lost().empty();
        std::filesystem::remove_all(gateway.folder());
        return outcome;
    }
};

TEST_F(CatchUpReaderTest, GoesFromTheJournalToTheRingAndBackWithoutAHoleOrADouble) {
    std::uint64_t live = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(seed);
        const auto outcome = run(seed, 1U << 14U, {.readers_are_slow = seed % 2 == 0});
        ASSERT_FALSE(HasFailure());
        EXPECT_EQ(outcome.missed, 0U);
        EXPECT_GT(outcome.compared, 20'000U);
        EXPECT_GT(outcome.complete, 1'000U);
        live += outcome.live;
    }
    EXPECT_GT(live, 1'000U);
}

TEST_F(CatchUpReaderTest, ReadersThatTheRingOvertakesGoOnInTheJournal) {
    // The ring holds few groups; the journal never lags by as many.
    for (std::uint64_t seed = 11; seed <= 14; ++seed) {
        SCOPED_TRACE(seed);
        const auto outcome = run(seed, 512, {.journal_lags = 0, .readers_are_slow = true});
        ASSERT_FALSE(HasFailure());
        EXPECT_TRUE(outcome.has_lost || outcome.missed == 0);
        EXPECT_GT(outcome.complete, 1'000U);
    }
}

TEST_F(CatchUpReaderTest, WhatIsMissedIsReportedAndNothingElse) {
    std::uint64_t missed = 0;
    for (std::uint64_t seed = 21; seed <= 30; ++seed) {
        SCOPED_TRACE(seed);
        const auto outcome = run(seed, seed % 2 == 0 ? 256 : 1'024,
                                 {.journal_lags = 2,
                                  .restarts = seed % 3 != 0,
                                  .kills = seed % 3 != 1,
                                  .removes = true,
                                  .readers_are_slow = true});
        ASSERT_FALSE(HasFailure());
        missed += outcome.missed;
    }
    EXPECT_GT(missed, 1'000U);
}

TEST_F(CatchUpReaderTest, WithCheckpointsBooksAreThoseOfAReaderThatWasThereFromTheStart) {
    for (std::uint64_t seed = 41; seed <= 48; ++seed) {
        SCOPED_TRACE(seed);
        const auto outcome = run(seed, seed % 2 == 0 ? std::uint64_t{1} << 14U : std::uint64_t{512},
                                 {.journal_lags = seed % 2 == 0 ? 1U : 2U,
                                  .restarts = seed % 3 == 0,
                                  .kills = seed % 3 == 1,
                                  .removes = seed % 4 == 2,
                                  .readers_are_slow = seed % 2 == 0,
                                  .books = true});
        ASSERT_FALSE(HasFailure());
        EXPECT_GT(outcome.complete, 1'000U);
    }
}

/// The events of a handler that has no function for orders and levels.
struct Quotes {
    void on(const feed::Quote& quote) { numbers.push_back(quote.feed_sequence); }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void on(const queue::MissedRange& range) { missed.push_back(range); }
    void on(const NewEpoch&) { ++epochs; }
    std::vector<std::uint64_t> numbers{};
    std::vector<queue::MissedRange> missed{};
    int epochs{0};
};

TEST_F(CatchUpReaderTest, BeginsWithTheFirstEventOfATimeAndLeavesNothingOutAfterIt) {
    const auto name = market::fresh_name();
    {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        for (std::uint64_t number = 1; number <= 100; ++number) {
            auto one = quote(number);
            if (number % 10 == 0) one.receive_utc_ns -= 5'000;  // another feed, which is behind
            ASSERT_TRUE(writer.append(one, number));
        }
        ASSERT_TRUE(writer.append_lost({.first = 101, .last = 110, .utc_ns = 110'000}));
        ASSERT_TRUE(writer.append(quote(111), 111));
    }
    const auto first_of = [&](std::int64_t time) {
        CatchUpReader reader{{.folder = folder_, .ring = name}, AtTime{time}};
        Quotes quotes;
        reader.poll(quotes, SIZE_MAX);
        const auto account = reader.account();
        EXPECT_EQ(account.published, account.delivered + account.missed);
        EXPECT_TRUE(quotes.numbers.empty() || quotes.numbers.back() == 111U);
        EXPECT_EQ(account.delivered, quotes.numbers.size());
        return std::pair{quotes.numbers.empty() ? 0 : quotes.numbers.front(), account.missed};
    };
    using First = std::pair<std::uint64_t, std::uint64_t>;
    EXPECT_EQ(first_of(0), First(1, 10));
    EXPECT_EQ(first_of(58'000), First(58, 10));
    EXPECT_EQ(first_of(100'000), First(111, 10));  // the lost range may be of the time
    EXPECT_EQ(first_of(110'500), First(111, 0));
    EXPECT_EQ(first_of(111'001), First(0, 0));
    CatchUpReader reader{{.folder = folder_, .ring = name}, AtRecord{50}};
    Quotes quotes;
    reader.poll(quotes, 1);
    EXPECT_EQ(quotes.numbers, (std::vector<std::uint64_t>{50}));
    EXPECT_EQ(reader.position(), (SavedPosition{.epoch = kEpoch, .ring = 50, .record = 51}));
    EXPECT_FALSE(reader.is_live());
    EXPECT_EQ(reader.writer_state(), std::nullopt);
}

TEST_F(CatchUpReaderTest, ATimeAfterTheNewestEventContinuesWithTheRingsNextOne) {
    const auto name = market::fresh_name();
    const market::NameGuard guard{name};
    const auto ring = market::deep_writer(name, kDepth);
    market::name_instruments(*ring, 1);
    auto settings = options();
    settings.ring = name;
    JournalWriter writer{settings, 0};
    writer.set_epoch(market::RingReader{{.name = name}}.epoch());
    const auto publish = [&](std::uint64_t number, std::int64_t receive_utc_ns) {
        auto one = quote(number);
        one.receive_utc_ns = receive_utc_ns;
        one.flags = feed::kLast;  // readers see a group when it ends
        ASSERT_TRUE(ring->publish(one));
    };
    for (std::uint64_t number = 1; number <= 5; ++number) {
        publish(number, static_cast<std::int64_t>(number * 1'000));
        ASSERT_TRUE(writer.append(quote(number), number));
    }
    CatchUpReader future{{.folder = folder_, .ring = name}, AtTime{core::utc_nanos() + 3'600'000'000'000}};
    CatchUpReader reader{{.folder = folder_, .ring = name}, AtTime{5'001}};
    Quotes quotes;
    Quotes none;
    while (reader.poll(quotes, 64) + future.poll(none, 64) != 0) {
    }
    EXPECT_TRUE(reader.is_live());
    EXPECT_EQ(reader.current(), 5U);
    EXPECT_FALSE(future.is_live());
    publish(6, 5'000);
    publish(7, 7'000);
    publish(8, 8'000);
    while (reader.poll(quotes, 64) != 0) {
    }
    EXPECT_EQ(quotes.numbers, (std::vector<std::uint64_t>{7, 8}));
    EXPECT_EQ(reader.account().published, 2U);
    EXPECT_EQ(reader.account().delivered, 2U);
    EXPECT_TRUE(none.numbers.empty());
}

TEST_F(CatchUpReaderTest, WhatIsBeforeTheTimeIsNotMissedIfTheRingLacksIt) {
    const auto name = market::fresh_name();
    const market::NameGuard guard{name};
    market::RingWriter ring{market::small_ring(name)};
    market::name_instruments(ring, 1);
    auto settings = options();
    settings.ring = name;
    JournalWriter writer{settings, 0};
    writer.set_epoch(market::RingReader{{.name = name}}.epoch());
    const auto of = [](std::uint64_t number) {
        auto one = quote(number);
        one.receive_utc_ns = static_cast<std::int64_t>(number * 1'000);
        one.flags = feed::kLast;
        return one;
    };
    const auto publish = [&](std::uint64_t first, std::uint64_t last) {
        for (auto number = first; number <= last; ++number) ASSERT_TRUE(ring.publish(of(number)));
    };
    const auto journal = [&](std::uint64_t first, std::uint64_t last) {
        for (auto number = first; number <= last; ++number) {
            while (!writer.append(of(number), number)) ASSERT_TRUE(writer.service(0));
        }
    };
    const auto poll = [](CatchUpReader& reader, Quotes& quotes) {
        while (reader.poll(quotes, 64) != 0) {
        }
    };
    // One reader waits for the journal; the other has switched to the ring, which overtakes it then.
    Quotes waited;
    Quotes overtaken;
    publish(1, 5);
    journal(1, 5);
    CatchUpReader overtaken_reader{{.folder = folder_, .ring = name}, AtTime{200'000}};
    poll(overtaken_reader, overtaken);
    EXPECT_TRUE(overtaken_reader.is_live());
    publish(6, 300);
    CatchUpReader waiting_reader{{.folder = folder_, .ring = name}, AtTime{200'000}};
    poll(waiting_reader, waited);
    EXPECT_FALSE(waiting_reader.is_live());
    EXPECT_EQ(waiting_reader.position(), std::nullopt);
    journal(6, 300);
    for (auto* const both : {&waiting_reader, &overtaken_reader}) {
        auto& quotes = both == &waiting_reader ? waited : overtaken;
        poll(*both, quotes);
        EXPECT_TRUE(quotes.missed.empty());
        EXPECT_EQ(quotes.numbers.size(), 101U);
        EXPECT_EQ(quotes.numbers.front(), 200U);
        EXPECT_EQ(both->account().published, 101U);
        EXPECT_EQ(both->account().delivered, 101U);
        EXPECT_EQ(both->account().missed, 0U);
    }
}

TEST_F(CatchUpReaderTest, ADamagedRecordIsAMissedEntry) {
    {
        JournalWriter writer{options(), 0};
        writer.set_epoch(kEpoch);
        append(writer, 1, 10);
    }
    std::fstream file{segment_path(folder_, 1), std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(static_cast<std::streamoff>(data_offset(kSegmentBytes) + 4 * kRecordBytes<feed::Quote> + 40)).put('x');
    file.close();
    CatchUpReader reader{{.folder = folder_, .ring = market::fresh_name()}};
    Quotes quotes;
    reader.poll(quotes, SIZE_MAX);
    ASSERT_EQ(quotes.missed.size(), 1U);
    EXPECT_EQ(quotes.missed[0].first, 5U);
    EXPECT_EQ(quotes.missed[0].last, 5U);
    EXPECT_EQ(reader.account().published, 10U);
    EXPECT_EQ(reader.account().delivered, 9U);
}

TEST_F(CatchUpReaderTest, ARecordOfAnUnknownKindIsFilteredAsInTheRing) {
    constexpr RecordKind kLater{200};
    std::filesystem::create_directories(folder_);
    SegmentWriter segment{{1, segment_path(folder_, 1)}, kSegmentBytes};
    segment.begin({.ring = RingName{"main"}, .epoch = kEpoch, .first_record = 1});
    for (const std::uint64_t number : {1U, 2U, 3U, 5U}) {
        const auto one = quote(number);
        EXPECT_TRUE(segment.append(number == 2 ? kLater : kRecordKind<feed::Quote>, number, one, one.receive_utc_ns));
    }
    EXPECT_TRUE(segment.append(kLater, 7, quote(7), 7'000));
    segment.end();
    CatchUpReader reader{{.folder = folder_, .ring = market::fresh_name()}};
    Quotes quotes;
    reader.poll(quotes, SIZE_MAX);
    EXPECT_EQ(quotes.numbers, (std::vector<std::uint64_t>{1, 3, 5}));
    ASSERT_EQ(quotes.missed.size(), 2U);
    EXPECT_EQ(quotes.missed[0].first, 4U);
    EXPECT_EQ(quotes.missed[1].first, 6U);
    EXPECT_EQ(reader.current(), 7U);
    const auto account = reader.account();
    EXPECT_EQ(account.published, 7U);
    EXPECT_EQ(account.delivered, 3U);
    EXPECT_EQ(account.filtered, 2U);
    EXPECT_EQ(account.missed, 2U);
}

TEST_F(CatchUpReaderTest, APositionBeyondTheEndIsRefused) {
    {
        JournalWriter writer{options(), 0};
        append(writer, 1, 10);
    }
    EXPECT_NO_THROW(static_cast<void>(CatchUpReader({.folder = folder_}, SavedPosition{.ring = 10, .record = 11})));
    try {
        const CatchUpReader reader{{.folder = folder_}, SavedPosition{.ring = 11, .record = 12}};
        ADD_FAILURE();
    } catch (const JournalError& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("ends with record 10, before record 12 of the saved position"));
    }
}

TEST_F(CatchUpReaderTest, APositionInAFolderWithoutAJournalWaitsForOne) {
    std::filesystem::create_directories(folder_);
    CatchUpReader reader{{.folder = folder_}, SavedPosition{.epoch = 3, .ring = 10, .record = 11}};
    Quotes quotes;
    EXPECT_EQ(reader.poll(quotes, 64), 0U);
    EXPECT_FALSE(reader.is_live());
}

/// Appends the trades and Clears of a ring.
struct TradeSink {
    void append(const auto& event) {
        while (!writer.append(event, from.current())) writer.service(0);
    }
    void on(const feed::Trade& trade) { append(trade); }
    void on(const feed::Clear& clear) { append(clear); }
    void on(const feed::Quote&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap&) {}
    void on(const queue::MissedRange&) { std::abort(); }
    JournalWriter& writer;
    market::RingReader& from;
};

/// Each of MILLPOND_TEST_KILLS (20) gateways is killed at a random place with entries that its journal does not have;
/// the next one continues the ring and the journal. A reader that was there from the start misses nothing.
TEST_F(CatchUpReaderTest, WhatAKilledJournalDidNotWriteIsReadFromTheRing) {
    const char* wanted = std::getenv("MILLPOND_TEST_KILLS");
    const int kills = wanted != nullptr ? std::atoi(wanted) : 20;
    const auto name = market::fresh_name();
    const market::NameGuard guard{name};
    struct Check {
        void on(const feed::Trade& trade) {
            EXPECT_EQ(reader->current(), next);
            EXPECT_EQ(trade.trade_id, next++);
        }
        void on(const feed::Clear&) { EXPECT_EQ(reader->current(), next++); }
        void on(const feed::Quote&) { ADD_FAILURE(); }
        void on(const feed::TradeBreak&) { ADD_FAILURE(); }
        void on(const feed::Status&) { ADD_FAILURE(); }
        void on(const feed::Gap&) { ADD_FAILURE(); }
        void on(const queue::MissedRange& range) { ADD_FAILURE() << range.first << " to " << range.last; }
        void on(const NewEpoch&) { ADD_FAILURE(); }
        CatchUpReader* reader{nullptr};
        std::uint64_t next{1};
    };
    Check check;
    std::optional<CatchUpReader> reader;
    std::mt19937_64 random{7};
    std::uint64_t unjournaled = 0;
    for (int kill = 0; kill < kills; ++kill) {
        const auto told_name = "millpond-test-replay-" + std::to_string(getpid());
        auto shared = memory::Region::shared(told_name, 16, {.exclusive = true});
        memory::Region::unlink_shared(told_name);  // the child inherits it
        auto* published = reinterpret_cast<std::atomic<std::uint64_t>*>(shared.data());
        auto* journaled = published + 1;
        const auto seed = random();
        {
            test::ChildProcess child{[&] {
                auto options = market::small_ring(name);
                options.capacity = 4'096;
                market::RingWriter ring{options};
                market::name_instruments(ring, 1);
                JournalWriter writer{this->options(), 0};
                market::RingReader from{{.name = name}};
                from.seek(writer.resume_at(from.epoch()));
                writer.set_epoch(from.epoch());
                writer.name(0, *ring.instrument(0));
                TradeSink sink{writer, from};
                std::mt19937_64 pace{seed};
                for (;;) {
                    // A paused journal lags by less than the ring holds.
                    for (auto count = pace() % 16; count != 0; --count) {
                        feed::Trade trade;
                        trade.instrument = 0;
                        trade.trade_id = ring.newest() + 1;
                        ring.publish(trade);
                        published->store(ring.newest());
                    }
                    ring.heartbeat(core::utc_nanos());
                    if (from.account().queued > 2'000 || pace() % 200 == 0) from.poll(sink, SIZE_MAX);
                    journaled->store(writer.resume_at(from.epoch()) - 1);
                }
                return 0;
            }};
            const auto target = check.next + 1'000 + random() % 20'000;
            while (published->load() < target || !reader) {
                if (!reader && std::filesystem::exists(folder_ / kLockName)) {
                    reader.emplace(CatchUpOptions{.folder = folder_, .ring = name});
                    check.reader = &*reader;
                }
                // Sometimes behind, sometimes not.
                if (reader && random() % 3 != 0) reader->poll(check, 1 + random() % 3'000);
                std::this_thread::yield();
            }
        }
        // Nobody writes now: the rest is in the ring.
        while (reader->poll(check, 1'000) != 0) {
        }
        ASSERT_GE(check.next, published->load() + 1);
        EXPECT_EQ(reader->account().queued, 0U);
        if (journaled->load() < published->load()) ++unjournaled;
        ASSERT_FALSE(HasFailure());
    }
    const auto account = reader->account();
    EXPECT_EQ(account.published, account.delivered);
    EXPECT_EQ(account.published, check.next - 1);
    EXPECT_GT(unjournaled, 0U);
}

class SavedPositionTest : public CatchUpReaderTest {
protected:
    void SetUp() override {
        CatchUpReaderTest::SetUp();
        std::filesystem::create_directories(folder_);
    }
    [[nodiscard]] std::string refusal() const {
        try {
            static_cast<void>(load_position(file_()));
        } catch (const JournalError& error) {
            return error.what();
        }
        return "accepted";
    }
    void overwrite(std::streamoff at, char byte) const {
        std::fstream{file_(), std::ios::in | std::ios::out | std::ios::binary}.seekp(at).put(byte);
    }
    [[nodiscard]] std::filesystem::path file_() const { return folder_ / "reader"; }
};

TEST_F(SavedPositionTest, ComesBackAsItWasSaved) {
    EXPECT_EQ(load_position(file_()), std::nullopt);
    for (std::uint64_t i = 1; i < 5; ++i) {
        const SavedPosition position{.epoch = 7 * i, .ring = UINT64_MAX - i, .record = i};
        save_position(file_(), position);
        EXPECT_EQ(load_position(file_()), position);
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder_}, {}), 1);  // no parts are left
}

TEST_F(SavedPositionTest, ItsBytesAreThoseOfTheLayout) {
    save_position(file_(), {.epoch = 1, .ring = 2, .record = 3});
    std::ifstream read{file_(), std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{read}, {}};
    using namespace std::string_literals;
    EXPECT_EQ(bytes.substr(0, 40),
              "MPREADP\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0"s);
    EXPECT_EQ(bytes.size(), 48U);
}

TEST_F(SavedPositionTest, OtherVersionsDamageAndOtherFilesAreRefusedByName) {
    const SavedPosition position{.epoch = 5, .ring = 6, .record = 7};
    save_position(file_(), position);
    overwrite(8, 2);
    EXPECT_THAT(refusal(), ::testing::AllOf(::testing::HasSubstr(file_().string()),
                                            ::testing::HasSubstr("version 2; this build reads version 1")));
    for (std::streamoff at = 16; at < 48; ++at) {
        save_position(file_(), position);
        overwrite(at, 'x');
        EXPECT_THAT(refusal(), ::testing::HasSubstr("damaged")) << at;
    }
    for (const std::uintmax_t bytes : {17U, 40U, 47U}) {
        save_position(file_(), position);
        std::filesystem::resize_file(file_(), bytes);
        EXPECT_THAT(refusal(), ::testing::HasSubstr("damaged")) << bytes;
    }
    std::filesystem::resize_file(file_(), 49);
    EXPECT_NE(refusal(), "accepted");
    std::ofstream{file_()} << "hello";
    EXPECT_THAT(refusal(), ::testing::HasSubstr("not a reader's position"));
}

}  // namespace
}  // namespace millpond::journal
