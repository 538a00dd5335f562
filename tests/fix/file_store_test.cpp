#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <millpond/fix/file_store.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/store_reader.hpp>

#include "tests/fix/store_folder.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::fix {
namespace {

TEST_F(FileStoreTest, ItsFilesHaveTheModeThatIsAskedForWhateverTheUmask) {
    using std::filesystem::perms;
    auto options = kSmall;
    options.file_mode = 0640;
    const auto before = umask(0);
    {
        const FileStore store{path(), 42, options};
        umask(before);
        EXPECT_GE(store.segments(), 2U);
    }
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(std::filesystem::status(FileStore::segment_path(path(), i)).permissions(), perms{0640});
    }
}

/// Messages so short that newer ones replace older ones in the index.
TEST_F(FileStoreTest, AResetForgetsTheMessagesThatLostTheirSlotToo) {
    for (const auto& [segments, messages] : {std::pair{1U, 400U}, std::pair{4U, 90U}}) {
        auto options = kSmall;
        options.segments = segments;
        const auto file = path().string() + std::to_string(segments);
        {
            FileStore store{file, 42, options};
            for (std::uint64_t i = 1; i <= messages; ++i) {
                ASSERT_TRUE(store.store("short"));
                store.mark_written(i);
            }
            store.reset(43);
            ASSERT_TRUE(store.store("first"));
        }
        const FileStore store{file, 99, options};
        EXPECT_EQ(store.next_sender(), 2U);
        EXPECT_EQ(store.retrieve(1), "first");
        EXPECT_EQ(store.next_kept(2), 2U);
    }
}

TEST_F(FileStoreTest, AnotherProcessFindsEverythingAgain) {
    {
        FileStore store{path(), 42, kSmall};
        EXPECT_FALSE(store.recovered());
        for (std::uint64_t i = 1; i <= 300; ++i) {
            ASSERT_TRUE(store.store(order(i)));
            store.mark_written(i);
        }
        store.set_next_target(12);
    }
    FileStore store{path(), 99, kSmall};
    EXPECT_TRUE(store.recovered());
    EXPECT_EQ(store.creation_utc_ns(), 42);
    EXPECT_EQ(store.next_sender(), 301U);
    EXPECT_EQ(store.next_target(), 12U);
    for (std::uint64_t i = 280; i <= 300; ++i) EXPECT_EQ(store.retrieve(i), order(i));
    ASSERT_TRUE(store.store(order(301)));
    EXPECT_EQ(store.retrieve(301), order(301));
    EXPECT_EQ(store.retrieve(300), order(300));
}

TEST_F(FileStoreTest, ASecondOwnerIsRefused) {
    const FileStore first{path(), 0, kSmall};
    EXPECT_THROW((FileStore{path(), 0, kSmall}), memory::RegionError);
}

TEST_F(FileStoreTest, AFileOfAnotherKindIsRefusedAndLeftAsItWas) {
    std::uintmax_t bytes = 0;
    {
        const FileStore store{path(), 0, kSmall};
        bytes = std::filesystem::file_size(path());
    }
    std::ofstream{path()} << std::string(bytes, 'x');
    EXPECT_THROW((FileStore{path(), 0, kSmall}), std::invalid_argument);
    EXPECT_EQ(std::filesystem::file_size(path()), bytes);
}

TEST_F(FileStoreTest, AFileOfAnotherVersionIsRefusedByName) {
    {
        const FileStore store{path(), 0, kSmall};
    }
    {
        auto file = memory::Region::open_file(path(), memory::Access::writable);
        reinterpret_cast<StoreHeader*>(file.data())->version = 99;
    }
    try {
        const FileStore store{path(), 0, kSmall};
        FAIL() << "version 99";
    } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr(path().string() + " is a message store of layout version 99"));
    }
}

TEST_F(FileStoreTest, AFileThatWasCutOffIsRefusedAndLeftAsItWas) {
    auto growing = kSmall;
    growing.segments = 0;
    for (const auto bytes : {0U, 1U, 100U, 4096U, 5000U}) {
        std::filesystem::remove(path());
        std::filesystem::remove(path().string() + ".1");
        {
            FileStore store{path(), 0, growing};
            ASSERT_TRUE(store.store(order(1)));
        }
        ASSERT_TRUE(std::filesystem::exists(path().string() + ".1"));
        std::filesystem::resize_file(path(), bytes);
        try {
            const FileStore store{path(), 0, growing};
            FAIL() << bytes;
        } catch (const std::invalid_argument& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr(path().string() + " has " + std::to_string(bytes) +
                                                         " bytes and is no whole message store"));
        }
        EXPECT_EQ(std::filesystem::file_size(path()), bytes);
    }
}

