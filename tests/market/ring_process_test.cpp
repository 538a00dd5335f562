// Market rings whose processes die.

#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/core/clock.hpp>
#include "tests/market/ring_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::market {
namespace {

using test::ChildProcess;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// Opens the ring as soon as its writer has created it.
RingReader open_when_there(const std::string& name) {
    for (;;) {
        try {
            return RingReader{{.name = name}};
        } catch (const std::runtime_error&) {
            sched_yield();
        }
    }
}

/// A writer that publishes quotes 1, 2, ... of three instruments on two channels and then exits without cleanup.
int die_after(const RingWriterOptions& options, std::uint64_t quotes) {
    RingWriter writer{options};
    name_instruments(writer, 3);
    for (std::uint64_t n = 1; n <= quotes; ++n) {
        const auto id = static_cast<feed::InstrumentId>(n % 3);
        writer.publish(quote_of(id, id == 2 ? 1 : 0, n));
    }
    _exit(0);
}

TEST(MarketRingProcesses, ANewWriterContinuesTheRingOfADeadOne) {
    const auto name = fresh_name();
    const NameGuard guard{name};
    ASSERT_EQ(ChildProcess{[&] { return die_after(small_ring(name), 20); }}.wait_for_end(), 0);
    RingReader before{{.name = name}};
    EXPECT_FALSE(before.has_writer());
    EXPECT_EQ(before.newest(), 20U);
    Picture picture;
    before.join(picture);
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(0U, 18U), Pair(1U, 19U), Pair(2U, 20U)));

    RingWriter writer{small_ring(name)};
    EXPECT_TRUE(writer.resumed());
    EXPECT_EQ(writer.instruments(), 3U);
    EXPECT_EQ(writer.instrument(2)->symbol.view(), "S2");
    EXPECT_EQ(writer.epoch(), before.epoch());
    EXPECT_EQ(before.writer_starts(), 2U);
    EXPECT_TRUE(before.has_writer());
    EXPECT_EQ(before.writer_state(), WriterState::alive);

    // A reader that continues gets a Clear for each channel, and loses nothing.
    poll_all(before, picture);
    EXPECT_THAT(picture.newest, IsEmpty());
    EXPECT_THAT(picture.missed, IsEmpty());
    EXPECT_EQ(picture.clears, 2U);
    EXPECT_EQ(writer.newest(), 22U);

    // A reader that joins now finds no old quote.
    ASSERT_TRUE(writer.publish(quote_of(1, 0, 100)));
    RingReader after{{.name = name}};
    Picture late;
    after.join(late);
    EXPECT_THAT(late.sequences(), ElementsAre(Pair(1U, 100U)));
}

TEST(MarketRingProcesses, AForkedProcessThatEndsLeavesTheRingToItsWriter) {
    const auto name = fresh_name();
    const NameGuard guard{name};
    auto writer = std::make_optional<RingWriter>(small_ring(name));
    name_instruments(*writer, 1);
    ASSERT_EQ(ChildProcess{[&] {
                  writer.reset();
                  return 0;
              }}.wait_for_end(),
              0);
    ASSERT_TRUE(writer->publish(quote_of(0, 0, 1)));
    RingReader reader{{.name = name}};
    EXPECT_EQ(reader.writer_state(), WriterState::alive);
    EXPECT_EQ(reader.newest(), 1U);
    EXPECT_THROW(RingWriter{small_ring(name)}, RingError);
}

