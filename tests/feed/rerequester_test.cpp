#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include <millpond/feed/moldudp64_request.hpp>
#include <millpond/feed/rerequester.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

constexpr moldudp64_layout::Session kSession{'S', '1', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '};

TEST(Rerequester, TheRequestsBytesAreThoseOfTheSpecification) {
    const MoldUdp64Request request{.session = kSession, .first = 0x0102'0304'0506'0708, .count = 0x090A};
    const auto bytes = request.bytes();
    const auto expected = from_hex("5331 2020 2020 2020 2020 0102 0304 0506 0708 090a");
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()));
    EXPECT_EQ(MoldUdp64Request::read(bytes), request);
    EXPECT_FALSE(MoldUdp64Request::read(std::span{bytes}.first(19)));
    EXPECT_FALSE(MoldUdp64Request::read(MoldUdp64Request{.session = kSession, .first = 0, .count = 1}.bytes()));
    EXPECT_FALSE(MoldUdp64Request::read(MoldUdp64Request{.session = kSession, .first = 1, .count = 0}.bytes()));
}

TEST(Rerequester, WithoutAnAnswerItRetriesAfterPausesThatDoubleAndThenStops) {
    Rerequester<moldudp64_layout::Session> asker{{.max_messages = 10, .first_wait = 100, .tries = 3}};
    std::uint64_t now = 1'000;
    auto request = asker.due(kSession, 5, 40, now);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->first, 5U);
    EXPECT_EQ(request->count, 10U);
    EXPECT_FALSE(asker.due(kSession, 5, 40, now + 99));
    EXPECT_TRUE(asker.due(kSession, 5, 40, now += 100));
    EXPECT_FALSE(asker.due(kSession, 5, 40, now + 199));
    EXPECT_TRUE(asker.due(kSession, 5, 40, now += 200));
    EXPECT_FALSE(asker.exhausted(now + 399));
    EXPECT_FALSE(asker.due(kSession, 5, 40, now + 400));
    EXPECT_TRUE(asker.exhausted(now + 400));
    EXPECT_EQ(asker.requests().read(), 3U);
    EXPECT_EQ(asker.retries().read(), 2U);
}

TEST(Rerequester, APartialAnswerIsAwaitedAndAfterACompleteOneTheRestIsRequestedAtOnce) {
    Rerequester<moldudp64_layout::Session> asker{{.max_messages = 10, .first_wait = 100, .tries = 2}};
    ASSERT_TRUE(asker.due(kSession, 5, 40, 0));
    EXPECT_FALSE(asker.due(kSession, 9, 40, 90));   // the first datagram of the answer
    EXPECT_FALSE(asker.due(kSession, 9, 40, 180));  // restarted its timeout
    const auto rest = asker.due(kSession, 15, 17, 185);
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->first, 15U);
    EXPECT_EQ(rest->count, 3U);
    const auto lost = asker.due(kSession, 15, 17, 285);
    EXPECT_TRUE(lost);
    EXPECT_EQ(asker.retries().read(), 1U);
}

TEST(Rerequester, ARequestThatFailedIsRepeatedAtOnceAndTheLastOneIsNotWaitedFor) {
    Rerequester<moldudp64_layout::Session> asker{{.max_messages = 10, .first_wait = 100, .tries = 2}};
    ASSERT_TRUE(asker.due(kSession, 5, 9, 1'000));
    EXPECT_FALSE(asker.due(kSession, 5, 9, 1'001));
    asker.fail();
    EXPECT_FALSE(asker.exhausted(1'001));
    ASSERT_TRUE(asker.due(kSession, 5, 9, 1'001));
    EXPECT_FALSE(asker.exhausted(1'100)) << "the second one is waited for";
    asker.fail();
    EXPECT_TRUE(asker.exhausted(1'100));
    EXPECT_FALSE(asker.due(kSession, 5, 9, 1'100));
}

TEST(Rerequester, ASilentServerGetsOneRequestForEachGapUntilItAnswers) {
    Rerequester<moldudp64_layout::Session> asker{{.max_messages = 10, .first_wait = 100, .tries = 2}};
    ASSERT_TRUE(asker.due(kSession, 5, 6, 0));
    ASSERT_TRUE(asker.due(kSession, 5, 6, 100));
    ASSERT_TRUE(asker.exhausted(300));
    asker.give_up();
    ASSERT_TRUE(asker.due(kSession, 20, 40, 1'000));
    EXPECT_TRUE(asker.exhausted(1'100));
    // The server answers late.
    ASSERT_TRUE(asker.due(kSession, 30, 40, 1'150));
    EXPECT_FALSE(asker.exhausted(1'250));
    EXPECT_TRUE(asker.due(kSession, 30, 40, 1'250));
}

}  // namespace
}  // namespace millpond::feed
