#include "fixd/messages/recent_messages.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fixd/running_engine.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fixd {
namespace {

using test::ScratchFile;

std::string raw_log_line(int second, char direction, std::string_view session, std::uint64_t number) {
    return fmt::format("20240102-03:04:{:02}.000000000 {} {} {}\n", second, direction, session,
                       fix44("D", number, "DESK", "HOUSE", "11=1|"));
}

std::string numbers_and_directions(const std::vector<RecentMessage>& messages) {
    std::string numbers;
    for (const auto& message : messages) {
        const auto at = message.bytes.find(
                            "\x01"
                            "34=") +
                        4;
        numbers += message.direction + message.bytes.substr(at, message.bytes.find('\x01', at) - at);
    }
    return numbers;
}

TEST(RecentMessages, AreTheLastOnesOfTheSessionInTheRawLog) {
    const ScratchFile log{
        test::scratch_name("recent.log"),
        raw_log_line(1, '<', "A->B", 1) + raw_log_line(2, '>', "A->B", 2) + raw_log_line(3, '<', "A->BC", 3) +
            "# lost: 3 pieces, 615 bytes\n# rejected: A->B 34=2 35=D tag 44: x\n" + raw_log_line(4, '<', "A->B", 4) +
            raw_log_line(5, '>', "X_A->B", 5) + raw_log_line(6, '>', "A->B", 6)};
    EXPECT_EQ(numbers_and_directions(recent_in_raw_log(log.path(), "A->B", 10)), "<1>2<4>6");
    EXPECT_EQ(numbers_and_directions(recent_in_raw_log(log.path(), "A->B", 3)), ">2<4>6");
    EXPECT_EQ(numbers_and_directions(recent_in_raw_log(log.path(), "X A->B", 3)), ">5");
    EXPECT_TRUE(recent_in_raw_log(log.path(), "A", 3).empty());
    EXPECT_EQ(recent_in_raw_log(log.path(), "A->B", 1).at(0).utc_ns, 1'704'164'646'000'000'000);
}

TEST(RecentMessages, ALineThatIsBeingWrittenAndOneThatBeginsBeforeTheSearchedBytesAreLeftOut) {
    const auto first = raw_log_line(1, '<', "A->B", 1);
    const auto last = raw_log_line(3, '<', "A->B", 3);
    const ScratchFile log{test::scratch_name("recent_cut.log"),
                          first + raw_log_line(2, '>', "A->B", 2) + last.substr(0, last.size() - 5)};
    EXPECT_EQ(numbers_and_directions(recent_in_raw_log(log.path(), "A->B", 10)), "<1>2");
    EXPECT_EQ(numbers_and_directions(recent_in_raw_log(log.path(), "A->B", 10, first.size() + last.size() - 4)), ">2");
}

TEST(RecentMessages, OfARawLogThatWasJustRenamedAreFound) {
    const auto name = test::scratch_name("recent_renamed.log");
    const ScratchFile oldest{name + ".1", raw_log_line(1, '<', "A->B", 1)};
    const ScratchFile before{name + ".2", raw_log_line(2, '<', "A->B", 2) + raw_log_line(3, '<', "A->B", 3)};
    const ScratchFile log{name, raw_log_line(4, '>', "A->B", 4)};
    EXPECT_EQ(numbers_and_directions(recent_in_raw_log(log.path(), "A->B", 2)), "<3>4");
    EXPECT_EQ(numbers_and_directions(recent_in_raw_log(log.path(), "A->B", 9)), "<2<3>4");
}

TEST(RecentMessages, SeveralOfOnePieceCountEach) {
    const auto three = fix44("D", 1, "A", "B", "") + fix44("D", 2, "A", "B", "") + fix44("D", 3, "A", "B", "");
    const ScratchFile log{test::scratch_name("recent_piece.log"), "20240102-03:04:05.000000000 < A->B " + three + "\n"};
    EXPECT_EQ(numbers_and_directions(recent_in_raw_log(log.path(), "A->B", 2)), "<2<3");
}

TEST(RecentMessages, ThereAreNoneInARawLogThatDoesNotExist) {
    EXPECT_TRUE(recent_in_raw_log(::testing::TempDir() + test::scratch_name("none.log"), "A->B", 5).empty());
    EXPECT_THROW(static_cast<void>(recent_in_store(::testing::TempDir() + test::scratch_name("none.store"), 5)),
                 std::exception);
}

}  // namespace
}  // namespace millpond::fixd