TEST(MarketRingProcesses, QuotesOfTheNextWriterAreCompleteAlthoughTheDeadOneHadAGap) {
    const auto name = fresh_name();
    const NameGuard guard{name};
    ASSERT_EQ(ChildProcess{[&] {
                  RingWriter writer{small_ring(name)};
                  name_instruments(writer, 2);
                  writer.publish(quote_of(0, 1, 1));
                  feed::Gap gap;
                  gap.channel = 1;
                  writer.publish(gap);
                  writer.publish(quote_of(1, 1, 3));
                  _exit(0);
                  return 0;
              }}.wait_for_end(),
              0);
    Picture picture;
    RingReader before{{.name = name}};
    before.join(picture);
    EXPECT_THAT(picture.incomplete(), ElementsAre(0U));
    RingWriter writer{small_ring(name)};
    ASSERT_TRUE(writer.resumed());
    ASSERT_TRUE(writer.publish(quote_of(0, 1, 4)));
    poll_all(before, picture);
    Picture late;
    RingReader after{{.name = name}};
    after.join(late);
    EXPECT_THAT(late.sequences(), ElementsAre(Pair(0U, 4U)));
    EXPECT_THAT(late.incomplete(), IsEmpty());
    EXPECT_EQ(picture.sequences(), late.sequences());
    EXPECT_EQ(picture.incomplete(), late.incomplete());
}

TEST(MarketRingProcesses, AnOldRingOfAnotherLayoutIsSuperseded) {
    const auto change = [](const std::function<void(RingWriterOptions&)>& how) {
        const auto name = fresh_name();
        const NameGuard guard{name};
        ASSERT_EQ(ChildProcess{[&] { return die_after(small_ring(name), 5); }}.wait_for_end(), 0);
        RingReader old{{.name = name}};
        auto options = small_ring(name);
        how(options);
        RingWriter writer{options};
        EXPECT_FALSE(writer.resumed());
        EXPECT_EQ(writer.newest(), 0U);
        EXPECT_EQ(old.writer_state(), WriterState::superseded);
        old.seek(1);
        Picture picture;
        poll_all(old, picture);  // published events are still read
        EXPECT_EQ(picture.quotes, 5U);
        const RingReader fresh{{.name = name}};
        EXPECT_GT(fresh.epoch(), old.epoch());
        EXPECT_EQ(fresh.capacity(), options.capacity);
        EXPECT_EQ(fresh.max_instruments(), options.max_instruments);
    };
    change([](RingWriterOptions& options) { options.capacity = 128; });
    change([](RingWriterOptions& options) { options.capacity = 32; });
    change([](RingWriterOptions& options) { options.max_instruments = 9; });
    change([](RingWriterOptions& options) { options.max_channels = 3; });
}

TEST(MarketRingProcesses, ASecondWriterInAnotherProcessIsRefused) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 1);
    writer.publish(quote_of(0, 0, 1));
    const auto status = ChildProcess{[&] {
                            try {
                                const RingWriter second{small_ring(name)};
                                return 1;
                            } catch (const RingError& error) {
                                return error.fault() == RingFault::held ? 2 : 3;
                            }
                        }}.wait_for_end();
    EXPECT_EQ(status, 2);
    RingReader reader{{.name = name}};
    Picture picture;
    reader.join(picture);
    EXPECT_THAT(picture.sequences(), ElementsAre(Pair(0U, 1U)));
}

TEST(MarketRingProcesses, ADeadReaderIsShownAsDeadUntilTheNextComes) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    const auto status = ChildProcess{[&]() -> int {
                            const RingReader reader{{.name = name, .visible_as = "victim"}};
                            _exit(reader.registered() ? 0 : 1);
                        }}.wait_for_end();
    ASSERT_EQ(status, 0);
    const auto readers = writer.readers().readers;
    ASSERT_EQ(readers.size(), 1U);
    EXPECT_EQ(readers[0].name.view(), "victim");
    EXPECT_FALSE(readers[0].alive);
    const RingReader next{{.name = name, .visible_as = "next"}};
    const auto after = writer.readers().readers;
    ASSERT_EQ(after.size(), 1U);
    EXPECT_EQ(after[0].name.view(), "next");
    EXPECT_TRUE(after[0].alive);
}

