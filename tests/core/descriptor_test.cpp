#include <millpond/core/descriptor.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace millpond::core {
namespace {

static_assert(!std::is_copy_constructible_v<Descriptor> && !std::is_copy_assignable_v<Descriptor>);

/// The two ends of a pipe: the read end sees the end of the stream when the last write end is closed.
struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
        out = Descriptor{ends[0]};
        in = Descriptor{ends[1]};
    }
    [[nodiscard]] bool write_end_is_closed() const {
        char byte{};
        return read(out.get(), &byte, 1) == 0;
    }
    Descriptor out;
    Descriptor in;
};

TEST(Descriptor, ClosesItsDescriptorWhenItIsDestroyed) {
    Pipe pipe;
    ASSERT_TRUE(pipe.in);
    EXPECT_FALSE(pipe.write_end_is_closed());
    {
        const Descriptor owner{std::move(pipe.in)};
    }
    EXPECT_TRUE(pipe.write_end_is_closed());
}

TEST(Descriptor, AssignmentClosesTheOldOneAtOnce) {
    Pipe first;
    Pipe second;
    first.in = std::move(second.in);
    EXPECT_TRUE(first.write_end_is_closed());
    EXPECT_FALSE(second.write_end_is_closed());
    first.in = Descriptor{};
    EXPECT_TRUE(second.write_end_is_closed());
    EXPECT_FALSE(first.in);
}

TEST(Descriptor, AssignedToItselfItStaysOpen) {
    Pipe pipe;
    auto& same = pipe.in;
    pipe.in = std::move(same);
    EXPECT_TRUE(pipe.in);
    EXPECT_FALSE(pipe.write_end_is_closed());
}

TEST(Descriptor, AReleasedDescriptorStaysOpen) {
    Pipe pipe;
    const int number = pipe.in.release();
    EXPECT_EQ(pipe.in.get(), -1);
    EXPECT_FALSE(pipe.write_end_is_closed());
    close(number);
    EXPECT_TRUE(pipe.write_end_is_closed());
}

TEST(Descriptor, ClosingKeepsTheErrorOfTheCallBefore) {
    Descriptor stale{dup(STDERR_FILENO)};
    ASSERT_TRUE(stale);
    close(stale.get());  // the second close fails with EBADF
    errno = ENOSPC;
    stale = Descriptor{};
    EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace millpond::core
