// Ownership of a shared memory object, which another user of the machine cannot disturb.

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/owner_lock.hpp>
#include <millpond/memory/region.hpp>

#include "tests/support/child_process.hpp"

namespace millpond::memory {
namespace {

using test::ChildProcess;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint32_t kAttacker = 65'534;
constexpr std::uint32_t kOwner = 54'323;
constexpr std::size_t kBytes = 4'096;

bool become(std::uint32_t user) { return setgroups(0, nullptr) == 0 && setgid(user) == 0 && setuid(user) == 0; }

int as_user(std::uint32_t user, const std::function<int()>& work) {
    return ChildProcess{[&] { return become(user) ? work() : 100; }}.wait_for_end();
}

/// A process that reports when `work` is done, and then stays until it is killed.
class Guest {
public:
    Guest(std::uint32_t user, const std::function<void()>& work)
        : ready_(pipe_ends()), process_([&] {
              if (become(user)) work();
              static_cast<void>(write(ready_[1], "x", 1));
              for (;;) pause();
              return 0;
          }) {
        char byte = 0;
        EXPECT_EQ(read(ready_[0], &byte, 1), 1);
    }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    ~Guest() {
        process_.kill_now();
        for (const int end : ready_) close(end);
    }

private:
    static std::array<int, 2> pipe_ends() {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        return ends;
    }
    std::array<int, 2> ready_;
    ChildProcess process_;
};

bool lock_whole(const std::string& path, int flags, short type) {
    const int file = open(path.c_str(), flags | O_CLOEXEC);
    struct flock lock{};
    lock.l_type = type;
    return file >= 0 && fcntl(file, F_OFD_SETLK, &lock) == 0;
}

int error_of(const std::function<void()>& work, std::string* text = nullptr) {
    try {
        work();
        return 0;
    } catch (const RegionError& error) {
        if (text != nullptr) *text = error.what();
        return error.code().value();
    }
}

class OwnerLockTest : public testing::Test {
protected:
    ~OwnerLockTest() override {
        std::error_code error;
        std::filesystem::remove_all(path_, error);
        std::filesystem::remove_all(lock_path_, error);
    }
    [[nodiscard]] Region exclusive() const { return Region::shared(name_, kBytes, {.exclusive = true, .mode = 0644}); }
    [[nodiscard]] std::string refusal() const {
        std::string text = "not refused";
        EXPECT_NE(error_of([&] { static_cast<void>(exclusive()); }, &text), 0);
        return text;
    }

