#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <millpond/fix/file_store.hpp>
#include <millpond/fix/store_reader.hpp>

#include "tests/fix/store_folder.hpp"
#include "tests/support/child_process.hpp"

// Stores with segments = 0, which grow with their messages up to a limit.
namespace millpond::fix {
namespace {

const FileStore::Options kGrowing{.data_bytes = std::size_t{16} << 20U, .segments = 0};
const std::string kBulk(1000, 'm');

/// Stores messages of a thousand bytes up to this number, with maintenance between.
void bulk_up_to(FileStore& store, std::uint64_t last, core::Moment now = {}) {
    for (auto i = store.next_sender(); i <= last; ++i) {
        ASSERT_TRUE(store.store(kBulk)) << i;
        store.mark_written(i);
        ASSERT_FALSE(i % 64 == 0 && store.maintain(now));
    }
    ASSERT_FALSE(store.maintain(now));
}

TEST_F(FileStoreTest, AClaimWithSpareLeavesCapacityInTheLastFreeSegment) {
    constexpr std::size_t kMaxMessage = 16'384;
    constexpr std::size_t kSpare = 4;
    FileStore store{path(), 0, kGrowing};
    for (int round = 0; round < 4; ++round) {
        std::uint64_t kept = 0;
        // No maintenance adds a segment in the meantime.
        for (auto claim = store.claim_with_spare(kMaxMessage); !claim.empty();
             claim = store.claim_with_spare(kMaxMessage)) {
            store.commit(std::string_view{claim}.substr(0, 1 + kept++ * 37 % kMaxMessage));
        }
        EXPECT_GT(kept, 50U) << round;
        const auto first = store.next_sender() - kept;
        for (std::uint64_t i = 0; i < kept; ++i) ASSERT_TRUE(store.retrieve(first + i)) << round << ' ' << i;
        for (std::size_t i = 0; i < kSpare; ++i) ASSERT_TRUE(store.store(std::string(kMaxMessage, 's'))) << round;
        store.mark_written(store.next_sender() - 1);
        ASSERT_FALSE(round % 2 == 1 && store.maintain({}));
    }
}

TEST_F(FileStoreTest, AClaimWithSpareLeavesCapacityWheneverSegmentsArePreparedAndRemoved) {
    constexpr std::size_t kMaxMessage = 16'384;
    constexpr std::size_t kSpare = 4;
    std::mt19937 random{7};
    const auto one_in = [&](unsigned chance) { return random() % chance == 0; };
    auto options = kGrowing;
    options.data_bytes = std::size_t{8} << 20U;
    options.keep_ns = 1'000;
    FileStore store{path(), 0, options};
    std::int64_t now_ns = 1;
    // Maintenance is frequent, rare, or in some rounds missing, like that of a late thread.
    unsigned seldom = 1;
    const auto other_thread = [&] {
        if (seldom == 0 || !one_in(seldom)) return;
        now_ns += 100;
        ASSERT_FALSE(store.maintain({.utc_ns = now_ns, .monotonic_ns = now_ns}));
    };
    std::uint64_t refusals = 0;
    for (int round = 0; round < 60; ++round) {
        seldom = std::array<unsigned, 4>{0, 3, 50, 400}[random() % 4];
        for (int i = 0; i < 3'000; ++i) {
            other_thread();
            if (one_in(40)) store.trim();
            const auto claim = store.claim_with_spare(kMaxMessage);
            other_thread();
            if (claim.empty()) {
                ++refusals;
                // The spare capacity holds the messages of a Logon.
                for (std::size_t spare = 0; spare < kSpare; ++spare) {
                    ASSERT_TRUE(store.store(std::string(kMaxMessage, 's'))) << round << ' ' << i << ' ' << spare;
                    other_thread();
                    if (one_in(2)) store.trim();
                }
                break;
            }
            store.commit(std::string_view{claim}.substr(0, 1 + random() % kMaxMessage));
        }
        // The counterparty reads some or all of the messages.
        const auto newest = store.next_sender() - 1;
        store.mark_written(one_in(3) ? newest - std::min<std::uint64_t>(newest, random() % 200) : newest);
        store.trim();
    }
    EXPECT_GT(refusals, 20U);
}

TEST_F(FileStoreTest, ItsSnapshotEqualsThatOfEachSegmentAndOfTheNextProcess) {
    constexpr StandbyState kStanding{.role = StoreRole::promoted,
                                     .epoch = 3,
                                     .epoch_first = 4,
                                     .superseded_by = 5,
                                     .replica_next = 6,
                                     .lineage = 7,
                                     .copied_epoch = 2};
    {
        FileStore store{path(), 0, kGrowing};
        store.set_standby_state(kStanding);
        const auto before = store.segments();
        bulk_up_to(store, 5'000);
        EXPECT_GT(store.segments(), before);
        EXPECT_EQ(store.standby_state(), kStanding);
        store.reset(9);
        EXPECT_EQ(store.standby_state(), kStanding);
    }
    EXPECT_EQ((FileStore{path(), 0, kGrowing}.standby_state()), kStanding);
}

TEST_F(FileStoreTest, AGrowingStoreBeginsSmallAndKeepsItsBound) {
    FileStore store{path(), 0, kGrowing};
    EXPECT_EQ(store.capacity_bytes(), FileStore::kFirstBytes);
    EXPECT_EQ(StoreReader{path()}.segments().size(), 2U);
    bulk_up_to(store, 5'000);
    EXPECT_EQ(store.capacity_bytes(), std::size_t{7} << 20U);  // 1, 2 and 4 MiB
    for (std::uint64_t i = 1; i <= 5'000; i += 100) ASSERT_EQ(store.retrieve(i), kBulk) << i;
    bulk_up_to(store, 40'000);
    EXPECT_LE(store.capacity_bytes(), kGrowing.data_bytes);
    EXPECT_EQ(store.retrieve(1), std::nullopt);
    EXPECT_EQ(store.retrieve(40'000), kBulk);
    std::uint64_t there = 0;
    store.retrieve_range(1, 0, [&](std::uint64_t, std::string_view) { ++there; });
    EXPECT_GT(there, 8'000U);
    EXPECT_EQ(store.counters().overwritten.read() + there, 40'000U);
    // Files of removed segments no longer exist; the first one, which has the lock, stays.
    std::uintmax_t on_disk = 0;
    for (const auto number : FileStore::segment_numbers(path())) {
        on_disk += std::filesystem::file_size(FileStore::segment_path(path(), number));
    }
    EXPECT_LT(on_disk, std::uintmax_t{24} << 20U);
    EXPECT_TRUE(std::filesystem::exists(path()));
    const StoreReader reader{path()};
    EXPECT_EQ(reader.next_sender(), 40'001U);
    EXPECT_EQ(reader.retrieve(40'000), kBulk);
    EXPECT_EQ(reader.next_kept(1), 40'001 - there);
}

TEST_F(FileStoreTest, AnotherProcessFindsAGrownStoreWithHolesAmongItsNumbersAgain) {
    std::uint64_t oldest = 0;
    {
        FileStore store{path(), 42, kGrowing};
        bulk_up_to(store, 30'000);
        oldest = store.next_kept(1);
        EXPECT_GT(oldest, 1'000U);
    }
    FileStore store{path(), 99, kGrowing};
    EXPECT_EQ(store.next_sender(), 30'001U);
    EXPECT_EQ(store.next_kept(1), oldest);
    EXPECT_EQ(store.creation_utc_ns(), 42);
    bulk_up_to(store, 60'000);
    EXPECT_EQ(store.retrieve(60'000), kBulk);
}

TEST_F(FileStoreTest, SegmentsThatAreTooOldAreGivenUpAndTheCurrentOneIsNot) {
    constexpr std::int64_t kDay = 86'400'000'000'000;
    auto options = kGrowing;
    options.keep_ns = 2 * kDay;
    {
        FileStore store{path(), kDay, options};
        bulk_up_to(store, 2'000, {.utc_ns = kDay});
        bulk_up_to(store, 6'000, {.utc_ns = 2 * kDay});
        const auto before = store.capacity_bytes();
        ASSERT_FALSE(store.maintain({.utc_ns = 3 * kDay}));
        store.trim();
        EXPECT_EQ(store.capacity_bytes(), before);
        ASSERT_FALSE(store.maintain({.utc_ns = 3 * kDay + 1}));
        store.trim();  // segments left from the first day
        EXPECT_EQ(store.retrieve(1), std::nullopt);
        EXPECT_EQ(store.retrieve(5'000), kBulk);
        EXPECT_GT(store.counters().overwritten.read(), 900U);
    }
    // A week later only the current segment remains.
    const FileStore store{path(), 9 * kDay, options};
    EXPECT_EQ(store.next_sender(), 6'001U);
    EXPECT_EQ(store.retrieve(6'000), kBulk);
    EXPECT_EQ(store.segments(), 2U);
}

TEST_F(FileStoreTest, AResetFreesDiskSpaceOnceEarlierMessagesAreSent) {
    FileStore store{path(), 0, kGrowing};
    bulk_up_to(store, 10'000);
    ASSERT_TRUE(store.store(order(10'001)));  // not yet sent
    const auto before = store.capacity_bytes();
    store.reset(77);
    store.trim();
    ASSERT_FALSE(store.maintain({}));
    EXPECT_EQ(store.capacity_bytes(), before);
    ASSERT_TRUE(store.store(order(1)));
    store.trim();
    EXPECT_EQ(store.capacity_bytes(), before);
    store.mark_written(1);
    store.trim();
    ASSERT_FALSE(store.maintain({}));
    EXPECT_EQ(store.segments(), 2U);
    EXPECT_LE(FileStore::segment_numbers(path()).size(), 3U);  // with the first file
    EXPECT_EQ(store.retrieve(1), order(1));
    EXPECT_EQ(store.retrieve(2), std::nullopt);
}

TEST_F(FileStoreTest, MessagesOfSegmentsThatWereGivenUpDoNotComeBackWithTheNextProcess) {
    {
        FileStore store{path(), 0, kGrowing};
        bulk_up_to(store, 30'000);  // the first file is empty, and stays
        store.reset(0);
        store_up_to(store, 5);
    }
    const FileStore store{path(), 0, kGrowing};
    EXPECT_EQ(store.next_sender(), 6U);
    EXPECT_EQ(store.retrieve(5), order(5));
    EXPECT_EQ(store.retrieve(6), std::nullopt);
    EXPECT_EQ(store.retrieve(100), std::nullopt);
    EXPECT_EQ(store.next_kept(1), 1U);
}

/// Number of bytes of the store's files that are resident in this process.
std::size_t resident_bytes(const std::filesystem::path& path) {
    std::ifstream maps{"/proc/self/smaps"};
    std::size_t kib = 0;
    bool ours = false;
    for (std::string line; std::getline(maps, line);) {
        // In smaps, a mapping's line begins with its address, and the lines of its values with a capital letter.
        if (line.front() < 'A' || line.front() > 'Z') ours = line.find(path.string()) != std::string::npos;
        if (ours && line.starts_with("Rss:")) kib += std::stoul(line.substr(4));
    }
    return kib * 1024;
}

TEST_F(FileStoreTest, OldSegmentsAreDroppedFromMemoryAndReadAgainOnRequest) {
    constexpr std::size_t kMiB = std::size_t{1} << 20U;
    auto options = kGrowing;
    options.resident_bytes = 4 * kMiB;
    {
        FileStore store{path(), 0, options};
        bulk_up_to(store, 14'000);
        EXPECT_EQ(store.retrieve(1), kBulk);
        // The current segment and the next one, each with its index, and one page of each of the others.
        EXPECT_LT(resident_bytes(path()), 10 * kMiB);
        for (std::uint64_t i = 1; i <= 14'000; ++i) ASSERT_EQ(store.retrieve(i), kBulk) << i;
        EXPECT_GT(resident_bytes(path()), 14 * kMiB);
        ASSERT_FALSE(store.maintain({.monotonic_ns = 10}));
        ASSERT_FALSE(store.maintain({.monotonic_ns = 2'000'000'000}));  // no read there for a second
        EXPECT_LT(resident_bytes(path()), 10 * kMiB);
    }
    const FileStore store{path(), 0, options};
    EXPECT_LT(resident_bytes(path()), 10 * kMiB);
    EXPECT_EQ(store.retrieve(1), kBulk);
}

TEST_F(FileStoreTest, AStoreWithSegmentsOfOtherSizesIsOpenedWithItsHistory) {
    {
        FileStore store{path(), 42, kSmall};
        for (std::uint64_t i = 1; i <= 300; ++i) {
            store_up_to(store, i);
            ASSERT_FALSE(store.maintain({}));
        }
    }
    // Larger, and for messages that do not fit in the old segments.
    auto options = kGrowing;
    options.min_bytes = MessageStore::min_bytes(16'384);
    {
        FileStore store{path(), 99, options};
        EXPECT_TRUE(store.recovered());
        EXPECT_EQ(store.creation_utc_ns(), 42);
        EXPECT_EQ(store.next_sender(), 301U);
        EXPECT_EQ(store.retrieve(300), order(300));
        EXPECT_EQ(store.retrieve(280), order(280));
        ASSERT_EQ(store.claim(16'384).size(), 16'384U);
        store.abandon();
        bulk_up_to(store, 3'000);
        EXPECT_EQ(store.retrieve(300), order(300));
    }
    // Smaller again: segments beyond the new limit are removed.
    FileStore store{path(), 99, kSmall};
    EXPECT_EQ(store.next_sender(), 3'001U);
    EXPECT_EQ(store.retrieve(3'000), kBulk);
    EXPECT_EQ(store.retrieve(300), std::nullopt);
}

TEST_F(FileStoreTest, UnfinishedFilesOfAKilledProcessAreRemovedOrCompleted) {
    const auto is_there = [&](std::size_t number) {
        return std::filesystem::exists(FileStore::segment_path(path(), number));
    };
    {
        FileStore store{path(), 0, kGrowing};
        bulk_up_to(store, 2'000);
    }
    // A file without its size, one without its header, and prepared files that were never current.
    std::ofstream{FileStore::segment_path(path(), 20)}.flush();
    std::ofstream{FileStore::segment_path(path(), 21)} << std::string(8192, '\0');
    for (const auto* name : {"22", "23"}) {
        auto made = FileStore{folder_ / "other", 0, kGrowing};
        std::filesystem::copy_file(folder_ / "other.1", path().string() + "." + name);
        made.remove_new_files();
    }
    {
        FileStore store{path(), 0, kGrowing};
        EXPECT_EQ(store.next_sender(), 2'001U);
        EXPECT_EQ(store.retrieve(1), kBulk);
        EXPECT_FALSE(is_there(20) || is_there(21));
        EXPECT_FALSE(is_there(22) && is_there(23));
        bulk_up_to(store, 5'000);
        EXPECT_EQ(store.retrieve(1), kBulk);
    }
    // The first file, before it had messages.
    for (const auto number : FileStore::segment_numbers(path())) {
        std::filesystem::remove(FileStore::segment_path(path(), number));
    }
    std::ofstream{path()}.flush();
    FileStore store{path(), 0, kGrowing};
    EXPECT_EQ(store.next_sender(), 1U);
    EXPECT_TRUE(store.store(kBulk));
}

TEST_F(FileStoreTest, AFullDiskIsCountedAndTheStoreContinuesEvenAfterARestart) {
    test::ChildProcess child{[&] {
        {
            FileStore store{path(), 0, kGrowing};
            const rlimit none{1024, RLIM_INFINITY};
            if (setrlimit(RLIMIT_FSIZE, &none) != 0) return 2;
            for (std::uint64_t i = 1; i <= 20'000; ++i) {
                if (!store.store(kBulk)) return 3;
                store.mark_written(i);
                static_cast<void>(store.maintain({.monotonic_ns = static_cast<std::int64_t>(i)}));
            }
            if (store.retrieve(20'000) != kBulk) return 4;
            if (store.counters().failures.read() != 1) return 5;  // not retried at once
            static_cast<void>(store.maintain({.monotonic_ns = 2'000'000'000}));
            if (store.counters().failures.read() != 2) return 6;
        }
        FileStore store{path(), 0, kGrowing};
        if (store.next_sender() != 20'001 || !store.store(kBulk)) return 7;
        store.mark_written(20'001);
        const rlimit any{RLIM_INFINITY, RLIM_INFINITY};
        if (setrlimit(RLIMIT_FSIZE, &any) != 0) return 8;
        return store.maintain({.monotonic_ns = 9'000'000'000}) || store.segments() < 3 ? 9 : 0;
    }};
    EXPECT_EQ(child.wait_for_end(), 0);
}

TEST_F(FileStoreTest, AnotherThreadMaintainsWhileMessagesAreStoredSyncedResentAndForgotten) {
    auto options = kSmall;
    options.resident_bytes = 4096;
    options.keep_ns = 50'000;
    FileStore store{path(), 1, options};
    std::atomic<bool> over{false};
    std::thread keeper{[&] {
        for (std::int64_t now = 1; !over.load(std::memory_order_relaxed); now += 1'000) {
            static_cast<void>(store.maintain({.utc_ns = now, .monotonic_ns = now * 100'000}));
        }
    }};
    std::uint64_t number = 0;
    for (int i = 1; i <= 20'000; ++i) {
        ++number;
        EXPECT_TRUE(store.store(order(number)));
        store.mark_written(number);
        EXPECT_EQ(store.retrieve(number), order(number));
        const auto oldest = store.next_kept(number > 60 ? number - 60 : 1);
        EXPECT_EQ(store.retrieve(oldest), order(oldest));
        if (i % 97 == 0) store.trim();
        if (i % 997 == 0) {
            EXPECT_FALSE(store.sync());
        }
        if (i % 5'000 == 0) {
            store.reset(i);
            number = 0;
        }
    }
    over.store(true, std::memory_order_relaxed);
    keeper.join();
}

}  // namespace
}  // namespace millpond::fix
