#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/fix/file_store.hpp>
#include <millpond/fix/store_reader.hpp>

#include "tests/fix/store_folder.hpp"

namespace millpond::fix {
namespace {

/// A store whose files are damaged while no process has it open.
class StoreDamage : public FileStoreTest {
protected:
    /// Calls change(segment) for the segment in which the message's record is.
    template <class Change>
    void change_record(std::uint64_t sequence, Change&& change) {
        for (const auto number : FileStore::segment_numbers(path())) {
            auto region = memory::Region::open_file(FileStore::segment_path(path(), number), memory::Access::writable);
            auto segment = StoreSegment::open(region.bytes());
            ASSERT_TRUE(segment);
            const auto* found = segment->find(sequence);
            if (found == nullptr || !segment->retrieve(sequence)) continue;
            change(*segment, segment->record_at(segment->entry(sequence).load()));
            return;
        }
        FAIL() << "no message " << sequence;
    }
    void store_orders(std::uint64_t last, FileStore::Options options = kSmall) {
        FileStore store{path(), 42, options};
        for (std::uint64_t i = 1; i <= last; ++i) {
            store_up_to(store, i);
            ASSERT_FALSE(store.maintain({}));
        }
    }
};

TEST_F(StoreDamage, NoBytesOutsideTheFilesAndNoChangedMessageAreReturnedWhateverIsDamaged) {
    std::mt19937_64 random{36};
    std::size_t opened = 0;
    std::size_t kept = 0;
    // MILLPOND_STORE_DAMAGES=10000 is the long run.
    const auto* wanted = std::getenv("MILLPOND_STORE_DAMAGES");
    const std::size_t rounds = wanted == nullptr ? 120 : std::strtoul(wanted, nullptr, 10);
    for (std::size_t round = 0; round < rounds; ++round) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        auto options = kSmall;
        options.segments = std::vector<std::size_t>{1, 4, 0}[round % 3];
        store_orders(150, options);
        const auto numbers = FileStore::segment_numbers(path());
        for (auto damages = 1 + random() % 8; damages != 0; --damages) {
            auto region = memory::Region::open_file(FileStore::segment_path(path(), numbers[random() % numbers.size()]),
                                                    memory::Access::writable);
            const auto bytes = region.bytes();
            const auto length = std::min<std::size_t>(1 + random() % 64, bytes.size());
            const auto at = random() % (bytes.size() - length + 1);
            for (std::size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<std::byte>(random());
        }
        std::optional<StoreReader> reader;
        try {
            reader.emplace(path());
        } catch (const std::invalid_argument&) {
            // not the name of a store
        }
        if (reader) {
            static_cast<void>(reader->verify());
            for (std::uint64_t i = 1; i <= 150; ++i) {
                const auto message = reader->retrieve(i);
                ASSERT_TRUE(!message || *message == order(i)) << round << ": " << i;
            }
        }
        try {
            FileStore store{path(), 99, options};
            ++opened;
            for (std::uint64_t i = 1; i <= 150; ++i) {
                const auto message = store.retrieve(i);
                ASSERT_TRUE(!message || *message == order(i)) << round << ": " << i;
                kept += message ? 1U : 0U;
            }
            // The store continues.
            for (auto i = store.next_sender(), end = i + 60; i < end; ++i) {
                const auto text = order(i % 1000);
                ASSERT_TRUE(store.store(text)) << round;
                ASSERT_EQ(store.retrieve(i), text) << round;
                store.mark_written(i);
            }
            store.set_next_sender(store.next_sender() - 3);
            store.reset(1);
            EXPECT_EQ(store.retrieve(1), std::nullopt);
        } catch (const std::invalid_argument&) {
            // refused by name
        }
    }
    EXPECT_GT(opened, rounds / 2);
    EXPECT_GT(kept, opened * 20);
}

TEST_F(StoreDamage, ASegmentWhoseSealIsDamagedIsUsedAgain) {
    for (const auto segments : {std::size_t{4}, std::size_t{0}}) {
        TearDown();
        SetUp();
        auto options = kSmall;
        options.segments = segments;
        store_orders(150, options);
        for (const auto number : FileStore::segment_numbers(path())) {
            auto region = memory::Region::open_file(FileStore::segment_path(path(), number), memory::Access::writable);
            const auto segment = StoreSegment::open(region.bytes());
            ASSERT_TRUE(segment);
            if (segment->header->sealed_messages.load() == 0) continue;
            segment->header->sealed_next.store(std::uint64_t{1} << 40U);
            segment->header->sealed_end.store(std::uint64_t{1} << 50U);
        }
        FileStore store{path(), 99, options};
        EXPECT_EQ(store.retrieve(150), order(150));
        for (auto i = store.next_sender(), end = i + 300; i < end; ++i) {
            ASSERT_TRUE(store.store(order(i))) << segments << ' ' << i;
            store.mark_written(i);
        }
    }
}

TEST_F(StoreDamage, ADamagedMessageIsCountedAndItsNeighboursStay) {
    using Change = void (*)(const StoreSegment&, StoreRecord&);
    const Change changes[] = {
        [](const StoreSegment&, StoreRecord& record) { reinterpret_cast<char*>(&record + 1)[record.offset + 9] ^= 1; },
        [](const StoreSegment&, StoreRecord& record) { record.length += 1; },
        [](const StoreSegment&, StoreRecord& record) { record.length = 0xFFFF'FFF0U; },
        [](const StoreSegment&, StoreRecord& record) { record.offset = 0x7FFF'FFFFU; },
        [](const StoreSegment&, StoreRecord& record) { record.sequence.store(7'777'777); },
        [](const StoreSegment&, StoreRecord& record) { record.sequence.store(0); },
        [](const StoreSegment& segment, StoreRecord& record) {  // refers to another message
            auto& entry = segment.entry(record.sequence.load());
            entry.store(entry.load() + 16);
        },
    };
    for (const auto segments : {std::size_t{4}, std::size_t{0}}) {
        for (const auto& change : changes) {
            for (const std::uint64_t number : {30U, 95U}) {  // in a former segment, and in the current one
                TearDown();
                SetUp();
                auto options = kSmall;
                options.segments = segments;
                store_orders(100, options);
                change_record(number, change);
                const auto index = &change - changes;
                EXPECT_THAT(StoreReader{path()}.verify().faults,
                            testing::ElementsAre(testing::Field(&StoreReader::Fault::sequence, number)))
                    << index << ' ' << number;
                const FileStore store{path(), 99, options};
                const auto at_open = store.counters().damaged.read();
                EXPECT_EQ(store.next_sender(), 101U);
                // A wrong index entry is restored from the records of the current segment.
                if (const auto message = store.retrieve(number)) {
                    EXPECT_EQ(*message, order(number));
                    EXPECT_EQ(index, 6);
                } else {
                    EXPECT_EQ(store.counters().damaged.read(), at_open + 1) << index << ' ' << number;
                }
                EXPECT_EQ(store.retrieve(number - 1), order(number - 1));
                EXPECT_EQ(store.retrieve(number + 1), order(number + 1)) << index << ' ' << number;
                EXPECT_EQ(store.retrieve(100), order(100));
            }
        }
    }
}

// Damaged records times slots as the number of steps would take half a minute.
TEST_F(StoreDamage, AStoreWithManyDamagedMessagesIsReadInOnePass) {
    constexpr std::uint64_t kLast = 100'001;
    const FileStore::Options options{.data_bytes = 32U << 20U, .segments = 1};
    {
        FileStore store{path(), 42, options};
        store_up_to(store, kLast);
    }
    {
        const auto number = FileStore::segment_numbers(path()).front();
        auto region = memory::Region::open_file(FileStore::segment_path(path(), number), memory::Access::writable);
        const auto segment = StoreSegment::open(region.bytes());
        ASSERT_TRUE(segment);
        for (std::uint64_t i = 2; i < kLast; i += 2) segment->record_at(segment->entry(i).load()).length += 1;
    }
    const FileStore store{path(), 99, options};
    EXPECT_EQ(store.next_sender(), kLast + 1);
    EXPECT_EQ(store.counters().damaged.read(), kLast / 2);
    for (std::uint64_t i = 1; i <= kLast; ++i) {
        if (i % 2 == 1) {
            ASSERT_EQ(store.retrieve(i), order(i));
        } else {
            ASSERT_EQ(store.retrieve(i), std::nullopt) << i;
        }
    }
}

TEST_F(StoreDamage, TheNumberOfADamagedNewestMessageIsNotUsedAgain) {
    using Change = void (*)(StoreRecord&);
    for (const Change change : {Change{[](StoreRecord& record) { record.length = 0xFFFF'FFF0U; }},
                                Change{[](StoreRecord& record) { record.sequence.store(5); }}}) {
        TearDown();
        SetUp();
        store_orders(95);
        change_record(95, [&](const StoreSegment&, StoreRecord& record) { change(record); });
        EXPECT_EQ(StoreReader{path()}.next_sender(), 96U);
        for (int process = 0; process < 2; ++process) {
            FileStore store{path(), 99, kSmall};
            ASSERT_EQ(store.next_sender(), 96U);
            EXPECT_EQ(store.retrieve(95), std::nullopt);
            EXPECT_EQ(store.retrieve(94), order(94));
        }
        FileStore store{path(), 99, kSmall};
        store_up_to(store, 96);
        EXPECT_EQ(store.retrieve(96), order(96));
    }
}

TEST_F(StoreDamage, AResetForgetsDamagedMessagesToo) {
    store_orders(95);
    change_record(94, [](const StoreSegment&, StoreRecord& record) { record.length += 3; });
    {
        FileStore store{path(), 99, kSmall};
        store.reset(100);
        store_up_to(store, 2);
    }
    const FileStore store{path(), 99, kSmall};
    EXPECT_EQ(store.next_sender(), 3U);
    EXPECT_EQ(store.retrieve(2), order(2));
    EXPECT_EQ(store.next_kept(3), 3U);
}

}  // namespace
}  // namespace millpond::fix
