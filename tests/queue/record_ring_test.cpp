#include <millpond/queue/record_ring.hpp>

#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

namespace millpond::queue {
namespace {

bool push(RecordRing& ring, std::string_view text) {
    auto* const place = ring.claim(text.size());
    if (place == nullptr) return false;
    std::memcpy(place, text.data(), text.size());
    ring.publish();
    return true;
}

std::string text_of(std::span<const std::byte> record) {
    return {reinterpret_cast<const char*>(record.data()), record.size()};
}

TEST(RecordRing, RecordsOfAnyLengthComeOutInOrderAndInOnePiece) {
    RecordRing ring{1024};
    std::mt19937 random{1};
    std::deque<std::string> model;
    std::size_t refused = 0;
    for (int step = 0; step < 200'000; ++step) {
        if (random() % 2 == 0) {
            std::string text(random() % (ring.most_bytes() + 1), static_cast<char>('a' + step % 26));
            if (push(ring, text)) {
                model.push_back(text);
            } else {
                ++refused;
                ASSERT_FALSE(model.empty());
            }
        } else {
            const auto record = ring.front();
            ASSERT_EQ(record.data() == nullptr, model.empty());
            if (model.empty()) continue;
            ASSERT_EQ(text_of(record), model.front());
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(record.data()) % 8, 0U);
            model.pop_front();
            ring.release();
        }
        ASSERT_EQ(ring.records(), model.size());
    }
    EXPECT_GT(refused, 0U);
}

TEST(RecordRing, AFullRingRefusesAndKeepsWhatItHas) {
    RecordRing ring{64};
    EXPECT_EQ(ring.most_bytes(), 8U);
    int taken = 0;
    while (push(ring, "12345678")) ++taken;
    EXPECT_EQ(taken, 4);
    EXPECT_TRUE(ring.is_half_full());
    EXPECT_EQ(ring.claim(9), nullptr);
    EXPECT_EQ(text_of(ring.front()), "12345678");
    ring.release();
    EXPECT_TRUE(push(ring, ""));
    EXPECT_EQ(ring.records(), 4U);
}

TEST(RecordRing, AClaimThatIsNotPublishedLeavesNothing) {
    RecordRing ring{64};
    ASSERT_NE(ring.claim(8), nullptr);
    EXPECT_EQ(ring.front().data(), nullptr);
    EXPECT_TRUE(push(ring, "ab"));
    EXPECT_EQ(text_of(ring.front()), "ab");
}

TEST(RecordRing, RefusesSizesThatAreNoPowersOfTwo) {
    EXPECT_THROW(RecordRing{100}, std::invalid_argument);
    EXPECT_THROW(RecordRing{32}, std::invalid_argument);
    EXPECT_THROW(RecordRing{0}, std::invalid_argument);
}

TEST(RecordRing, TwoThreadsLoseAndChangeNothing) {
    RecordRing ring{4096};
    constexpr std::uint32_t kRecords = 50'000;
    std::thread producer{[&] {
        for (std::uint32_t i = 0; i < kRecords; ++i) {
            const std::string text = std::to_string(i) + std::string(i % 300, 'x');
            while (!push(ring, text)) std::this_thread::yield();
        }
    }};
    for (std::uint32_t i = 0; i < kRecords; ++i) {
        auto record = ring.front();
        while (record.data() == nullptr) {
            std::this_thread::yield();
            record = ring.front();
        }
        ASSERT_EQ(text_of(record), std::to_string(i) + std::string(i % 300, 'x'));
        ring.release();
    }
    producer.join();
    EXPECT_EQ(ring.records(), 0U);
}

}  // namespace
}  // namespace millpond::queue
