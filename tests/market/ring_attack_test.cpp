// Another user of the machine cannot affect a ring, its writer or its readers.

#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/market/depth_fixture.hpp"
#include "tests/market/ring_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::market {
namespace {

using test::ChildProcess;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kAttacker = 65'534;
constexpr std::uint32_t kOther = 54'323;

const std::string kFolder = "/dev/shm";

bool become(std::uint32_t user) { return setgroups(0, nullptr) == 0 && setgid(user) == 0 && setuid(user) == 0; }

/// Runs `work` to its end as another user.
int as_user(std::uint32_t user, const std::function<int()>& work) {
    return ChildProcess{[&] { return become(user) ? work() : 100; }}.wait_for_end();
}

/// Another user's process that reports when `work` is done, and then stays until it is killed.
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
    [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }
    void kill_now() noexcept { process_.kill_now(); }

private:
    static std::array<int, 2> pipe_ends() {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        return ends;
    }
    std::array<int, 2> ready_;
    ChildProcess process_;
};

/// Removes objects that an attacker left beside a test's ring.
class Litter {
public:
    explicit Litter(const std::string& name) : prefix_("millpond." + name) {}
    Litter(const Litter&) = delete;
    Litter& operator=(const Litter&) = delete;
    ~Litter() {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator{kFolder, error}) {
            if (entry.path().filename().string().starts_with(prefix_)) std::filesystem::remove(entry.path(), error);
        }
    }

private:
    std::string prefix_;
};

std::string refusal_of(const std::string& name) {
    try {
        const RingWriter writer{small_ring(name)};
    } catch (const RingError& error) {
        EXPECT_EQ(error.fault(), RingFault::foreign);
        return error.what();
    }
    return "taken";
}

void leave_dead_ring(const std::string& name) {
    const auto status = ChildProcess{[&]() -> int {
                            const RingWriter writer{small_ring(name)};
                            _exit(0);
                        }}.wait_for_end();
    ASSERT_EQ(status, 0);
}

class RingAttack : public testing::Test {
protected:
    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "needs root to become other users";
    }
    const std::string name_ = fresh_name();
    const Litter litter_{name_};
};

TEST_F(RingAttack, NoObjectOfTheGatewayOrOfAReaderCanBeTruncatedWrittenLockedOrRemoved) {
    RingWriter writer{small_ring(name_)};
    name_instruments(writer, 1);
    RingReader reader{{.name = name_, .visible_as = "victim"}};
    const auto harmed = as_user(kAttacker, [&] {
        int harm = 0;
        for (const auto& entry : std::filesystem::directory_iterator{kFolder}) {
            const auto path = entry.path();
            if (!path.filename().string().starts_with("millpond." + name_)) continue;
            if (truncate(path.c_str(), 0) == 0 || unlink(path.c_str()) == 0) ++harm;
            if (chmod(path.c_str(), 0666) == 0 || open(path.c_str(), O_RDWR | O_CLOEXEC) >= 0) ++harm;
            const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
            struct flock lock{};
            lock.l_type = F_RDLCK;
            if (file >= 0 && fcntl(file, F_OFD_SETLK, &lock) == 0) ++harm;
        }
        return harm;
    });
    EXPECT_EQ(harmed, 0);
    ASSERT_TRUE(writer.publish(quote_of(0, 0, 1)));
    Picture picture;
    EXPECT_EQ(reader.poll(picture, 10), 1U);
    ASSERT_EQ(writer.readers().readers.size(), 1U);
    EXPECT_TRUE(writer.readers().readers[0].alive);
}

TEST_F(RingAttack, AReaderOfAnotherUserIsSeenAndItsTruncatedObjectHarmsOnlyItself) {
    RingWriter writer{small_ring(name_)};
    name_instruments(writer, 1);
    Guest guest{kAttacker, [&] {
                    static RingReader reader{{.name = name_, .visible_as = "guest\x1b[2J"}};
                    static_cast<void>(reader.registered());
                }};
    const auto seen = writer.readers().readers;
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].uid, kAttacker);
    EXPECT_EQ(seen[0].pid, static_cast<std::uint64_t>(guest.pid()));
    EXPECT_EQ(seen[0].name.view(), "guest?[2J");
    EXPECT_TRUE(seen[0].alive);

    const auto object = kFolder + reader_object_prefix(name_) + std::to_string(guest.pid());
    ASSERT_EQ(as_user(kAttacker, [&] { return truncate(object.c_str(), 0); }), 0);
    EXPECT_THAT(writer.readers().readers, IsEmpty());
    EXPECT_TRUE(writer.publish(quote_of(0, 0, 1)));
}

