#include <array>
#include <cstddef>
#include <type_traits>

#include <gtest/gtest.h>

#include <millpond/memory/message.hpp>
#include <millpond/memory/message_pool.hpp>

namespace millpond::memory {
namespace {

using Envelope = Message<192>;

TEST(Message, HasAHeaderOfOneLineAndItsPayloadInPlace) {
    static_assert(sizeof(MessageHeader) == 64);
    static_assert(sizeof(Envelope) == 256);
    static_assert(alignof(Envelope) == 64);
    static_assert(std::is_trivially_copyable_v<Envelope>);
    EXPECT_EQ(offsetof(MessageHeader, session), 16U);
    EXPECT_EQ(offsetof(MessageHeader, priority), 24U);
    EXPECT_EQ(offsetof(MessageHeader, payload_bytes), 28U);
    EXPECT_EQ(offsetof(MessageHeader, created_ns), 32U);
}

TEST(Message, APayloadThatFitsIsKeptAndOneThatDoesNotLeavesTheMessageAsItWas) {
    Envelope message;
    EXPECT_TRUE(message.payload().empty());
    std::array<std::byte, 193> bytes{};
    bytes[0] = std::byte{7};
    ASSERT_TRUE(message.set_payload(std::span(bytes).first(192)));
    EXPECT_EQ(message.payload().size(), 192U);
    EXPECT_FALSE(message.set_payload(bytes));
    EXPECT_EQ(message.payload().size(), 192U);
    EXPECT_EQ(message.payload()[0], std::byte{7});
}

TEST(Message, APayloadMayBeWrittenInPlace) {
    Envelope message;
    message.room()[2] = std::byte{9};
    EXPECT_TRUE(message.commit_payload(3));
    EXPECT_EQ(message.payload()[2], std::byte{9});
    EXPECT_FALSE(message.commit_payload(193));
    EXPECT_EQ(message.payload().size(), 3U);
}

TEST(Message, ExpiresOnceWhenItsDeadlineHasPassedAndItIsStillPending) {
    Envelope message;
    EXPECT_FALSE(message.expire(1'000'000)) << "without a deadline it never does";
    message.deadline_ns = 100;
    EXPECT_FALSE(message.expire(99));
    EXPECT_TRUE(message.expire(100));
    EXPECT_EQ(message.state, MessageState::expired);
    EXPECT_FALSE(message.expire(101));
    Envelope sent;
    sent.deadline_ns = 100;
    sent.state = MessageState::sent;
    EXPECT_FALSE(sent.expire(200));
}

TEST(Message, PrioritiesAreInTheOrderOfTheirUrgency) {
    EXPECT_LT(Priority::critical, Priority::high);
    EXPECT_LT(Priority::high, Priority::medium);
    EXPECT_LT(Priority::medium, Priority::low);
}

TEST(Message, LivesInAPool) {
    MessagePool<Envelope> pool(16);
    const auto message = pool.try_make();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->state, MessageState::pending);
    EXPECT_EQ(message->type, MessageType::other);
    EXPECT_EQ(pool.stats().stride_bytes, 256U);
}

}  // namespace
}  // namespace millpond::memory