TEST(MarketRingProcesses, AForkedChildThatEndsDoesNotRemoveItsParentsReader) {
    const auto name = fresh_name();
    const RingWriter writer{small_ring(name)};
    std::optional<RingReader> reader{RingReaderOptions{.name = name, .visible_as = "parent"}};
    EXPECT_EQ(ChildProcess{[&] {
                  reader.reset();
                  return 0;
              }}.wait_for_end(),
              0);
    ASSERT_EQ(writer.readers().readers.size(), 1U);
    EXPECT_TRUE(writer.readers().readers[0].alive);
}

TEST(MarketRingProcesses, AReaderThatCannotShowItselfReadsUnseen) {
    const auto name = fresh_name();
    RingWriter writer{small_ring(name)};
    name_instruments(writer, 1);
    const auto status = ChildProcess{[&] {
                            // Files cannot grow: like a full or read-only /dev/shm.
                            const rlimit none{0, 0};
                            signal(SIGXFSZ, SIG_IGN);
                            if (setrlimit(RLIMIT_FSIZE, &none) != 0) return 1;
                            RingReader reader{{.name = name, .visible_as = "unseen"}};
                            if (reader.registered()) return 2;
                            writer.publish(quote_of(0, 0, 1));
                            Picture picture;
                            return reader.poll(picture, 10) == 1 ? 0 : 3;
                        }}.wait_for_end();
    EXPECT_EQ(status, 0);
    EXPECT_THAT(writer.readers().readers, IsEmpty());
}

/// Checks that quotes arrive intact and in order of their feed sequence.
struct StrictPicture : Picture {
    using Picture::on;
    void on(const feed::Quote& quote) {
        if (!consistent(quote) || quote.feed_sequence <= last) ++wrong;
        last = quote.feed_sequence;
        Picture::on(quote);
    }
    std::uint64_t last{0};
    std::uint64_t wrong{0};
};

TEST(MarketRingProcesses, AWriterKilledAnywhereLeavesARingThatEveryAccountClosesOn) {
    const auto name = fresh_name();
    const NameGuard guard{name};
    auto options = small_ring(name);
    options.capacity = 4096;
    std::mt19937_64 random{7};
    std::optional<RingReader> reader;
    StrictPicture picture;
    std::uint64_t missed = 0;
    constexpr std::uint64_t kDeaths = 40;
    for (std::uint64_t death = 0; death < kDeaths; ++death) {
        ChildProcess child{[&]() -> int {
            RingWriter writer{options};
            name_instruments(writer, 3);
            for (std::uint64_t n = writer.newest() + 1;; n = writer.newest() + 1) {
                const auto id = static_cast<feed::InstrumentId>(n % 3);
                writer.publish(quote_of(id, id == 2 ? 1 : 0, n));
            }
        }};
        if (!reader) reader = open_when_there(name);
        const auto until = reader->newest() + 1 + random() % 3'000;
        while (reader->newest() < until) {
            if (reader->poll(picture, 64) == 0) sched_yield();
        }
        child.kill_now();
        while (reader->poll(picture, 64) != 0) {
        }
        const auto account = reader->account();
        ASSERT_EQ(account.queued, 0U);
        missed = 0;
        for (const auto& range : picture.missed) missed += range.count();
        ASSERT_EQ(account.missed, missed);
        ASSERT_EQ(account.delivered, picture.quotes + picture.clears);
        ASSERT_EQ(account.published, account.delivered + missed);
        EXPECT_FALSE(reader->has_writer());
        // The board of a dead writer: a joiner sees, for each instrument, the newest quote of the ring or the next one.
        RingReader joiner{{.name = name}};
        Picture late;
        joiner.join(late);
        EXPECT_TRUE(late.all_consistent());
        EXPECT_GE(late.newest.size() + 1, picture.newest.size());
        for (const auto& [id, quote] : late.newest) EXPECT_GE(quote.feed_sequence, picture.newest[id].feed_sequence);
    }
    EXPECT_EQ(picture.wrong, 0U);
    EXPECT_EQ(reader->writer_starts(), kDeaths);
}

}  // namespace
}  // namespace millpond::market
