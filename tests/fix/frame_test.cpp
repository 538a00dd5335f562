#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/frame.hpp>

#include "tests/fix/messages.hpp"

namespace millpond::fix {
namespace {

const std::string kHeartbeat = message_of("FIX.4.4", "35=0|34=2|49=A|56=B|52=20240102-03:04:05|");
const std::string kTestRequest = message_of("FIXT.1.1", "35=1|34=3|49=A|56=B|52=20240102-03:04:05|112=X|");

/// All frames of a stream.
struct Frames {
    std::vector<std::string> frames;
    std::vector<FrameError> faults;
    std::size_t left{0};
};

Frames split(std::string_view stream, std::size_t max_bytes = kDefaultMaxFrameBytes) {
    Frames found;
    for (;;) {
        const auto frame = next_frame(bytes_of(stream), max_bytes);
        if (frame) {
            found.frames.emplace_back(stream.substr(0, frame->bytes.size()));
            stream.remove_prefix(frame->bytes.size());
            continue;
        }
        if (frame.error().error == FrameError::incomplete) {
            EXPECT_EQ(frame.error().skip, 0U);
            found.left = stream.size();
            return found;
        }
        found.faults.push_back(frame.error().error);
        EXPECT_GT(frame.error().skip, 0U);
        EXPECT_LE(frame.error().skip, stream.size());
        if (frame.error().skip == 0) return found;
        stream.remove_prefix(frame.error().skip);
    }
}

TEST(Frame, EveryProperPrefixOfAMessageIsIncomplete) {
    for (std::size_t size = 0; size < kTestRequest.size(); ++size) {
        const auto frame = next_frame(bytes_of(std::string_view{kTestRequest}.substr(0, size)));
        ASSERT_FALSE(frame) << size;
        EXPECT_EQ(frame.error().error, FrameError::incomplete) << size;
        EXPECT_EQ(frame.error().skip, 0U) << size;
    }
    const auto frame = next_frame(bytes_of(kTestRequest));
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->bytes.size(), kTestRequest.size());
    EXPECT_EQ(kTestRequest.substr(frame->body_offset, 5), delimited("35=1|"));
    EXPECT_EQ(kTestRequest.substr(frame->trailer_offset, 3), "10=");
}

TEST(Frame, SeveralMessagesInOneReadComeOutOneByOne) {
    const auto found = split(kHeartbeat + kTestRequest + kHeartbeat + kTestRequest.substr(0, 20));
    EXPECT_EQ(found.frames, (std::vector{kHeartbeat, kTestRequest, kHeartbeat}));
    EXPECT_TRUE(found.faults.empty());
    EXPECT_EQ(found.left, 20U);
}

TEST(Frame, BytesBeforeAMessageAreSkippedAndReported) {
    const auto found = split("garbage 8=FOX 8=FI" + kHeartbeat);
    EXPECT_EQ(found.frames, std::vector{kHeartbeat});
    EXPECT_EQ(found.faults, std::vector{FrameError::not_a_message});
}

TEST(Frame, ABodyLengthThatIsTooShortCostsOnlyItsOwnMessage) {
    auto bad = kHeartbeat;
    bad.replace(bad.find("9=") + 2, 2, "20");
    const auto found = split(bad + kTestRequest);
    EXPECT_EQ(found.frames, std::vector{kTestRequest});
    EXPECT_EQ(found.faults, std::vector{FrameError::bad_body_length});
}

TEST(Frame, ABodyLengthThatIsTooLongCostsOnlyTheBytesThatItCovers) {
    auto bad = kHeartbeat;
    bad.replace(bad.find("9=") + 2, 2, "57");  // extends into the next message
    const auto found = split(bad + kTestRequest + kHeartbeat);
    EXPECT_EQ(found.frames, std::vector{kHeartbeat});
    EXPECT_EQ(found.faults, std::vector{FrameError::bad_body_length});
}

TEST(Frame, ABodyLengthThatIsMissingOrNotANumberIsGarbled) {
    for (const auto* front : {"8=FIX.4.4|9=|35=0|", "8=FIX.4.4|9=x|35=0|", "8=FIX.4.4|35=0|9=5|", "8=FIX.4.4|9=-5|",
                              "8=FIX.4.4|9=99999999999|"}) {
        const auto found = split(delimited(front) + kHeartbeat);
        EXPECT_EQ(found.frames, std::vector{kHeartbeat}) << front;
        EXPECT_EQ(found.faults.size(), 1U) << front;
    }
}

TEST(Frame, AStatedLengthBeyondTheBoundIsNotWaitedFor) {
    const auto found = split(delimited("8=FIX.4.4|9=5000|35=0|") + kHeartbeat, 4096);
    EXPECT_EQ(found.frames, std::vector{kHeartbeat});
    EXPECT_EQ(found.faults, std::vector{FrameError::too_long});
}

TEST(Frame, AMessageThatIsTooLongIsReportedOnceItsTypeAndNumberAreThere) {
    const auto message = delimited("8=FIX.4.4|9=70000|35=D|49=A|34=18|56=B|");
    for (std::size_t size = 0; size < message.size(); ++size) {
        const auto error = next_frame(bytes_of(std::string_view{message}.substr(0, size)), 4096).error();
        const bool has_both = size >= message.find("56=");
        EXPECT_EQ(error.error, has_both ? FrameError::too_long : FrameError::incomplete) << size;
        EXPECT_EQ(error.skip, has_both ? size : 0) << size;
    }
    const auto without = delimited("8=FIX.4.4|9=70000|35=D|58=") + std::string(300, 'x');
    EXPECT_EQ(split(without, 4096).faults, std::vector{FrameError::too_long});
    const auto garbled = split(delimited("8=FIX.4.4|9=70000|") + kHeartbeat, 4096);
    EXPECT_EQ(garbled.faults, std::vector{FrameError::too_long});
    EXPECT_EQ(garbled.frames, std::vector{kHeartbeat});
}

TEST(Frame, AVersionWithoutEndIsNotWaitedFor) {
    const auto found = split("8=FIX.4.4.4.4.4.4.4.4.4.4.4.4" + kHeartbeat);
    EXPECT_EQ(found.frames, std::vector{kHeartbeat});
}

TEST(Frame, TheThirdFieldMustBeMsgType) {
    const auto bad = message_of("FIX.4.4", "34=2|35=0|49=A|56=B|52=20240102-03:04:05|");
    const auto found = split(bad + kHeartbeat);
    EXPECT_EQ(found.frames, std::vector{kHeartbeat});
    EXPECT_EQ(found.faults, std::vector{FrameError::bad_message_type});
    EXPECT_EQ(split(message_of("FIX.4.4", "35=|34=2|")).faults, std::vector{FrameError::bad_message_type});
    EXPECT_EQ(split(message_of("FIX.4.4", "")).faults, std::vector{FrameError::bad_message_type});
}

TEST(Frame, ACheckSumThatIsNotThreeDigitsIsGarbled) {
    auto bad = kHeartbeat;
    bad.erase(bad.size() - 2, 1);
    const auto found = split(bad + kHeartbeat);
    EXPECT_EQ(found.frames, std::vector{kHeartbeat});
    EXPECT_EQ(found.faults, std::vector{FrameError::bad_body_length});
}

TEST(Frame, EveryErrorHasAName) {
    for (int i = 0; i <= static_cast<int>(FrameError::too_many_fields); ++i) {
        EXPECT_NE(name(static_cast<FrameError>(i)), "unknown") << i;
    }
}

}  // namespace
}  // namespace millpond::fix
