#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/region.hpp>

namespace millpond::memory {
namespace {

using testing::HasSubstr;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// A shared memory name of this process, removed before and after the test.
class Name {
public:
    explicit Name(const char* what) : text_("millpond.test." + std::string(what) + "." + std::to_string(getpid())) {
        Region::unlink_shared(text_);
    }
    ~Name() { Region::unlink_shared(text_); }
    Name(const Name&) = delete;
    Name& operator=(const Name&) = delete;
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    std::string text_;
};

template <class Work>
RegionError region_error_of(Work&& work) {
    try {
        work();
    } catch (const RegionError& error) {
        return error;
    }
    return RegionError(0, std::generic_category(), "nothing was thrown");
}

/// Runs `work` in a forked child. Returns its result.
template <class Work>
int in_child(Work&& work) {
    const auto child = fork();
    if (child == 0) _exit(work());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool all_zero(const Region& region) {
    return std::ranges::all_of(region.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::size_t free_huge_pages() {
    std::size_t pages = 0;
    std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") >> pages;
    return pages;
}

TEST(Region, AnonymousMemoryIsZeroedWritableAndInWholePages) {
    auto region = Region::anonymous(page_bytes() + 1);
    EXPECT_EQ(region.size(), 2 * page_bytes());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.data()) % page_bytes(), 0U);
    EXPECT_TRUE(region.writable());
    EXPECT_TRUE(all_zero(region));
    std::memset(region.data(), 0x5A, region.size());
    EXPECT_EQ(region.bytes().back(), std::byte{0x5A});
}

TEST(Region, ZeroBytesAreRefusedByName) {
    EXPECT_THROW(static_cast<void>(Region::anonymous(0)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(Region::shared("millpond.test.zero", 0)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(Region::file("/tmp/millpond.test.zero", 0)), std::invalid_argument);
}

TEST(Region, ASizeBeyondTheAddressSpaceIsAnErrorCode) {
    const auto error = region_error_of([] { static_cast<void>(Region::anonymous(~std::size_t{0})); });
    EXPECT_EQ(error.code(), std::errc::not_enough_memory);
}

TEST(RegionDeathTest, ThePagesAroundAnAnonymousRegionCatchAnOverrun) {
    auto region = Region::anonymous(page_bytes());
    auto* volatile bytes = region.data();
    EXPECT_DEATH(bytes[region.size()] = std::byte{1}, "");
    EXPECT_DEATH(*(bytes - 1) = std::byte{1}, "");
}

TEST(Region, MovingPassesTheMemoryOnAndLeavesAnEmptyRegion) {
    auto first = Region::anonymous(kMiB);
    auto* const data = first.data();
    Region second(std::move(first));
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move): this is the promise
    first = std::move(second);
    EXPECT_EQ(first.data(), data);
    EXPECT_EQ(second.data(), nullptr);  // NOLINT(bugprone-use-after-move): this is the promise
}

TEST(Region, PrefaultMakesEveryPageResidentAndItsAbsenceNone) {
    const auto lazy = Region::anonymous(kMiB);
    EXPECT_EQ(lazy.report().resident_bytes, 0U);
    const auto eager = Region::anonymous(kMiB, {.prefault = true});
    EXPECT_EQ(eager.report().resident_bytes, kMiB);
}

TEST(Region, TheReportDescribesOnlyThisRegionHoweverManyAreAdjacent) {
    auto first = Region::anonymous(64 * kKiB, {.prefault = true});
    auto second = Region::anonymous(128 * kKiB, {.prefault = true});
    EXPECT_EQ(first.report().resident_bytes, 64 * kKiB);
    EXPECT_EQ(second.report().resident_bytes, 128 * kKiB);
    EXPECT_EQ(second.report().page_bytes, page_bytes());
    EXPECT_EQ(second.report().huge_bytes, 0U);
    EXPECT_EQ(second.report().shortfall, "");
}

TEST(Region, LockedPagesAreReportedAsLocked) {
    if (geteuid() != 0) GTEST_SKIP() << "the limit on locked memory may be lower than needed";
    const auto region = Region::anonymous(256 * kKiB, {.lock = true});
    EXPECT_EQ(region.report().locked_bytes, 256 * kKiB);
    EXPECT_EQ(region.report().resident_bytes, 256 * kKiB);
}

TEST(Region, ALockBeyondTheLimitNamesTheSettingToRaise) {
    const int result = in_child([] {
        if (setuid(65534) != 0) return 77;
        const rlimit limit{.rlim_cur = 64 * kKiB, .rlim_max = 64 * kKiB};
        setrlimit(RLIMIT_MEMLOCK, &limit);
        const auto error = region_error_of([] { static_cast<void>(Region::anonymous(kMiB, {.lock = true})); });
        const std::string text = error.what();
        return text.find("lock: asked for 1 MiB, the limit of this process is 64 KiB; raise memlock") == 0 ? 0 : 1;
    });
    if (result == 77) GTEST_SKIP() << "needs root, to become a user who may not lock memory without limit";
    EXPECT_EQ(result, 0);
}

TEST(Region, SharedMemoryThatCannotBeLockedLeavesNothingBehind) {
    const auto name = "millpond_region_lock_" + std::to_string(getpid());
    const auto made = [&] { return std::filesystem::exists("/dev/shm/" + name); };
    const int result = in_child([&] {
        if (setuid(65534) != 0) return 77;
        const rlimit limit{.rlim_cur = 64 * kKiB, .rlim_max = 64 * kKiB};
        setrlimit(RLIMIT_MEMLOCK, &limit);
        region_error_of([&] { static_cast<void>(Region::shared(name, kMiB, {.lock = true})); });
        if (made()) return 1;
        // Earlier contents stay.
        const auto earlier = Region::shared(name, kMiB, {});
        region_error_of([&] { static_cast<void>(Region::shared(name, kMiB, {.lock = true})); });
        const bool stays = made();
        Region::unlink_shared(name);
        return stays ? 0 : 2;
    });
    if (result == 77) GTEST_SKIP() << "needs root, to become a user who may not lock memory without limit";
    EXPECT_EQ(result, 0);
}

TEST(Region, RequiredHugePagesThatAreMissingNameTheirCountAndTheSetting) {
    const auto wanted = free_huge_pages() + 32;
    const auto error = region_error_of(
        [&] { static_cast<void>(Region::anonymous(wanted * 2 * kMiB, {.huge_pages = HugePages::require})); });
    EXPECT_EQ(error.code(), std::errc::not_enough_memory);
    EXPECT_THAT(error.what(), HasSubstr("huge pages: asked for "));
    EXPECT_THAT(error.what(),
                HasSubstr(" of " + std::to_string(wanted) + " pages free; raise vm.nr_hugepages or use prefer"));
}

TEST(Region, RequiredHugePagesThatAreThereAreWhatTheKernelReports) {
    if (free_huge_pages() < 2) GTEST_SKIP() << "needs 2 free huge pages: sysctl vm.nr_hugepages=2";
    const auto region = Region::anonymous(3 * kMiB, {.huge_pages = HugePages::require, .prefault = true});
    EXPECT_EQ(region.size(), 4 * kMiB);
    EXPECT_EQ(region.report().page_bytes, 2 * kMiB);
    EXPECT_EQ(region.report().huge_bytes, 4 * kMiB);
    EXPECT_EQ(region.report().resident_bytes, 4 * kMiB);
    EXPECT_EQ(region.report().shortfall, "");
}

TEST(Region, PreferredHugePagesAreObtainedOrTheReportHasTheReason) {
    auto region = Region::anonymous(4 * kMiB, {.huge_pages = HugePages::prefer, .prefault = true});
    const auto report = region.report();
    EXPECT_EQ(report.resident_bytes, region.size());
    if (report.huge_bytes == region.size()) {
        EXPECT_EQ(report.shortfall, "");
    } else {
        EXPECT_THAT(report.shortfall, HasSubstr("huge pages: asked for 4 MiB"));
    }
    std::memset(region.data(), 1, region.size());
}

TEST(Region, TransparentHugePagesAreObtainedOrTheReportHasTheReasonAndReservedOnesStayFree) {
    const auto free = free_huge_pages();
    auto region = Region::anonymous(4 * kMiB, {.huge_pages = HugePages::transparent, .prefault = true});
    const auto report = region.report();
    EXPECT_EQ(report.resident_bytes, region.size());
    EXPECT_EQ(report.page_bytes, page_bytes());
    if (report.huge_bytes == region.size()) {
        EXPECT_EQ(report.shortfall, "");
    } else {
        EXPECT_THAT(report.shortfall, HasSubstr("huge pages: transparent ones ("));
    }
    EXPECT_GE(free_huge_pages(), free);
    const Name name("transparent");
    EXPECT_EQ(Region::shared(name.text(), 2 * kMiB, {.huge_pages = HugePages::transparent}).page_bytes(), page_bytes());
}

TEST(Region, PreferFallsBackWhenNoReservedPagesAreLeft) {
    const auto wanted = (free_huge_pages() + 4) * 2 * kMiB;
    auto region = Region::anonymous(wanted, {.huge_pages = HugePages::prefer});
    EXPECT_EQ(region.report().page_bytes, page_bytes());
    region.data()[region.size() - 1] = std::byte{1};
}

TEST(Region, RequiredHugePagesInSharedMemoryComeFromHugetlbfsOrFailWithTheReason) {
    const Name name("huge");
    try {
        const auto region = Region::shared(name.text(), 2 * kMiB, {.huge_pages = HugePages::require});
        EXPECT_EQ(region.report().page_bytes, 2 * kMiB);
        const auto reader = Region::open_shared(name.text());
        EXPECT_EQ(reader.path(), region.path());
        EXPECT_EQ(reader.size(), 2 * kMiB);
    } catch (const RegionError& error) {
        EXPECT_THAT(error.what(), testing::AnyOf(HasSubstr("mount one (mount -t hugetlbfs"),
                                                 HasSubstr("raise vm.nr_hugepages or use prefer")));
        EXPECT_THROW(static_cast<void>(Region::open_shared(name.text())), RegionError) << "no name is left behind";
    }
}

TEST(Region, PreferInSharedMemoryWorksWithoutHugePages) {
    const Name name("prefer");
    auto region = Region::shared(name.text(), 4 * kMiB, {.huge_pages = HugePages::prefer, .prefault = true});
    const auto report = region.report();
    EXPECT_EQ(report.resident_bytes, 4 * kMiB);
    EXPECT_EQ(report.shortfall.empty(), report.huge_bytes == 4 * kMiB);
}

TEST(Region, AFileCannotBeOnRequiredHugePagesUnlessItLiesOnHugetlbfs) {
    const auto path = std::filesystem::temp_directory_path() / ("millpond.test.huge." + std::to_string(getpid()));
    const auto error =
        region_error_of([&] { static_cast<void>(Region::file(path, kMiB, {.huge_pages = HugePages::require})); });
    std::filesystem::remove(path);
    EXPECT_THAT(error.what(), HasSubstr("exists on pages of"));
}

TEST(Region, ANodeThatIsNotOnlineIsRefusedWithTheListOfThoseThatAre) {
    try {
        static_cast<void>(Region::anonymous(kMiB, {.numa_node = 1023}));
        FAIL() << "node 1023 was accepted";
    } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), HasSubstr("numa_node: asked for node 1023, online are 0"));
    }
}

TEST(Region, PagesBoundToANodeAreReportedThere) {
    try {
        const auto region = Region::anonymous(kMiB, {.prefault = true, .numa_node = 0});
        const auto node = region.report().numa_node;
        if (node == kAnyNode) GTEST_SKIP() << "this kernel does not report the nodes of pages";
        EXPECT_EQ(node, 0);
    } catch (const RegionError& error) {
        EXPECT_THAT(error.what(), HasSubstr("CAP_SYS_NICE"));
    }
}

TEST(Region, OneProcessWritesToSharedMemoryAndAnotherReadsItByName) {
    const Name name("two");
    auto writer = Region::shared(name.text(), 64 * kKiB);
    EXPECT_TRUE(writer.created());
    EXPECT_TRUE(all_zero(writer));
    writer.data()[4711] = std::byte{42};
    EXPECT_EQ(in_child([&] {
                  const auto reader = Region::open_shared("/" + name.text());
                  if (reader.writable() || reader.size() != 64 * kKiB) return 1;
                  return std::to_integer<int>(reader.data()[4711]);
              }),
              42);
}

TEST(RegionDeathTest, AReaderCannotWrite) {
    const Name name("readonly");
    const auto writer = Region::shared(name.text(), page_bytes());
    auto reader = Region::open_shared(name.text());
    EXPECT_DEATH(reader.data()[0] = std::byte{1}, "");
}

TEST(Region, ASecondMakerFindsTheBytesOfTheFirstAndKnowsThatItDidNotCreateThem) {
    const Name name("reuse");
    {
        auto first = Region::shared(name.text(), 64 * kKiB);
        first.data()[0] = std::byte{7};
    }
    const auto second = Region::shared(name.text(), 64 * kKiB);
    EXPECT_FALSE(second.created());
    EXPECT_EQ(second.data()[0], std::byte{7});
}

TEST(Region, AnObjectOfAnotherSizeIsRefusedAndKeepsItsBytes) {
    const Name name("size");
    auto first = Region::shared(name.text(), 64 * kKiB);
    first.data()[0] = std::byte{7};
    const auto error = region_error_of([&] { static_cast<void>(Region::shared(name.text(), 128 * kKiB)); });
    EXPECT_EQ(error.code(), std::errc::file_exists);
    EXPECT_THAT(error.what(), HasSubstr("exists with 64 KiB, asked for 128 KiB; unlink it first"));
    EXPECT_EQ(Region::open_shared(name.text()).size(), 64 * kKiB);
    EXPECT_EQ(first.data()[0], std::byte{7});
}

TEST(Region, OpeningAMissingNameIsNoSuchFile) {
    const auto error = region_error_of([] { static_cast<void>(Region::open_shared("millpond.test.absent")); });
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    EXPECT_THAT(error.what(), HasSubstr("shared memory millpond.test.absent"));
}

TEST(Region, OpeningAnObjectWhoseCreatorHasNotSizedItIsTryAgain) {
    const Name name("empty");
    const auto path = "/dev/shm/" + name.text();
    std::ofstream(path).close();
    const auto error = region_error_of([&] { static_cast<void>(Region::open_shared(name.text())); });
    EXPECT_EQ(error.code(), std::errc::resource_unavailable_try_again);
    EXPECT_TRUE(Region::shared(name.text(), kMiB).created()) << "the next maker completes it";
}

TEST(Region, NamesThatCannotBeObjectsAreRefused) {
    for (const char* bad : {"", "/", "a/b", "..", "//x"}) {
        EXPECT_THROW(static_cast<void>(Region::shared(bad, kMiB)), std::invalid_argument) << bad;
    }
    EXPECT_THROW(static_cast<void>(Region::shared(std::string(256, 'x'), kMiB)), std::invalid_argument);
}

TEST(Region, MoreSharedMemoryThanThereIsSpaceIsAnErrorCodeAndLeavesNoName) {
    const Name name("full");
    constexpr std::size_t kTooMuch = std::size_t{1} << 50;
    const auto error = region_error_of([&] { static_cast<void>(Region::shared(name.text(), kTooMuch)); });
    EXPECT_TRUE(error.code() == std::errc::no_space_on_device || error.code() == std::errc::file_too_large)
        << error.what();
    EXPECT_THAT(error.what(), HasSubstr("cannot allocate 1048576 GiB; free space there or ask for less"));
    EXPECT_FALSE(std::filesystem::exists("/dev/shm/" + name.text()));
}

TEST(Region, AFileIsAllocatedBeforeItIsMappedSoThatAFullDiskIsNoSignal) {
    const auto path = std::filesystem::temp_directory_path() / ("millpond.test.file." + std::to_string(getpid()));
    std::filesystem::remove(path);
    {
        auto region = Region::file(path, 64 * kKiB + 1, {.mode = 0640});
        struct stat facts{};
        ASSERT_EQ(stat(path.c_str(), &facts), 0);
        EXPECT_GE(static_cast<std::size_t>(facts.st_blocks) * 512, region.size()) << "a hole would be a SIGBUS one day";
        EXPECT_EQ(facts.st_mode & 0777U, 0640U);
        region.data()[0] = std::byte{9};
    }
    EXPECT_EQ(Region::open_file(path).data()[0], std::byte{9});
    std::filesystem::remove(path);
    EXPECT_THROW(static_cast<void>(Region::file(path, std::size_t{1} << 55)), RegionError);
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Region, TheModeIsExactlyTheRequestedOneWhateverTheUmask) {
    const Name name("mode");
    const auto before = umask(0077);
    const auto region = Region::shared(name.text(), page_bytes(), {.mode = 0644});
    umask(before);
    struct stat facts{};
    ASSERT_EQ(stat(region.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0644U);
}

TEST(Region, OnlyOneHoldsTheOwnerLockAndReadersSeeThatItIsHeld) {
    const Name name("owner");
    auto first = Region::shared(name.text(), page_bytes());
    auto second = Region::shared(name.text(), page_bytes());
    const auto reader = Region::open_shared(name.text());
    EXPECT_FALSE(reader.owned_elsewhere());
    EXPECT_TRUE(first.try_lock_exclusive());
    EXPECT_TRUE(first.try_lock_exclusive()) << "asking again is no harm";
    EXPECT_FALSE(second.try_lock_exclusive());
    EXPECT_TRUE(reader.owned_elsewhere());
    EXPECT_FALSE(first.owned_elsewhere());
    first = Region();
    EXPECT_FALSE(reader.owned_elsewhere());
    EXPECT_TRUE(second.try_lock_exclusive());
}

TEST(Region, AReaderCannotAcquireTheOwnerLock) {
    const Name name("readerlock");
    const auto writer = Region::shared(name.text(), page_bytes());
    auto reader = Region::open_shared(name.text());
    EXPECT_FALSE(reader.try_lock_exclusive());
}

TEST(Region, TheKernelReleasesTheOwnerLockWhenItsHolderIsKilled) {
    const Name name("killed");
    auto mine = Region::shared(name.text(), page_bytes());
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const auto child = fork();
    if (child == 0) {
        auto theirs = Region::shared(name.text(), page_bytes(), {.exclusive = true});
        [[maybe_unused]] const auto written = write(ready[1], "x", 1);
        for (;;) pause();
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_FALSE(mine.try_lock_exclusive());
    const auto error =
        region_error_of([&] { static_cast<void>(Region::shared(name.text(), page_bytes(), {.exclusive = true})); });
    EXPECT_EQ(error.code(), std::errc::device_or_resource_busy);
    EXPECT_THAT(error.what(), HasSubstr("another process owns it"));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(mine.try_lock_exclusive());
    close(ready[0]);
    close(ready[1]);
}

TEST(Region, AnExclusiveMakerThatIsRefusedChangesNothing) {
    const Name name("refused");
    const auto owner = Region::shared(name.text(), 64 * kKiB, {.exclusive = true});
    EXPECT_THROW(static_cast<void>(Region::shared(name.text(), 128 * kKiB, {.exclusive = true})), RegionError);
    EXPECT_TRUE(owner.name_is_current());
    EXPECT_EQ(Region::open_shared(name.text()).size(), 64 * kKiB);
}

TEST(Region, AReaderNoticesThatTheNameWasReplaced) {
    const Name name("replaced");
    const auto old = Region::shared(name.text(), page_bytes());
    EXPECT_TRUE(old.name_is_current());
    EXPECT_TRUE(Region::unlink_shared(name.text()));
    EXPECT_FALSE(old.name_is_current());
    const auto fresh = Region::shared(name.text(), page_bytes());
    EXPECT_FALSE(old.name_is_current());
    EXPECT_TRUE(fresh.name_is_current());
    EXPECT_TRUE(Region::unlink_shared(name.text()));
    EXPECT_FALSE(Region::unlink_shared(name.text()));
}

}  // namespace
}  // namespace millpond::memory
