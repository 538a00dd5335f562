// Permissions to read and to write a ring.

#include <millpond/market/board_layout.hpp>
#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>
#include <millpond/queue/broadcast_layout.hpp>

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/market/ring_fixture.hpp"
#include "tests/support/child_process.hpp"

namespace millpond::market {
namespace {

using test::ChildProcess;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint32_t kGroup = 54'321;
constexpr std::uint32_t kStranger = 54'322;

RingWriterOptions for_a_group(const std::string& name) {
    auto options = small_ring(name);
    options.memory.mode = 0640;
    options.memory.group = kGroup;
    return options;
}

/// What another user can do with the ring, as bits: 1 read it, 2 write it, 4 be listed as a reader.
int abilities(const std::string& name, std::uint32_t group) {
    ChildProcess user{[&] {
        if (setgroups(0, nullptr) != 0 || setgid(group) != 0 || setuid(kStranger) != 0) return 64;
        int can = 0;
        try {
            RingReader reader{{.name = name, .visible_as = "other"}};
            can |= 1;
            if (reader.registered() && list_readers(name, 8).readers.size() == 1) can |= 4;
        } catch (const RingError&) {
        }
        if (open(("/dev/shm" + ring_object_name(name)).c_str(), O_RDWR | O_CLOEXEC) >= 0) can |= 2;
        return can;
    }};
    return user.wait_for_end();
}

std::uint32_t permissions(const std::string& object) {
    struct stat facts{};
    return stat(("/dev/shm" + object).c_str(), &facts) == 0 ? facts.st_mode & 07777U : 0;
}

TEST(RingPermissions, MembersOfTheGroupReadTheRingAndOnlyTheGatewayWritesIt) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to become other users";
    const auto name = fresh_name();
    const RingWriter writer{for_a_group(name)};
    EXPECT_EQ(abilities(name, kGroup), 1 | 4);
    EXPECT_EQ(abilities(name, kStranger), 0);
}

TEST(RingPermissions, ARingOfAnEarlierRunGetsThoseOfThisRun) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to give a ring to another group";
    const auto name = fresh_name();
    ChildProcess earlier{[&]() -> int {
        const RingWriter writer{small_ring(name)};
        _exit(permissions(ring_object_name(name)) == 0644 ? 0 : 1);  // without cleanup: the ring stays
    }};
    ASSERT_EQ(earlier.wait_for_end(), 0);
    const RingWriter writer{for_a_group(name)};
    ASSERT_TRUE(writer.resumed());
    EXPECT_EQ(permissions(ring_object_name(name)), 0640U);
    EXPECT_EQ(permissions(lock_object_name(name)), 0600U);
    EXPECT_EQ(abilities(name, kStranger), 0);
}

/// The text with which a ring is refused after the 32-bit number at `offset` was changed.
std::string refusal_with(std::size_t offset) {
    const auto name = fresh_name();
    const RingWriter writer{small_ring(name)};
    auto region = memory::Region::open_shared(ring_object_name(name), memory::Access::writable);
    *reinterpret_cast<std::uint32_t*>(region.data() + offset) += 41;
    try {
        const RingReader reader{{.name = name}};
    } catch (const RingError& error) {
        EXPECT_EQ(error.fault(), RingFault::other_layout);
        return error.what();
    }
    return "taken";
}

TEST(RingVersions, AnUnknownLayoutOfTheRingIsRefusedByName) {
    EXPECT_THAT(refusal_with(offsetof(queue::BroadcastHeader, layout_version)),
                AllOf(HasSubstr("ring /millpond.test-"), HasSubstr("version")));
}

TEST(RingVersions, EventsOfAnotherVersionAreRefusedByName) {
    EXPECT_THAT(
        refusal_with(offsetof(queue::BroadcastHeader, content)),
        HasSubstr("its events have version 43; this build reads 2: run its writer and its readers with the same"));
}

TEST(RingVersions, AnUnknownLayoutOfTheBoardIsRefusedByName) {
    EXPECT_THAT(refusal_with(board_offset(64) + offsetof(BoardHeader, layout_version)),
                AllOf(HasSubstr("ring /millpond.test-"), HasSubstr("version")));
}

}  // namespace
}  // namespace millpond::market
