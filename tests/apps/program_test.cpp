#include "tests/apps/program.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

TEST(Programs, WhatOnePrintsDoesNotStopItWhileTheTestWaitsForAnother) {
    const auto mark = ::testing::TempDir() + test::scratch_name("printed");
    // More than a pipe holds.
    const Program loud{"sh", {"-c", "head -c 3000000 /dev/zero; echo > \"$0\"", mark}};
    Program waits{"sh", {"-c", "until [ -e \"$0\" ]; do sleep 0.01; done", mark}};
    EXPECT_EQ(waits.wait().exit_code, 0);
    std::filesystem::remove(mark);
}

}  // namespace
}  // namespace millpond::app
