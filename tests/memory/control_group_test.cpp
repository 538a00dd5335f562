#include "src/memory/control_group.hpp"

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/region_options.hpp>

namespace millpond::memory {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A tree of files like the kernel's.
class ControlGroup : public testing::Test {
protected:
    ControlGroup() {
        std::filesystem::remove_all(root_);
        write("meminfo", "MemTotal: 1000 kB\nSwapFree:       0 kB\n");
    }
    ~ControlGroup() override { std::filesystem::remove_all(root_); }

    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }
    void write_mib(const std::string& file, std::size_t mib) const { write(file, std::to_string(mib * kMiB) + "\n"); }
    /// "" if the bytes fit, else the error.
    [[nodiscard]] std::string refusal(std::size_t mib) const {
        try {
            require_memory_in_control_group(
                mib * kMiB, {.of_process = root_ / "cgroup", .meminfo = root_ / "meminfo", .mounts = root_ / "mounts"});
            return {};
        } catch (const RegionError& error) {
            EXPECT_EQ(error.code(), std::errc::not_enough_memory);
            return error.what();
        }
    }

    const std::filesystem::path root_{std::filesystem::path(testing::TempDir()) /
                                      ("millpond.cgroup." + std::to_string(getpid()))};
};

TEST_F(ControlGroup, ARegionBeyondTheLimitIsRefusedAndTheLimitNamed) {
    write("cgroup", "0::/a/b\n");
    write_mib("mounts/a/b/memory.max", 100);
    write_mib("mounts/a/b/memory.current", 30);
    EXPECT_EQ(refusal(70), "");
    EXPECT_THAT(refusal(71), AllOf(HasSubstr("memory: asked for 71 MiB, "),
                                   HasSubstr("/mounts/a/b/memory.max is 100 MiB, of which 70 MiB are free; raise it")));
}

TEST_F(ControlGroup, ReclaimableMemoryCountsAsFree) {
    write("cgroup", "0::/a\n");
    write_mib("mounts/a/memory.max", 100);
    write_mib("mounts/a/memory.current", 90);
    write("mounts/a/memory.stat", "anon 1\nactive_file 10485760\ninactive_file 20971520\nslab_reclaimable 1048576\n");
    EXPECT_EQ(refusal(41), "");
    EXPECT_NE(refusal(42), "");
    write("meminfo", "SwapFree:       5120 kB\n");
    EXPECT_EQ(refusal(46), "");
    EXPECT_NE(refusal(47), "");
    write_mib("mounts/a/memory.swap.max", 3);
    write_mib("mounts/a/memory.swap.current", 2);
    EXPECT_EQ(refusal(42), "");
    EXPECT_NE(refusal(43), "");
}

TEST_F(ControlGroup, EachGroupAboveItLimitsItToo) {
    write("cgroup", "0::/a/b/c\n");
    write("mounts/a/b/c/memory.max", "max\n");
    write_mib("mounts/a/memory.max", 10);
    EXPECT_EQ(refusal(10), "");
    EXPECT_THAT(refusal(11), HasSubstr("/mounts/a/memory.max"));
    // In a container the own group is at the mount point.
    write("cgroup", "0::/\n");
    EXPECT_EQ(refusal(11), "");
    write_mib("mounts/memory.max", 5);
    EXPECT_NE(refusal(6), "");
}

TEST_F(ControlGroup, Version1IsReadToo) {
    write("cgroup", "5:cpu,cpuacct:/x\n4:memory:/a\n0::/\n");
    write("mounts/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_mib("mounts/memory/a/memory.limit_in_bytes", 100);
    write_mib("mounts/memory/a/memory.usage_in_bytes", 50);
    write("mounts/memory/a/memory.stat", "total_active_file 10485760\ntotal_inactive_file 0\n");
    EXPECT_EQ(refusal(60), "");
    EXPECT_THAT(refusal(61), HasSubstr("/mounts/memory/a/memory.limit_in_bytes is 100 MiB, of which 60 MiB"));
}

TEST_F(ControlGroup, WithoutOneNothingIsRefused) {
    EXPECT_EQ(refusal(1'000'000), "");
    write("cgroup", "0::/a\nnonsense\n:\n");
    EXPECT_EQ(refusal(1'000'000), "");
}

}  // namespace
}  // namespace millpond::memory
