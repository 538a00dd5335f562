#include <millpond/queue/broadcast_reader.hpp>
#include <millpond/queue/broadcast_writer.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/queue/broadcast_fixture.hpp"

namespace millpond::queue {
namespace {

/// Calls a function between any two accesses to shared words.
struct CallStep {
    std::function<void()>* call;
    void operator()() const { (*call)(); }
};

BroadcastFault fault_of(const std::function<void()>& open) {
    try {
        open();
    } catch (const BroadcastError& error) {
        return error.fault();
    }
    return BroadcastFault::none;
}

struct Padded {
    std::uint64_t id;
    std::uint8_t side;  // Seven bytes of padding follow.
};
struct Whole {
    std::uint64_t id;
    std::uint8_t side;
    std::array<std::uint8_t, 7> zero;
};
static_assert(sizeof(Padded) == sizeof(Whole) && BroadcastPayload<Whole> && !BroadcastPayload<Padded>);
static_assert(!BroadcastPayload<std::array<std::uint64_t, kBroadcastPayloadWords + 1>>);
static_assert(!BroadcastPayload<std::array<std::uint32_t, 3>>);

TEST(BroadcastRing, EveryReaderGetsEveryMessageInOrder) {
    RingMemory memory{8};
    auto writer = BroadcastWriter::create(memory.bytes(), 8, kContent, kEpoch);
    BroadcastReader prompt{memory.bytes(), kContent};
    BroadcastReader late{memory.bytes(), kContent};
    BroadcastMessage message;
    for (std::uint64_t n = 1; n <= 35; ++n) {
        publish_pattern(writer);
        ASSERT_EQ(prompt.try_read(message), ReadOutcome::message);
        EXPECT_EQ(message.number, n);
        EXPECT_TRUE(whole(message));
        EXPECT_EQ(prompt.try_read(message), ReadOutcome::nothing);
        if (n % 7 != 0) continue;
        for (auto expected = n - 6; expected <= n; ++expected) {
            ASSERT_EQ(late.try_read(message), ReadOutcome::message);
            EXPECT_EQ(message.number, expected);
            EXPECT_TRUE(whole(message));
        }
    }
    EXPECT_EQ(late.try_read(message), ReadOutcome::nothing);
    EXPECT_EQ(late.account().delivered, 35U);
    EXPECT_EQ(late.account().missed, 0U);
}

TEST(BroadcastRing, AReaderBeginsAtTheNextMessage) {
    RingMemory memory{8};
    auto writer = BroadcastWriter::create(memory.bytes(), 8, kContent, kEpoch);
    for (int i = 0; i < 5; ++i) publish_pattern(writer);
    BroadcastReader reader{memory.bytes(), kContent};
    BroadcastMessage message;
    EXPECT_EQ(reader.try_read(message), ReadOutcome::nothing);
    publish_pattern(writer);
    ASSERT_EQ(reader.try_read(message), ReadOutcome::message);
    EXPECT_EQ(message.number, 6U);
}

TEST(BroadcastRing, SeekRestartsAtOldEntriesThatAreStillThere) {
    RingMemory memory{8};
    auto writer = BroadcastWriter::create(memory.bytes(), 8, kContent, kEpoch);
    for (int i = 0; i < 20; ++i) publish_pattern(writer);
    BroadcastReader reader{memory.bytes(), kContent};
    EXPECT_EQ(reader.oldest(), 14U);
    reader.seek(reader.oldest());
    BroadcastMessage message;
    for (std::uint64_t n = 14; n <= 20; ++n) {
        ASSERT_EQ(reader.try_read(message), ReadOutcome::message);
        EXPECT_EQ(message.number, n);
        EXPECT_TRUE(whole(message));
    }
    EXPECT_EQ(reader.account().since, 14U);
    EXPECT_EQ(reader.account().delivered, 7U);
}

TEST(BroadcastRing, AMessageIsThereOnlyAfterTheWritersLastStore) {
    RingMemory memory{8};
    std::function<void()> on_step = [] {};
    auto writer = BasicBroadcastWriter<CallStep>::create(memory.bytes(), 8, kContent, kEpoch, CallStep{&on_step});
    BroadcastReader reader{memory.bytes(), kContent};
    BroadcastMessage message;
    // The steps of a Small: sequence, kind, two words, sequence, cursor.
    std::vector<ReadOutcome> seen;
    on_step = [&] { seen.push_back(reader.try_read(message)); };
    publish_pattern(writer);
    constexpr auto kNothing = ReadOutcome::nothing;
    EXPECT_EQ(seen, (std::vector{kNothing, kNothing, kNothing, kNothing, ReadOutcome::message, kNothing}));
    EXPECT_TRUE(whole(message));
}

TEST(BroadcastRing, ALappedReaderGetsTheExactMissedRangeAndContinues) {
    RingMemory memory{16};
    auto writer = BroadcastWriter::create(memory.bytes(), 16, kContent, kEpoch);
    BroadcastReader reader{memory.bytes(), kContent};
    BroadcastMessage message;
    for (int i = 0; i < 16; ++i) publish_pattern(writer);
    ASSERT_EQ(reader.try_read(message), ReadOutcome::message);  // entry 1, the oldest, still exists
    for (int i = 0; i < 24; ++i) publish_pattern(writer);       // 17..40: 25 is the oldest left
    ASSERT_EQ(reader.try_read(message), ReadOutcome::missed);
    EXPECT_EQ(reader.missed().first, 2U);
    EXPECT_EQ(reader.missed().last, 27U);  // 26 is the oldest entry after the writer's next step; two entries of slack
    EXPECT_EQ(reader.missed().count(), 26U);
    for (std::uint64_t n = 28; n <= 40; ++n) {
        ASSERT_EQ(reader.try_read(message), ReadOutcome::message);
        EXPECT_EQ(message.number, n);
        EXPECT_TRUE(whole(message));
    }
    EXPECT_EQ(reader.try_read(message), ReadOutcome::nothing);
}

TEST(BroadcastRing, AReaderIsLappedAsSoonAsItsEntryBeginsToBeOverwritten) {
    RingMemory memory{4};
    std::function<void()> on_step = [] {};
    auto writer = BasicBroadcastWriter<CallStep>::create(memory.bytes(), 4, kContent, kEpoch, CallStep{&on_step});
    for (int i = 0; i < 4; ++i) publish_pattern(writer);
    int step = 0;
    on_step = [&] {
        BroadcastReader reader{memory.bytes(), kContent};
        reader.seek(1);
        BroadcastMessage message;
        EXPECT_EQ(reader.try_read(message), ReadOutcome::missed) << "after store " << step;
        EXPECT_EQ(reader.missed().first, 1U);
        ASSERT_EQ(reader.try_read(message), ReadOutcome::message);
        EXPECT_EQ(message.number, reader.missed().last + 1);
        EXPECT_TRUE(whole(message));
        ++step;
    };
    publish_pattern(writer);
    EXPECT_EQ(step, 6);
}

TEST(BroadcastRing, AnEntryCanBeInspectedBeforeItIsReadAsItsType) {
    RingMemory memory{4};
    auto writer = BroadcastWriter::create(memory.bytes(), 4, kContent, kEpoch);
    BroadcastReader reader{memory.bytes(), kContent};
    BroadcastHead head;
    EXPECT_EQ(reader.try_peek(head), ReadOutcome::nothing);
    publish_pattern(writer);
    publish_pattern(writer);
    for (int look = 0; look < 2; ++look) {
        ASSERT_EQ(reader.try_peek(head), ReadOutcome::message);
        EXPECT_EQ(head.number, 1U);
        EXPECT_EQ(head.kind, 1U);
        EXPECT_EQ(head.bytes, sizeof(Small));
    }
    Small small{};
    ASSERT_TRUE(reader.try_consume(small));
    EXPECT_EQ(small, Small::of(1));
    ASSERT_EQ(reader.try_peek(head), ReadOutcome::message);
    EXPECT_EQ(head.number, 2U);
    for (int i = 0; i < 3; ++i) publish_pattern(writer);  // 3, 4, 5: the slot of 1
    publish_pattern(writer);                              // 6: the slot of 2
    Full full{};
    EXPECT_FALSE(reader.try_consume(full));
    EXPECT_EQ(reader.missed().first, 2U);
    EXPECT_EQ(reader.account().delivered, 1U);
    ASSERT_EQ(reader.try_peek(head), ReadOutcome::message);
    EXPECT_EQ(head.number, reader.missed().last + 1);
}

TEST(BroadcastRing, TheAccountCloses) {
    RingMemory memory{16};
    auto writer = BroadcastWriter::create(memory.bytes(), 16, kContent, kEpoch);
    for (int i = 0; i < 7; ++i) publish_pattern(writer);
    BroadcastReader reader{memory.bytes(), kContent};
    BroadcastMessage message;
    std::uint64_t published = 0;
    std::uint64_t delivered = 0;
    std::uint64_t missed = 0;
    for (int round = 0; round < 200; ++round) {
        for (int i = 0; i < (round * 7) % 31; ++i, ++published) publish_pattern(writer);
        for (int i = 0; i < (round * 5) % 17; ++i) {
            switch (reader.try_read(message)) {
                case ReadOutcome::message: ++delivered; break;
                case ReadOutcome::missed: missed += reader.missed().count(); break;
                case ReadOutcome::nothing: break;
            }
        }
        const auto account = reader.account();
        EXPECT_EQ(account.since, 8U);
        EXPECT_EQ(account.published, published);
        EXPECT_EQ(account.delivered, delivered);
        // Overwritten entries count as missed at once, before a read reports them.
        const auto waiting = published - delivered - missed;
        const auto overwritten = waiting - std::min(waiting, reader.capacity());
        EXPECT_EQ(account.missed, missed + overwritten);
        EXPECT_EQ(account.queued, waiting - overwritten);
    }
    EXPECT_GT(delivered, 0U);
    EXPECT_GT(missed, 0U);
}

TEST(BroadcastRing, AStoppedReaderDoesNotAffectTheOthers) {
    RingMemory memory{8};
    auto writer = BroadcastWriter::create(memory.bytes(), 8, kContent, kEpoch);
    BroadcastReader stopped{memory.bytes(), kContent};
    BroadcastReader running{memory.bytes(), kContent};
    BroadcastMessage message;
    for (std::uint64_t n = 1; n <= 1'000; ++n) {
        publish_pattern(writer);
        ASSERT_EQ(running.try_read(message), ReadOutcome::message);
        ASSERT_TRUE(whole(message));
    }
    EXPECT_EQ(running.account().missed, 0U);
    ASSERT_EQ(stopped.try_read(message), ReadOutcome::missed);
    EXPECT_EQ(stopped.missed().first, 1U);
}

TEST(BroadcastRing, ReadersSeeHeartbeatStateAndStarts) {
    RingMemory memory{4};
    auto writer = BroadcastWriter::create(memory.bytes(), 4, kContent, kEpoch);
    const BroadcastReader reader{memory.bytes(), kContent};
    EXPECT_EQ(reader.state(), BroadcastState::open);
    EXPECT_EQ(reader.heartbeat_utc_ns(), 0);
    EXPECT_EQ(reader.epoch(), kEpoch);
    EXPECT_EQ(reader.writer_starts(), 1U);
    writer.heartbeat(123);
    writer.set_pid(9);
    writer.mark(BroadcastState::closed);
    EXPECT_EQ(reader.heartbeat_utc_ns(), 123);
    EXPECT_EQ(reader.writer_pid(), 9U);
    EXPECT_EQ(reader.state(), BroadcastState::closed);
}

TEST(BroadcastRing, RefusesMemoryThatIsNotTheRequestedRing) {
    RingMemory memory{4};
    const auto open = [&] { const BroadcastReader reader(memory.bytes(), kContent); };
    EXPECT_EQ(fault_of(open), BroadcastFault::not_ready);
    (void)BroadcastWriter::create(memory.bytes(), 4, kContent, kEpoch);
    EXPECT_EQ(fault_of(open), BroadcastFault::none);

    EXPECT_EQ(fault_of([&] { const BroadcastReader reader(memory.bytes(), kContent + 1); }),
              BroadcastFault::other_content);
    EXPECT_EQ(fault_of([&] { const BroadcastReader reader(memory.bytes().first(256), kContent); }),
              BroadcastFault::too_small);
    EXPECT_EQ(fault_of([&] { const BroadcastReader reader(memory.bytes().first(100), kContent); }),
              BroadcastFault::too_small);
    EXPECT_EQ(fault_of([&] { const BroadcastReader reader(memory.bytes().subspan(8), kContent); }),
              BroadcastFault::misaligned);
    EXPECT_EQ(fault_of([&] { (void)BroadcastWriter::create(memory.bytes(), 8, kContent, kEpoch); }),
              BroadcastFault::too_small);
    EXPECT_THROW((void)BroadcastWriter::create(memory.bytes(), 3, kContent, kEpoch), std::invalid_argument);

    memory.header().capacity = 3;
    EXPECT_EQ(fault_of(open), BroadcastFault::other_capacity);
    memory.header().layout_version = 2;
    EXPECT_EQ(fault_of(open), BroadcastFault::other_version);
    memory.header().magic.store(1);
    EXPECT_EQ(fault_of(open), BroadcastFault::foreign);
    EXPECT_EQ(fault_of([&] { (void)BroadcastWriter::resume(memory.bytes(), kContent); }), BroadcastFault::foreign);
}

TEST(BroadcastRing, ABrokenPayloadSizeIsCutToTheEntry) {
    RingMemory memory{4};
    auto writer = BroadcastWriter::create(memory.bytes(), 4, kContent, kEpoch);
    BroadcastReader reader{memory.bytes(), kContent};
    publish_pattern(writer);
    memory.entry(1).kind_and_bytes.store(std::uint64_t{0xFFFFFFFF} << 32U);
    BroadcastMessage message;
    ASSERT_EQ(reader.try_read(message), ReadOutcome::message);
    EXPECT_EQ(message.bytes, 112U);
}

/// The state that a writer leaves if it dies after each of its stores.
std::vector<RingMemory> deaths_while_publishing(std::uint64_t published_before) {
    RingMemory memory{8};
    std::function<void()> on_step = [] {};
    auto writer = BasicBroadcastWriter<CallStep>::create(memory.bytes(), 8, kContent, kEpoch, CallStep{&on_step});
    for (std::uint64_t i = 0; i < published_before; ++i) publish_pattern(writer);
    std::vector<RingMemory> deaths{memory};
    on_step = [&] { deaths.push_back(memory); };
    publish_pattern(writer);
    return deaths;
}

TEST(BroadcastRing, ANewWriterContinuesAfterTheHighestCompleteEntryWhereverTheOldOneDied) {
    for (const std::uint64_t before : {0U, 1U, 7U, 8U, 21U}) {
        auto deaths = deaths_while_publishing(before);
        for (std::size_t death = 0; death < deaths.size(); ++death) {
            auto& memory = deaths[death];
            // The last two stores are the even sequence and the cursor: with the first of them the entry is complete.
            const auto complete = before + (death + 2 >= deaths.size() ? 1 : 0);
            auto writer = BroadcastWriter::resume(memory.bytes(), kContent);
            ASSERT_EQ(writer.next(), complete + 1) << before << " entries, died after store " << death;
            BroadcastReader reader{memory.bytes(), kContent};
            EXPECT_EQ(reader.cursor(), complete);
            EXPECT_EQ(reader.writer_starts(), 2U);
            EXPECT_EQ(reader.epoch(), kEpoch);
            reader.seek(reader.oldest());
            for (int i = 0; i < 3; ++i) publish_pattern(writer);
            BroadcastMessage message;
            while (reader.next() < writer.next()) {
                const auto outcome = reader.try_read(message);
                ASSERT_NE(outcome, ReadOutcome::nothing);
                if (outcome == ReadOutcome::message) {
                    EXPECT_TRUE(whole(message));
                }
            }
        }
    }
}

TEST(BroadcastRing, AReaderStaysAcrossTheDeathOfItsWriter) {
    for (auto& memory : deaths_while_publishing(5)) {
        BroadcastReader reader{memory.bytes(), kContent};
        reader.seek(1);
        BroadcastMessage message;
        std::uint64_t expected = 1;
        while (reader.try_read(message) == ReadOutcome::message) EXPECT_EQ(message.number, expected++);
        auto writer = BroadcastWriter::resume(memory.bytes(), kContent);
        for (int i = 0; i < 3; ++i) {
            const auto number = writer.next();
            publish_pattern(writer);
            ASSERT_EQ(reader.try_read(message), ReadOutcome::message);
            EXPECT_EQ(message.number, number);
            EXPECT_EQ(message.number, expected++);
            EXPECT_TRUE(whole(message));
        }
    }
}

TEST(BroadcastRing, ThreadsReadWithoutTearingWhileTheWriterLapsThem) {
    constexpr std::uint64_t kMessages = 200'000;
    RingMemory memory{64};
    auto writer = BroadcastWriter::create(memory.bytes(), 64, kContent, kEpoch);
    std::atomic<int> ready{0};
    struct Count {
        std::uint64_t delivered{0}, missed{0}, wrong{0};
    };
    std::array<Count, 2> counts;
    std::vector<std::thread> readers;
    readers.reserve(counts.size());
    for (auto& count : counts) {
        readers.emplace_back([&] {
            BroadcastReader reader{memory.bytes(), kContent};
            BroadcastMessage message;
            std::uint64_t expected = 1;
            ++ready;
            while (expected <= kMessages) {
                switch (reader.try_read(message)) {
                    case ReadOutcome::message:
                        count.wrong += message.number == expected && whole(message) ? 0U : 1U;
                        ++count.delivered;
                        ++expected;
                        break;
                    case ReadOutcome::missed:
                        count.wrong += reader.missed().first == expected ? 0U : 1U;
                        count.missed += reader.missed().count();
                        expected = reader.missed().last + 1;
                        break;
                    case ReadOutcome::nothing: std::this_thread::yield(); break;
                }
            }
        });
    }
    while (ready < 2) std::this_thread::yield();
    for (std::uint64_t i = 0; i < kMessages; ++i) {
        publish_pattern(writer);
        if (i % 128 == 0) std::this_thread::yield();
    }
    for (auto& reader : readers) reader.join();
    for (const auto& count : counts) {
        EXPECT_EQ(count.wrong, 0U);
        EXPECT_EQ(count.delivered + count.missed, kMessages);
        EXPECT_GT(count.delivered, 0U);
    }
}

}  // namespace
}  // namespace millpond::queue