TEST_F(RingAttack, ADeadReaderOfAnotherUserStaysUntilItsUserOrRootRemovesIt) {
    RingWriter writer{small_ring(name_)};
    Guest guest{kAttacker, [&] { static const RingReader reader{{.name = name_, .visible_as = "guest"}}; }};
    ASSERT_TRUE(writer.readers().readers.at(0).alive);
    guest.kill_now();
    ASSERT_EQ(writer.readers().readers.size(), 1U);
    EXPECT_FALSE(writer.readers().readers[0].alive);
    EXPECT_EQ(as_user(kOther,
                      [&] {
                          remove_dead_readers(name_);
                          return static_cast<int>(list_readers(name_, 8).readers.size());
                      }),
              1);
    EXPECT_EQ(as_user(kAttacker,
                      [&] {
                          remove_dead_readers(name_);
                          return static_cast<int>(list_readers(name_, 8).readers.size());
                      }),
              0);
}

TEST_F(RingAttack, ObjectsThatAreNotReadersAreNotListedAndNeverWaitedFor) {
    RingWriter writer{small_ring(name_)};
    const auto prefix = kFolder + reader_object_prefix(name_);
    const RingReader real{{.name = name_, .visible_as = "real"}};
    const auto forged = prefix + std::to_string(getpid()) + ".9";
    const Guest guest{kAttacker, [&] {
                          signal(SIGIO, SIG_IGN);  // of the lease
                          const auto secret = kFolder + "/millpond." + name_ + ".target";
                          EXPECT_EQ(mkfifo((prefix + "1").c_str(), 0666), 0);
                          EXPECT_EQ(symlink(secret.c_str(), (prefix + "2").c_str()), 0);
                          EXPECT_EQ(symlink("/dev/zero", (prefix + "3").c_str()), 0);
                          EXPECT_EQ(mkdir((prefix + "4").c_str(), 0777), 0);
                          std::ofstream{prefix + "5"} << "short";
                          std::ofstream{prefix + "6"} << std::string(1 << 20, 'x');
                          std::ofstream{prefix + "7"} << std::string(4'096, '\xff');
                          std::ofstream{prefix + "999999999999999999999999"} << std::string(4'096, '\xff');
                          const int leased = open((prefix + "8").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
                          EXPECT_EQ(fcntl(leased, F_SETLEASE, F_WRLCK), 0);
                          // A reader's object with the name of one of root's processes, locked as if it were alive.
                          std::filesystem::copy_file(prefix + std::to_string(getppid()), forged);
                          static const auto locked =
                              memory::Region::open_file(forged, memory::Access::writable, {.exclusive = true});
                      }};
    ASSERT_TRUE(std::filesystem::exists(forged));
    const auto readers = writer.readers();
    EXPECT_TRUE(readers.complete);
    ASSERT_EQ(readers.readers.size(), 1U);
    EXPECT_EQ(readers.readers[0].name.view(), "real");
    // If another user has a reader's name, the reader uses the next one.
    const RingReader next{{.name = name_, .visible_as = "next"}};
    EXPECT_TRUE(next.registered());
}

TEST_F(RingAttack, AFloodOfObjectsIsBoundedAndReported) {
    RingWriter writer{small_ring(name_)};
    ASSERT_EQ(as_user(kAttacker,
                      [&] {
                          for (int i = 0; i < 1'100; ++i) {
                              std::ofstream{kFolder + reader_object_prefix(name_) + std::to_string(i)} << "x";
                          }
                          return 0;
                      }),
              0);
    const auto list = writer.readers();
    EXPECT_FALSE(list.complete);
    EXPECT_LE(list.readers.size(), 4U);
}

TEST_F(RingAttack, ARingOfAnotherUserIsRefusedByTheGatewaysOwnReadersAndRemovedByAWriterOfRoot) {
    ASSERT_EQ(as_user(kAttacker,
                      [&]() -> int {
                          const RingWriter writer{small_ring(name_)};
                          _exit(0);
                      }),
              0);
    const auto object = kFolder + ring_object_name(name_);
    EXPECT_FALSE(RingWriter::is_free(name_));  // the lock object is not changed
    EXPECT_THROW(RingReader({.name = name_, .own = true}), RingError);
    const RingReader before{{.name = name_}};  // a subscriber reads any gateway's ring
    // Another user's writer is refused: by the lock object first, then by the ring itself.
    const auto refused_by = [&](const std::string& what) {
        return as_user(kOther, [&] {
            const auto text = refusal_of(name_);
            return text.find(what) != std::string::npos && text.find("belongs to user 65534") != std::string::npos &&
                           text.find("remove") != std::string::npos
                       ? 0
                       : 1;
        });
    };
    EXPECT_EQ(refused_by(name_ + ".lock"), 0);
    ASSERT_TRUE(std::filesystem::remove(kFolder + lock_object_name(name_)));
    EXPECT_EQ(refused_by(object), 0);
    EXPECT_EQ(access((kFolder + lock_object_name(name_)).c_str(), F_OK), -1) << "a refusal leaves no lock behind";
    RingWriter writer{small_ring(name_)};
    EXPECT_FALSE(writer.resumed());
    const RingReader after{{.name = name_, .own = true}};
    EXPECT_TRUE(after.has_writer());
    EXPECT_FALSE(before.has_writer());
}

TEST_F(RingAttack, TheErrorOfAnOrdinaryUsersWriterNamesTheOwnerOfTheRing) {
    const RingWriter roots{small_ring(name_)};  // any user may read it
    ASSERT_TRUE(std::filesystem::remove(kFolder + lock_object_name(name_)));
    EXPECT_EQ(chown((kFolder + ring_object_name(name_)).c_str(), kOther, kOther), 0);
    EXPECT_EQ(as_user(kAttacker,
                      [&] {
                          return refusal_of(name_).find("belongs to user 54323, this process runs as user 65534") ==
                                 std::string::npos;
                      }),
              0);
}

TEST_F(RingAttack, ALinkInPlaceOfARingIsRefused) {
    const auto object = kFolder + ring_object_name(name_);
    const auto target = kFolder + "/millpond." + name_ + ".target";
    std::ofstream{target} << "precious";
    ASSERT_EQ(symlink(target.c_str(), object.c_str()), 0);
    EXPECT_THAT(refusal_of(name_), HasSubstr("symbolic link"));
    ASSERT_EQ(unlink(object.c_str()), 0);
    ASSERT_EQ(link(target.c_str(), object.c_str()), 0);
    EXPECT_THAT(refusal_of(name_), HasSubstr("2 names (hard links)"));
    EXPECT_EQ(std::filesystem::file_size(target), 8U);
    ASSERT_EQ(unlink(object.c_str()), 0);
    ASSERT_EQ(mkfifo(object.c_str(), 0600), 0);
    EXPECT_THAT(refusal_of(name_), HasSubstr("not a regular file"));
}

TEST_F(RingAttack, AReadLockOnTheRingOfADeadWriterDoesNotKeepTheNextWriterOut) {
    leave_dead_ring(name_);
    RingReader before{{.name = name_}};
    const Guest guest{kAttacker, [&] {
                          const int file = open((kFolder + ring_object_name(name_)).c_str(), O_RDONLY);
                          struct flock lock{};
                          lock.l_type = F_RDLCK;
                          EXPECT_EQ(fcntl(file, F_OFD_SETLK, &lock), 0);
                      }};
    RingWriter writer{small_ring(name_)};
    EXPECT_FALSE(writer.resumed());
    EXPECT_EQ(before.writer_state(), WriterState::superseded);
    const RingReader after{{.name = name_}};
    EXPECT_TRUE(after.has_writer());
    EXPECT_GT(after.epoch(), before.epoch());
    // A second writer is still refused.
    EXPECT_THROW(RingWriter{small_ring(name_)}, RingError);
}

/// A ring with depth slots, whose owner writes what it wants to the board.
class HostileBoard : public testing::Test {
protected:
    HostileBoard() {
        name_instruments(*writer_, 2);
        DepthFeed feed{*writer_, 3, 1};
        for (const feed::InstrumentId id : {0U, 1U}) feed.send_snapshot(id);
    }
    [[nodiscard]] BoardHeader& header() { return *reinterpret_cast<BoardHeader*>(region_.data() + board_offset(64)); }
    [[nodiscard]] DepthSlot& slot(std::size_t id) {
        auto* const slots = reinterpret_cast<std::byte*>(&header()) + board_bytes(8, 4);
        return *reinterpret_cast<DepthSlot*>(slots + id * depth_slot_bytes(3));
    }
    struct Counter : Picture {
        using Picture::on;
        void on(const feed::Level& level) {
            EXPECT_LT(level.channel, 4);
            incomplete += (level.flags & feed::kIncomplete) != 0 ? 1 : 0;
            ++levels[level.instrument];
        }
        std::map<feed::InstrumentId, int> levels;
        int incomplete{0};
    };
    [[nodiscard]] Counter join() {
        RingReader reader{{.name = name_}};
        Counter counter;
        reader.join(counter);
        return counter;
    }

    const std::string name_{fresh_name()};
    std::unique_ptr<RingWriter> writer_{deep_writer(name_, 3, 64)};
    memory::Region region_{memory::Region::open_shared(ring_object_name(name_), memory::Access::writable)};
};

TEST_F(HostileBoard, HeadersWhoseDepthDoesNotFitAreRefusedWithTheirNumbers) {
    const auto refusal = [&] {
        try {
            const RingReader reader{{.name = name_}};
        } catch (const RingError& error) {
            EXPECT_EQ(error.fault(), RingFault::other_layout);
            return std::string{error.what()};
        }
        return std::string{};
    };
    EXPECT_EQ(refusal(), "");
    for (const std::uint32_t depth : {0U, 2U, 50U, 51U, 0xFFFF'FFFFU}) {
        header().depth = depth;
        EXPECT_THAT(refusal(), HasSubstr("depth " + std::to_string(depth) + " of 256 bytes")) << depth;
    }
    header().depth = 50;  // a larger slot than there is memory for
    header().depth_slot_bytes = static_cast<std::uint32_t>(depth_slot_bytes(50));
    EXPECT_THAT(refusal(), HasSubstr("does not fit in"));
    header().depth = 3;
    for (const std::uint32_t bytes : {0U, 64U, 0xFFFF'FFFFU}) {
        header().depth_slot_bytes = bytes;
        EXPECT_THAT(refusal(), HasSubstr("depth 3 of " + std::to_string(bytes) + " bytes"));
    }
}

TEST_F(HostileBoard, CountsBeyondTheSlotAreCutAndUnknownChannelsAreNotDelivered) {
    slot(0).head[0].store(0x0000'0000'FFFF'FFFF);
    EXPECT_EQ(join().levels[0], 1 + 3 + 3);
    EXPECT_EQ(Subscriber{name_}.complete(0), false);
    slot(0).head[0].store(0x0000'0004'0001'0001);
    auto seen = join();
    EXPECT_EQ(seen.levels.count(0), 0U);
    EXPECT_EQ(seen.levels[1], 1);
    slot(0).number.store(0x0FFF'FFFF'FFFF'FFFF);  // being written for ever, in an unknown channel
    EXPECT_EQ(join().levels.count(0), 0U);
    slot(0).head[0].store(0);
    seen = join();
    EXPECT_EQ(seen.levels[0], 1);
    EXPECT_EQ(seen.incomplete, 1);
}

TEST_F(HostileBoard, NoBytesOfTheBoardHarmAReaderThatJoins) {
    std::mt19937_64 random{1};
    const auto board = region_.bytes().subspan(board_offset(64));
    for (int round = 0; round < 300; ++round) {
        const auto words = 1 + random() % 64;
        for (std::uint64_t n = 0; n < words; ++n) {
            // Behind the header, whose sizes are checked once.
            const auto at = (64 + random() % (board.size() - 64)) & ~7UZ;
            auto& word = *reinterpret_cast<queue::Word*>(board.data() + at);
            word.store(random() % 3 == 0 ? random() : random() % 1'000);
        }
        const auto seen = join();
        for (const auto& [id, count] : seen.levels) {
            ASSERT_LT(id, 8U);
            ASSERT_LE(count, 7);
        }
        Subscriber books{name_};
        books.join();
        books.poll();
    }
}

}  // namespace
}  // namespace millpond::market