TEST_F(FileStoreTest, WithoutTheFileOfTheNewestMessagesItIsRefused) {
    const auto refusal = [&](const FileStore::Options& options) -> std::string {
        try {
            const FileStore store{path(), 0, options};
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return {};
    };
    auto growing = kSmall;
    growing.segments = 0;
    auto ageing = growing;
    ageing.keep_ns = 1;
    // The newest file is one of the other store's, the first one, or one whose predecessors are missing.
    for (const auto& options : {kSmall, growing, ageing}) {
        for (const std::uint64_t last : {20U, 100U, 150U, 200U, 333U, 1'000U}) {
            std::filesystem::remove_all(folder_);
            std::filesystem::create_directories(folder_);
            {
                FileStore store{path(), 0, options};
                for (std::uint64_t up_to = 10; up_to <= last; up_to += 10) {
                    store_up_to(store, up_to);
                    const auto now = static_cast<std::int64_t>(up_to);
                    ASSERT_FALSE(store.maintain({.utc_ns = now, .monotonic_ns = now}));
                    store.trim();
                }
                store.set_next_target(77);
            }
            const auto newest = [&] {
                const StoreReader reader{path()};
                EXPECT_FALSE(reader.missing_file());
                return std::ranges::max_element(reader.segments(), {}, &StoreReader::Segment::generation)->file;
            }();
            const auto aside = folder_ / "aside";
            std::filesystem::rename(newest, aside);
            EXPECT_THAT(refusal(options), testing::StartsWith(newest.string() + " is missing")) << last;
            EXPECT_FALSE(std::filesystem::exists(newest)) << last;
            if (newest != path()) {
                EXPECT_EQ(StoreReader{path()}.missing_file(), newest) << last;
            }
            std::filesystem::rename(aside, newest);
            FileStore store{path(), 0, options};
            EXPECT_GE(store.next_sender(), last - 9);
            EXPECT_EQ(store.next_target(), 77U) << last;
        }
    }
}

TEST_F(FileStoreTest, AnOlderFileThatIsGoneCostsOnlyHistory) {
    {
        FileStore store{path(), 0, kSmall};
        store_up_to(store, 100);
    }
    std::size_t removed = 0;
    const auto segments = StoreReader{path()}.segments();
    const auto newest = std::ranges::max_element(segments, {}, &StoreReader::Segment::generation);
    for (const auto& segment : segments) {
        if (segment.file == newest->file || segment.file == path() || segment.generation == 0) continue;
        removed += std::filesystem::remove(segment.file) ? 1U : 0U;
    }
    EXPECT_GE(removed, 1U);
    const FileStore store{path(), 0, kSmall};
    EXPECT_EQ(store.next_sender(), 101U);
}

TEST_F(FileStoreTest, APipeInItsPlaceIsRefusedWithoutWaitingForAWriter) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
    EXPECT_THROW((FileStore{path(), 0, kSmall}), memory::RegionError);
}

TEST_F(FileStoreTest, AFullDiskIsAnError) {
    // more than any disk has
    try {
        const FileStore store{path(), 0, {.data_bytes = std::size_t{1} << 50U}};
        FAIL() << "a petabyte";
    } catch (const memory::RegionError& error) {
        EXPECT_TRUE(error.code() == std::errc::no_space_on_device || error.code() == std::errc::file_too_large)
            << error.what();
    }
}

TEST_F(FileStoreTest, TheDiskIsWaitedForWhenTheIntervalIsOver) {
    auto options = kSmall;
    options.durability = Durability::interval;
    options.interval_ns = 100;
    FileStore store{path(), 1000, options};
    ASSERT_TRUE(store.store(order(1)));
    EXPECT_FALSE(store.maintain({.monotonic_ns = 1050}));
    EXPECT_FALSE(store.maintain({.monotonic_ns = 1100}));
    EXPECT_FALSE(store.sync());
    EXPECT_FALSE(store.sync_newest());
}

TEST_F(FileStoreTest, SegmentsAreMadeAheadAndOnlyAsNeeded) {
    FileStore store{path(), 0, kSmall};
    EXPECT_EQ(store.segments(), 2U);
    EXPECT_FALSE(store.maintain({}));
    EXPECT_EQ(store.segments(), 2U);  // one is unused
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        store_up_to(store, i);
        ASSERT_FALSE(store.maintain({}));
        ASSERT_LE(store.capacity_bytes(), 16'384U);
    }
    EXPECT_EQ(store.segments(), 5U);  // four with messages and an unused one
    EXPECT_EQ(store.capacity_bytes(), 16'384U);
    EXPECT_EQ(FileStore::segment_numbers(path()).size(), 5U);
}

TEST_F(FileStoreTest, TheOldestSegmentIsReusedForever) {
    FileStore store{path(), 0, kSmall};
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
        store_up_to(store, i);
        ASSERT_FALSE(i % 16 == 0 && store.maintain({}));
        ASSERT_EQ(store.retrieve(i), order(i));
        ASSERT_TRUE(i <= 20 || store.retrieve(i - 20) == order(i - 20)) << i;
    }
    EXPECT_EQ(store.counters().refused.read(), 0U);
    std::uint64_t there = 0;
    store.retrieve_range(1, 0, [&](std::uint64_t sequence, std::string_view text) {
        ++there;
        ASSERT_EQ(text, order(sequence));
    });
    EXPECT_EQ(store.counters().stored.read(), 20'000U);
    EXPECT_EQ(store.counters().overwritten.read() + there, 20'000U);
    EXPECT_GT(store.counters().used_bytes.read(), 8192U);
    EXPECT_LE(store.counters().peak_bytes.read(), store.capacity_bytes());
}

TEST_F(FileStoreTest, UnsentMessagesAreNotOverwrittenInAnySegment) {
    FileStore store{path(), 0, kSmall};
    std::uint64_t stored = 0;
    while (store.store(order(stored + 1))) ASSERT_LT(++stored, 1000U);
    EXPECT_GT(stored, 16U);
    for (std::uint64_t i = 1; i <= stored; ++i) EXPECT_EQ(store.retrieve(i), order(i));
    store.mark_written(stored);
    EXPECT_TRUE(store.store(order(stored + 1)));
    EXPECT_EQ(store.retrieve(1), std::nullopt);
    EXPECT_EQ(store.retrieve(stored), order(stored));
}

TEST_F(FileStoreTest, AResetForgetsTheMessagesOfAllSegments) {
    FileStore store{path(), 0, kSmall};
    for (std::uint64_t i = 1; i <= 300; ++i) {
        store_up_to(store, i);
        ASSERT_FALSE(store.maintain({}));
    }
    store.reset(77);
    EXPECT_EQ(store.creation_utc_ns(), 77);
    EXPECT_EQ(store.next_sender(), 1U);
    for (std::uint64_t i = 1; i <= 300; ++i) ASSERT_EQ(store.retrieve(i), std::nullopt);
    for (std::uint64_t i = 1; i <= 100; ++i) store_up_to(store, i);
    EXPECT_EQ(store.retrieve(100), order(100));
    EXPECT_EQ(store.retrieve(101), std::nullopt);
}

TEST_F(FileStoreTest, NumbersThatAreSetBackForgetLaterMessages) {
    FileStore store{path(), 0, kSmall};
    store_up_to(store, 60);
    store.set_next_sender(40);
    EXPECT_EQ(store.retrieve(39), order(39));
    EXPECT_EQ(store.retrieve(40), std::nullopt);
    store_up_to(store, 45);
    EXPECT_EQ(store.retrieve(45), order(45));
    EXPECT_EQ(store.retrieve(46), std::nullopt);
}

TEST_F(FileStoreTest, ADiskThatIsFullWhenASegmentIsDueIsAnErrorCodeAndCostsOnlyHistory) {
    // A limit on the size of files simulates a full disk: allocation fails, without a signal.
    test::ChildProcess child{[&] {
        FileStore store{path(), 0, kSmall};
        const rlimit none{1024, 1024};
        if (setrlimit(RLIMIT_FSIZE, &none) != 0) return 2;
        bool refused = false;
        for (std::uint64_t i = 1; i <= 1000; ++i) {
            if (!store.store(order(i))) return 3;
            store.mark_written(i);
            const auto error = store.maintain({});
            refused = refused || error == std::errc::file_too_large || error == std::errc::no_space_on_device;
        }
        return refused && store.segments() == 2 && store.retrieve(1000) == order(1000) ? 0 : 4;
    }};
    EXPECT_EQ(child.wait_for_end(), 0);
}

TEST_F(FileStoreTest, AStoreOfOneSegmentIsARing) {
    auto options = kSmall;
    options.segments = 1;
    FileStore store{path(), 0, options};
    store_up_to(store, 1000);
    EXPECT_EQ(store.segments(), 1U);
    EXPECT_EQ(store.retrieve(1000), order(1000));
    EXPECT_THROW((FileStore{folder_ / "other", 0, {.segments = 65}}), std::invalid_argument);
}

TEST_F(FileStoreTest, RefreshReadsTheStateOfTheFiles) {
    FileStore store{path(), 0, kSmall};
    store_up_to(store, 100);
    // Another object writes the same files, like a standby's copy.
    {
        auto region = memory::Region::open_file(path(), memory::Access::writable);
        auto other = memory::Region::open_file(FileStore::segment_path(path(), 1), memory::Access::writable);
        for (auto* one : {&region, &other}) {
            auto* header = StoreSegment::open(one->bytes())->header;
            header->next_sender.store(500);
            header->next_target.store(600);
        }
    }
    store.refresh();
    EXPECT_EQ(store.next_sender(), 500U);
    EXPECT_EQ(store.next_target(), 600U);
    EXPECT_EQ(store.retrieve(100), order(100));
}

TEST_F(FileStoreTest, StoringTurningAndRetrievingNeedNoHeapNoPageFaultAndNoSystemCall) {
    FileStore store{path(), 0, kSmall};
    store_up_to(store, 200);
    std::vector<std::string> orders;
    for (std::uint64_t i = 0; i < 26; ++i) orders.push_back(order(i));
    test::expect_free_of_cost([&] {
        bool right = true;
        for (int i = 0; i < 400; ++i) {
            const auto& text = orders[static_cast<std::size_t>(i) % orders.size()];
            right = right && store.store(text);
            store.mark_written(store.next_sender() - 1);
            store.set_next_target(store.next_sender());
            right = right && store.retrieve(store.next_sender() - 1) == text;
            right = right && store.retrieve(store.next_sender() - 20).has_value();
        }
        return right;
    });
}

TEST_F(FileStoreTest, AReaderSeesAllSegmentsWhileTheOwnerRunsAndChangesNothing) {
    FileStore store{path(), 42, kSmall};
    for (std::uint64_t i = 1; i <= 500; ++i) {
        store_up_to(store, i);
        ASSERT_FALSE(store.maintain({}));
    }
    store.set_next_target(7);
    const StoreReader reader{path()};
    EXPECT_TRUE(reader.owned());
    EXPECT_EQ(reader.segments().size(), 5U);
    EXPECT_EQ(reader.creation_utc_ns(), 42);
    EXPECT_EQ(reader.next_sender(), 501U);
    EXPECT_EQ(reader.next_target(), 7U);
    EXPECT_EQ(reader.retrieve(500), order(500));
    EXPECT_EQ(reader.retrieve(501), std::nullopt);
    std::uint64_t seen = reader.oldest();
    reader.visit(1, 0, [&](std::uint64_t sequence, std::string_view text) {
        EXPECT_EQ(sequence, seen++);
        EXPECT_EQ(text, order(sequence));
    });
    EXPECT_EQ(seen, 501U);
    const auto found = reader.verify();
    EXPECT_EQ(found.messages, 501U - reader.oldest());
    EXPECT_EQ(found.faulty, 0U);
    EXPECT_EQ(found.missing, 0U);
}

TEST_F(FileStoreTest, AReaderNamesDamagedFiles) {
    {
        FileStore store{path(), 0, kSmall};
        store_up_to(store, 5);
        ASSERT_TRUE(store.store("no message"));
        ASSERT_TRUE(store.store(order(999)));
        auto torn = order(8);
        torn[torn.size() / 2] = '?';
        ASSERT_TRUE(store.store(torn));
        store.set_next_sender(10);
        ASSERT_TRUE(store.store(order(10)));
    }
    const StoreReader reader{path()};
    EXPECT_FALSE(reader.owned());
    const auto found = reader.verify();
    EXPECT_EQ(found.messages, 6U);
    EXPECT_EQ(found.missing, 1U);
    ASSERT_EQ(found.faults.size(), 3U);
    EXPECT_EQ(found.faults[0].sequence, 6U);
    EXPECT_EQ(found.faults[1].what, "MsgSeqNum is 999");
    EXPECT_EQ(found.faults[2].what, "bad CheckSum");
    EXPECT_THROW(StoreReader{folder_ / "nothing"}, memory::RegionError);
}

TEST_F(FileStoreTest, AJumpOfTheNumbersIsSkippedInAllSegmentsAndByTheReader) {
    constexpr std::uint64_t kFar = 9'007'199'254'740'000;
    std::vector<std::uint64_t> kept;
    {
        FileStore store{path(), 0, {.data_bytes = 65'536}};
        store_up_to(store, 20);
        store.set_next_sender(kFar);
        store_up_to(store, kFar + 60);
        store.retrieve_range(1, 0, [&](std::uint64_t number, std::string_view) { kept.push_back(number); });
        EXPECT_EQ(kept.back(), kFar + 60);
        EXPECT_EQ(store.next_kept(21), kFar);
        EXPECT_EQ(store.next_kept(kFar + 61), kFar + 61);
        EXPECT_EQ(kept.front(), 1U);
    }
    const StoreReader reader{path()};
    std::vector<std::uint64_t> read;
    reader.visit(1, 0, [&](std::uint64_t number, std::string_view) { read.push_back(number); });
    EXPECT_EQ(read, kept);
    const auto found = reader.verify();
    EXPECT_EQ(found.messages, kept.size());
    EXPECT_EQ(found.missing, kFar - 21);
    EXPECT_EQ(found.faulty, 0U);
}

TEST_F(FileStoreTest, SkippedNumbersAreKnownInTheNextSegmentsAndToTheNextProcess) {
    {
        FileStore store{path(), 0, kSmall};
        store_up_to(store, 20);
        store.skip_to(51);
        store_up_to(store, 200);
        store.skip_to(301);
    }
    FileStore store{path(), 0, kSmall};
    EXPECT_EQ(store.skipped(1, 1'000), 130U);
    EXPECT_EQ(store.skipped(30, 51), 21U);
    EXPECT_EQ(store.skipped(250, 251), 1U);
    EXPECT_EQ(store.skipped(51, 201), 0U);
    store_up_to(store, 310);
    EXPECT_EQ(StoreReader{path()}.verify().skipped, 100U);
    store.set_next_sender(251);
    EXPECT_EQ(store.skipped(1, 1'000), 80U);
    for (std::uint64_t i = 0; i < 10; ++i) {
        store_up_to(store, 300 + 10 * i);
        store.skip_to(305 + 10 * i);
    }
    EXPECT_EQ(store.skipped(1, 1'000), 8U * 4U);  // the newest eight messages
    store.reset(0);
    EXPECT_EQ(store.skipped(1, 1'000), 0U);
}

TEST_F(FileStoreTest, FilesOfAStoreThatIsNotOpenedOrNotNeededAreRemoved) {
    const auto files = [&] {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
            names.push_back(entry.path().filename().string());
        }
        return names;
    };
    {
        FileStore store{path(), 0, kSmall};
        store.remove_new_files();
    }
    EXPECT_TRUE(files().empty());
    std::ofstream{FileStore::segment_path(path(), 1)} << std::string(1 << 20U, 'x');  // not a segment
    EXPECT_THROW((FileStore{path(), 0, kSmall}), std::exception);
    EXPECT_EQ(files(), std::vector<std::string>{"session.store.1"});
    std::filesystem::remove(FileStore::segment_path(path(), 1));
    {
        FileStore store{path(), 0, kSmall};
        store_up_to(store, 2);
    }
    {
        FileStore store{path(), 0, kSmall};
        store.remove_new_files();  // the file existed before
    }
    EXPECT_EQ(FileStore(path(), 0, kSmall).next_sender(), 3U);
}

FileStore::Options of_session(const char* target) {
    auto options = kSmall;
    options.identity = {.begin_string = "FIX.4.4", .sender_comp_id = "A", .target_comp_id = target};
    return options;
}

template <class Open>
std::string refusal_of(Open&& open) {
    try {
        open();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "not refused";
}

TEST_F(FileStoreTest, TheStoreOfAnotherSessionIsRefusedByNameAndLeftAsItWas) {
    {
        FileStore store{path(), 0, of_session("B")};
        store_up_to(store, 3);
    }
    EXPECT_EQ(refusal_of([&] { FileStore{path(), 0, of_session("OTHER")}; }),
              path().string() + " is the message store of the session FIX.4.4:A->B, not of FIX.4.4:A->OTHER");
    auto with_sub_id = of_session("B");
    with_sub_id.identity.target_sub_id = "DESK";
    with_sub_id.identity.qualifier = "2";
    EXPECT_EQ(refusal_of([&] { FileStore{path(), 0, with_sub_id}; }),
              path().string() + " is the message store of the session FIX.4.4:A->B, not of FIX.4.4:A->B/DESK:2");
    const FileStore store{path(), 0, of_session("B")};
    EXPECT_EQ(store.identity(), of_session("B").identity);
    EXPECT_EQ(store.retrieve(3), order(3));
    EXPECT_EQ(StoreReader{path()}.identity().name(), "FIX.4.4:A->B");
}

TEST_F(FileStoreTest, ASessionThatDiffersInOneIdOnlyDoesNotOpenTheStoreOfAnother) {
    SessionConfig config{.sender_comp_id = "A", .target_comp_id = "B"};
    std::vector<StoreIdentity> all{StoreIdentity::of(config)};
    for (auto* id : {&config.sender_sub_id, &config.sender_location_id, &config.target_sub_id,
                     &config.target_location_id, &config.qualifier}) {
        *id = "X";
        all.push_back(StoreIdentity::of(config));
        id->clear();
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto file = folder_ / std::to_string(i);
        auto options = kSmall;
        options.identity = all[i];
        names.insert(all[i].name());
        EXPECT_EQ(StoreIdentity::of_text(all[i].text()), all[i]);
        {
            const FileStore store{file, 0, options};
        }
        for (const auto& other : all) {
            options.identity = other;
            const auto open = [&] { const FileStore store{file, 0, options}; };
            if (other == all[i]) {
                EXPECT_NO_THROW(open());
            } else {
                EXPECT_THAT(refusal_of(open), testing::HasSubstr("of the session " + all[i].name() + ", not of"));
            }
        }
    }
    EXPECT_EQ(names.size(), all.size());
}

TEST_F(FileStoreTest, ASegmentOfAnotherSessionsStoreIsRefusedByName) {
    {
        const FileStore store{path(), 0, of_session("B")};
    }
    {
        const FileStore store{folder_ / "other", 0, of_session("OTHER")};
    }
    std::filesystem::copy_file(FileStore::segment_path(folder_ / "other", 1), FileStore::segment_path(path(), 1),
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(refusal_of([&] { FileStore{path(), 0, of_session("B")}; }),
                testing::HasSubstr("session.store.1 is the"));
}

TEST_F(FileStoreTest, AStoreThatBelongsToNoSessionBecomesThatOfTheFirst) {
    {
        FileStore store{path(), 0, kSmall};
        store_up_to(store, 3);
        EXPECT_TRUE(store.identity().empty());
    }
    {
        const FileStore store{path(), 0, of_session("B")};
    }
    EXPECT_THROW((FileStore{path(), 0, of_session("C")}), std::invalid_argument);
    EXPECT_EQ((FileStore{path(), 0, kSmall}).retrieve(3), order(3));
}

TEST_F(FileStoreTest, IdsThatAreLongerThanTheHeaderAreRefused) {
    EXPECT_THAT(refusal_of([&] { FileStore{path(), 0, of_session(std::string(600, 'x').c_str())}; }),
                testing::HasSubstr("take "));
}

TEST_F(FileStoreTest, OpeningScansTheCurrentSegmentOnly) {
    std::uint64_t oldest = 0;
    {
        FileStore store{path(), 0, kSmall};
        for (std::uint64_t i = 1; i <= 300; ++i) {
            store_up_to(store, i);
            ASSERT_FALSE(store.maintain({}));
        }
        oldest = StoreReader{path()}.oldest();
    }
    // A record that a scan of the other segments would find.
    for (const auto number : FileStore::segment_numbers(path())) {
        auto region = memory::Region::open_file(FileStore::segment_path(path(), number), memory::Access::writable);
        const auto segment = StoreSegment::open(region.bytes());
        ASSERT_TRUE(segment);
        if (!segment->retrieve(300)) segment->header->next_sender.store(99'999);
    }
    const FileStore store{path(), 0, kSmall};
    EXPECT_EQ(store.next_sender(), 301U);
    for (auto i = oldest; i <= 300; ++i) ASSERT_EQ(store.retrieve(i), order(i)) << i;
}

TEST_F(FileStoreTest, WithoutItsIndexTheCurrentSegmentIsReadFromItsRecords) {
    {
        FileStore store{path(), 0, kSmall};
        store_up_to(store, 10);
        store.set_next_sender(8);  // 8 to 10 are forgotten, and later messages follow them
        store_up_to(store, 9);
    }
    {
        auto region = memory::Region::open_file(path(), memory::Access::writable);
        const auto segment = StoreSegment::open(region.bytes());
        ASSERT_TRUE(segment);
        for (std::uint64_t slot = 0; slot <= segment->slot_mask; ++slot) segment->index[slot].store(0);
    }
    const FileStore store{path(), 0, kSmall};
    EXPECT_EQ(store.next_sender(), 10U);
    for (std::uint64_t i = 1; i <= 9; ++i) EXPECT_EQ(store.retrieve(i), order(i));
    EXPECT_EQ(store.retrieve(10), std::nullopt);
}

TEST_F(FileStoreTest, AMessageWhoseBytesLookLikeRecordsAddsNone) {
    // Like bytes of an earlier lap after the newest record.
    const StoreRecord fake{.sequence = 7'777, .length = 16, .offset = 0};
    std::string hostile;
    for (int i = 0; i < 40; ++i) hostile.append(reinterpret_cast<const char*>(&fake), sizeof fake);
    for (const auto& [segments, messages] : {std::pair{1U, 400U}, std::pair{4U, 90U}}) {
        auto options = kSmall;
        options.segments = segments;
        const auto file = folder_ / std::to_string(segments);
        for (std::uint64_t i = 1; i <= 300; ++i) {
            FileStore store{file, 0, options};
            ASSERT_EQ(store.next_sender(), i);
            ASSERT_TRUE(store.store(i % 3 == 0 ? order(i) : hostile));
            store.mark_written(i);
        }
    }
}

TEST_F(FileStoreTest, AStoreOfTheLayoutBeforeIsRefusedByNameWithTheWayOutAndLeftAsItWas) {
    const auto folder = folder_ / "recorded";
    std::filesystem::copy(MILLPOND_STORE_LAYOUT3, folder);
    const auto file = folder / "session.store";
    const auto bytes = [&] {
        std::ifstream in{file, std::ios::binary};
        return std::string{std::istreambuf_iterator<char>{in}, {}};
    };
    const auto before = bytes();
    const auto why = testing::AllOf(testing::StartsWith(file.string() + " is a message store of layout version 3"),
                                    testing::HasSubstr("note both numbers"), testing::HasSubstr("remove all files"),
                                    testing::HasSubstr("set the numbers again"));
    EXPECT_THAT(refusal_of([&] { FileStore{file, 99, kSmall}; }), why);
    EXPECT_THAT(refusal_of([&] { const StoreReader reader{file}; }), why);
    EXPECT_EQ(bytes(), before);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{folder}, std::filesystem::directory_iterator{}), 4);
}

TEST_F(FileStoreTest, TheRecordedStoresAreReadAndContinued) {
    constexpr std::uint64_t kOldest = 23;  // earlier messages were removed with their segment
    constexpr StandbyState kOfPair{.role = StoreRole::promoted,
                                   .epoch = 3,
                                   .epoch_first = 90,
                                   .superseded_by = 2,
                                   .replica_next = 95,
                                   .lineage = 0x0123'4567'89AB'CDEF,
                                   .copied_epoch = 1};
    const StoreIdentity identity{.begin_string = "FIX.4.4",
                                 .sender_comp_id = "A",
                                 .target_comp_id = "B",
                                 .sender_sub_id = "DESK",
                                 .sender_location_id = "PARIS",
                                 .target_sub_id = "FLOOR",
                                 .target_location_id = "ROME",
                                 .qualifier = "2"};
    const FileStore::Options options{.data_bytes = 16'384, .segments = 4};
    for (const auto& [recorded, standby_state, owner] :
         {std::tuple{MILLPOND_STORE_LAYOUT4, StandbyState{}, StoreIdentity{}},
          std::tuple{MILLPOND_STORE_OF_PAIR, kOfPair, identity}}) {
        const auto folder = folder_ / std::filesystem::path{recorded}.filename();
        std::filesystem::copy(recorded, folder);
        {
            FileStore store{folder / "session.store", 99, options};
            EXPECT_TRUE(store.recovered());
            EXPECT_EQ(store.creation_utc_ns(), 42);
            EXPECT_EQ(store.next_sender(), 101U);
            EXPECT_EQ(store.next_target(), 12U);
            EXPECT_EQ(store.standby_state(), standby_state);
            EXPECT_EQ(store.identity(), owner);
            EXPECT_EQ(store.retrieve(kOldest - 1), std::nullopt);
            for (auto number = kOldest; number <= 100; ++number) EXPECT_EQ(store.retrieve(number), order(number));
            EXPECT_EQ(store.counters().damaged.read(), 0U);
            store_up_to(store, 200);  // through all segments
        }
        const FileStore store{folder / "session.store", 99, options};
        EXPECT_EQ(store.next_sender(), 201U);
        EXPECT_EQ(store.retrieve(200), order(200));
        EXPECT_EQ(store.standby_state(), standby_state);
    }
    EXPECT_EQ(identity.name(), "FIX.4.4:A/DESK/PARIS->B/FLOOR/ROME:2");
}

/// A store restores most of these fields from its records, so their values are tested separately.
TEST_F(FileStoreTest, TheFieldsOfTheRecordedHeadersAreInTheirPlaces) {
    const auto check = [](const char* file, auto&& expect) {
        alignas(StoreHeader) std::array<char, kStoreHeaderBytes> bytes{};
        ASSERT_TRUE(
            std::ifstream(std::filesystem::path{MILLPOND_STORE_OF_PAIR} / file).read(bytes.data(), bytes.size()));
        const auto& header = *reinterpret_cast<const StoreHeader*>(bytes.data());
        EXPECT_EQ(header.magic, kStoreMagic);
        EXPECT_EQ(header.version, 4U);
        EXPECT_EQ(header.header_bytes, kStoreHeaderBytes);
        EXPECT_EQ(header.slots, 64U);
        EXPECT_EQ(header.data_bytes, 4'096U);
        EXPECT_EQ(header.creation_utc_ns, 42);
        EXPECT_EQ(header.claimed_end, 12'288U);
        EXPECT_EQ((std::string_view{header.identity, header.identity_bytes}),
                  "FIX.4.4\x01"
                  "A\x01"
                  "B\x01"
                  "DESK\x01"
                  "PARIS\x01"
                  "FLOOR\x01"
                  "ROME\x01"
                  "2\x01");
        expect(header);
    };
    check("session.store", [](const StoreHeader& newest) {
        EXPECT_EQ(newest.epoch, 3U);
        EXPECT_EQ(newest.generation, 5U);
        EXPECT_EQ(newest.next_sender, 83U);
        EXPECT_EQ(newest.sealed_messages, 0U);
        EXPECT_EQ(newest.next_target, 12U);
        EXPECT_EQ(newest.role, static_cast<std::uint64_t>(StoreRole::promoted));
        EXPECT_EQ(newest.epoch_first, 90U);
        EXPECT_EQ(newest.superseded_by, 2U);
        EXPECT_EQ(newest.replica_next, 95U);
        EXPECT_EQ(newest.lineage, 0x0123'4567'89AB'CDEFU);
        EXPECT_EQ(newest.copied_epoch, 1U);
    });
    check("session.store.1", [](const StoreHeader& left) {
        EXPECT_EQ(left.generation, 2U);
        EXPECT_EQ(left.next_sender, 23U);
        EXPECT_EQ(left.sealed_first, 23U);
        EXPECT_EQ(left.sealed_next, 45U);
        EXPECT_EQ(left.sealed_messages, 22U);
        EXPECT_EQ(left.sealed_end, 12'240U);
        EXPECT_EQ(left.next_target, 1U);
    });
}

/// Stores orders until it is killed, and reports the number of each committed one.
[[noreturn]] void store_until_killed(const std::filesystem::path& path, const FileStore::Options& options,
                                     int acknowledge) {
    FileStore store{path, 0, options};
    for (;;) {
        const auto number = store.next_sender();
        if (!store.store(order(number))) _exit(3);
        store.mark_written(number);
        if (number % 8 == 0 && store.maintain({})) _exit(5);
        store.set_next_target(number * 2);
        if (write(acknowledge, &number, sizeof number) != sizeof number) _exit(4);
    }
}

class FileStoreKill : public FileStoreTest, public testing::WithParamInterface<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(RingAndChain, FileStoreKill, testing::Values(1, 4, 0));

TEST_P(FileStoreKill, CommittedMessagesArePresentAndIntact) {
    auto options = kSmall;
    options.segments = GetParam();
    // MILLPOND_STORE_KILLS=1000 is the long run.
    const auto* wanted = std::getenv("MILLPOND_STORE_KILLS");
    const int kills = wanted == nullptr ? 60 : std::atoi(wanted);
    std::mt19937 random{4};
    Parser parser;
    std::uint64_t newest = 0;
    for (int round = 0; round < kills; ++round) {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const auto child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            close(ends[0]);
            store_until_killed(path(), options, ends[1]);
        }
        close(ends[1]);
        const auto goal = newest + 1 + random() % 400;
        while (newest < goal) ASSERT_EQ(read(ends[0], &newest, sizeof newest), static_cast<ssize_t>(sizeof newest));
        kill(child, SIGKILL);
        ASSERT_EQ(waitpid(child, nullptr, 0), child);
        std::uint64_t told = 0;
        while (read(ends[0], &told, sizeof told) == sizeof told) newest = told;
        close(ends[0]);

        FileStore store{path(), 0, options};
        ASSERT_TRUE(store.recovered());
        // The last order may have been committed and not reported.
        ASSERT_GE(store.next_sender(), newest + 1);
        ASSERT_LE(store.next_sender(), newest + 2);
        ASSERT_GE(store.next_target(), newest * 2);
        ASSERT_EQ(store.retrieve(newest), order(newest));
        std::size_t found = 0;
        store.retrieve_range(1, 0, [&](std::uint64_t sequence, std::string_view text) {
            ++found;
            ASSERT_EQ(text, order(sequence));
            const auto frame = next_frame(bytes_of(text));
            ASSERT_TRUE(frame);
            ASSERT_TRUE(parser.parse(*frame));
        });
        ASSERT_GE(found, std::min<std::uint64_t>(newest, 20));
        newest = store.next_sender() - 1;
    }
}

}  // namespace
}  // namespace millpond::fix
