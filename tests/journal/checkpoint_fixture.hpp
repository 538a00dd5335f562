#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <unistd.h>

#include <millpond/journal/catch_up_reader.hpp>

#include "tests/journal/journal_fixture.hpp"
#include "tests/journal/order_day.hpp"

namespace millpond::journal {

inline constexpr std::int64_t kTickNs = 1'000;  // between events

inline std::int64_t time_of(std::uint64_t ring) { return static_cast<std::int64_t>(ring) * kTickNs; }

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
inline feed::Order order_of(feed::InstrumentId id, std::uint64_t number, feed::Price price = 1'000) {
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

}  // namespace millpond::journal
