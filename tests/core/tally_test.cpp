#include <thread>

#include <gtest/gtest.h>

#include <millpond/core/tally.hpp>

namespace millpond::core {
namespace {

TEST(Tally, AReaderOnAnotherThreadSeesACountThatOnlyGrows) {
    constexpr std::uint64_t kAdds = 100'000;
    Tally tally;
    std::thread owner{[&] {
        for (std::uint64_t i = 0; i < kAdds; ++i) tally.add();
    }};
    std::uint64_t seen = 0;
    while (seen < kAdds) {
        const auto now = tally.read();
        ASSERT_GE(now, seen);
        seen = now;
    }
    owner.join();
    EXPECT_EQ(tally.read(), kAdds);
}

}  // namespace
}  // namespace millpond::core
