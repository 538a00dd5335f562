// Checkpoints that are cut off or damaged, and what readers make of damage beside them.

#include <millpond/journal/checkpoint.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <unistd.h>

#include <millpond/journal/catch_up_reader.hpp>
#include <millpond/journal/segment_reader.hpp>
#include <millpond/memory/region.hpp>

#include "tests/journal/checkpoint_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::journal {
namespace {

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