    const std::string name_ = "millpond.test.lock." + std::to_string(getpid());
    const std::string path_ = "/dev/shm/" + name_;
    const std::string lock_path_ = path_ + ".lock";
};

using OwnerLockAttack = OwnerLockTest;

TEST_F(OwnerLockTest, ThereIsOneOwnerAndItsLockObjectIsOnlyItsUsersAndGoesWithIt) {
    {
        auto lock = OwnerLock::acquire(name_);
        EXPECT_TRUE(lock);
        EXPECT_EQ(lock.name(), name_);
        struct stat facts{};
        ASSERT_EQ(stat(lock_path_.c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 07777U, 0600U);
        EXPECT_EQ(error_of([&] { static_cast<void>(OwnerLock::acquire(name_)); }), EBUSY);
        EXPECT_FALSE(OwnerLock::try_acquire(name_));
        EXPECT_EQ(error_of([&] { static_cast<void>(exclusive()); }), EBUSY);
        auto moved = std::move(lock);
        EXPECT_FALSE(lock);  // NOLINT(bugprone-use-after-move): this is the promise
        EXPECT_EQ(error_of([&] { static_cast<void>(OwnerLock::acquire(name_)); }), EBUSY);
        EXPECT_FALSE(OwnerLock::try_acquire(name_));
    }
    EXPECT_FALSE(std::filesystem::exists(lock_path_));
    EXPECT_TRUE(OwnerLock::acquire(name_));
}

TEST_F(OwnerLockTest, AForkedProcessThatEndsLeavesItAlone) {
    const auto region = exclusive();
    EXPECT_EQ(ChildProcess([&] {
                  {
                      const auto copy = std::move(const_cast<Region&>(region));
                  }
                  return 0;
              }).wait_for_end(),
              0);
    EXPECT_TRUE(std::filesystem::exists(lock_path_));
    EXPECT_EQ(error_of([&] { static_cast<void>(exclusive()); }), EBUSY);
}

TEST_F(OwnerLockTest, TheHolderReplacesTheObjectWhileNoOtherCanOwnIt) {
    const auto lock = OwnerLock::acquire(name_);
    auto first = Region::shared(lock, kBytes, {.mode = 0644});
    const auto reader = Region::open_shared(name_);
    EXPECT_TRUE(reader.owned_elsewhere());
    first = Region();
    EXPECT_FALSE(reader.owned_elsewhere());
    EXPECT_EQ(error_of([&] { static_cast<void>(exclusive()); }), EBUSY);
    EXPECT_TRUE(Region::unlink_shared(name_));
    const auto second = Region::shared(lock, 2 * kBytes, {.mode = 0644});
    EXPECT_FALSE(reader.name_is_current());
    EXPECT_EQ(second.size(), 2 * kBytes);
}

TEST_F(OwnerLockTest, ARegionWhoseNameWasReplacedCannotBecomeTheOwner) {
    auto old = Region::shared(name_, kBytes);
    EXPECT_TRUE(Region::unlink_shared(name_));
    const auto fresh = Region::shared(name_, kBytes);
    EXPECT_FALSE(old.try_lock_exclusive());
    EXPECT_FALSE(std::filesystem::exists(lock_path_));
}

TEST_F(OwnerLockTest, NamesRefuseControlCharactersAndTheEndingOfLockObjects) {
    for (const std::string bad : {"a\nb", "\x1b[2J", "tab\t", "del\x7f", "a.lock", ".lock", "a/b", "..", ""}) {
        try {
            static_cast<void>(Region::shared(bad, kBytes));
            ADD_FAILURE() << bad;
        } catch (const std::invalid_argument& error) {
            EXPECT_THAT(error.what(), testing::MatchesRegex("shared memory name '[ -~]*': needs 1 to 250 .*"));
        }
        EXPECT_THROW(static_cast<void>(Region::open_shared(bad)), std::invalid_argument);
        EXPECT_THROW(static_cast<void>(OwnerLock::acquire(bad)), std::invalid_argument);
        EXPECT_THROW(static_cast<void>(Region::unlink_shared(bad)), std::invalid_argument);
    }
    EXPECT_THROW(static_cast<void>(OwnerLock::acquire(std::string(251, 'x'))), std::invalid_argument);
    EXPECT_TRUE(OwnerLock::acquire(std::string(250, 'x')));
}

TEST_F(OwnerLockAttack, AnotherUsersReadLockDoesNotKeepTheOwnerOut) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to become other users";
    EXPECT_TRUE(exclusive().removed().empty());
    exclusive().bytes()[0] = std::byte{42};  // The object stays, without an owner.
    const Guest guest{kAttacker, [&] { EXPECT_TRUE(lock_whole(path_, O_RDONLY, F_RDLCK)); }};
    auto owner = exclusive();
    EXPECT_FALSE(owner.created());
    EXPECT_EQ(owner.bytes()[0], std::byte{42});
    EXPECT_EQ(error_of([&] { static_cast<void>(exclusive()); }), EBUSY);
    owner = Region();
    auto later = Region::shared(name_, kBytes);
    EXPECT_TRUE(later.try_lock_exclusive());
    later = Region();
    EXPECT_EQ(Region::open_shared(name_, Access::writable, {.exclusive = true}).bytes()[0], std::byte{42});
    // Another user cannot lock the lock object itself.
    const auto lock = OwnerLock::acquire(name_);
    EXPECT_EQ(as_user(kAttacker, [&] { return lock_whole(lock_path_, O_RDONLY, F_RDLCK) ? 1 : 0; }), 0);
}

TEST_F(OwnerLockAttack, RootRemovesWhatAnotherUserPutInPlaceOfTheObjectOrItsLock) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to become other users";
    const std::array<std::function<void(const std::string&)>, 5> ways{
        [](const std::string& at) { std::ofstream{at} << std::string(kBytes, 'x'); },
        [](const std::string& at) {
            std::ofstream{at} << "locked";
            EXPECT_TRUE(lock_whole(at, O_RDWR, F_WRLCK));
        },
        [](const std::string& at) { EXPECT_EQ(symlink("/etc/hostname", at.c_str()), 0); },
        [](const std::string& at) { EXPECT_EQ(mkfifo(at.c_str(), 0666), 0); },
        [](const std::string& at) { EXPECT_EQ(mkdir(at.c_str(), 0777), 0); },
    };
    for (const auto& way : ways) {
        for (const auto& at : {path_, lock_path_}) {
            const Guest guest{kAttacker, [&] { way(at); }};
            const auto owner = exclusive();
            EXPECT_TRUE(owner.created());
            ASSERT_THAT(owner.removed(), testing::ElementsAre(testing::StartsWith(at + " of user 65534")));
            const bool locked = owner.removed()[0].ends_with(", locked by a running process");
            EXPECT_EQ(locked, &way == &ways[1]);
            struct stat facts{};
            ASSERT_EQ(lstat(path_.c_str(), &facts), 0);
            EXPECT_EQ(facts.st_uid, 0U);
            ASSERT_EQ(lstat(lock_path_.c_str(), &facts), 0);
            EXPECT_EQ(facts.st_uid, 0U);
            EXPECT_TRUE(Region::unlink_shared(name_));
        }
    }
    EXPECT_TRUE(std::filesystem::exists("/etc/hostname"));
}

TEST_F(OwnerLockAttack, AFolderWithContentsIsRefusedByNameAlsoByRoot) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to become other users";
    ASSERT_EQ(as_user(kAttacker, [&] { return mkdir(path_.c_str(), 0777) + mkdir((path_ + "/x").c_str(), 0777); }), 0);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(path_), HasSubstr("belongs to user 65534 and cannot be removed")));
    EXPECT_FALSE(std::filesystem::exists(lock_path_));
}

TEST_F(OwnerLockAttack, AnOrdinaryUserGetsTheOwnerInTheError) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to become other users";
    for (const auto& at : {path_, lock_path_}) {
        ASSERT_EQ(as_user(kAttacker,
                          [&] {
                              std::ofstream{at} << std::string(kBytes, 'x');
                              return chmod(at.c_str(), 0666);
                          }),
                  0);
        EXPECT_EQ(as_user(kOwner,
                          [&] {
                              const auto text = refusal();
                              return text.find(at) != std::string::npos &&
                                             text.find("belongs to user 65534") != std::string::npos
                                         ? 0
                                         : 1;
                          }),
                  0);
        std::filesystem::remove(at);
    }
}

TEST_F(OwnerLockAttack, RootKeepsAnObjectOfItsOwnWithTwoNames) {
    std::ofstream{path_} << "precious";
    const auto second = path_ + ".second";
    ASSERT_EQ(link(path_.c_str(), second.c_str()), 0);
    EXPECT_THAT(refusal(), HasSubstr("2 names (hard links)"));
    EXPECT_EQ(std::filesystem::file_size(second), 8U);
    std::filesystem::remove(second);
}

}  // namespace
}  // namespace millpond::memory
