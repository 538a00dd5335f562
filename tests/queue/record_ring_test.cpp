#include <millpond/queue/record_ring.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

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
            std::string text(random() % (ring.max_bytes() + 1), static_cast<char>('a' + step % 26));
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
    EXPECT_EQ(ring.max_bytes(), 8U);
    int accepted = 0;
    while (push(ring, "12345678")) ++accepted;
    EXPECT_EQ(accepted, 4);
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

TEST(RecordRing, RefusesSizesThatAreNotPowersOfTwo) {
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

/// Memory that outlives the ring.
struct Outliving {
    alignas(RecordRing::kHeadBytes) std::array<std::byte, RecordRing::kHeadBytes + 256> bytes{};
};

std::vector<std::string> all_of(RecordRing& ring) {
    std::vector<std::string> all;
    for (auto record = ring.front(); record.data() != nullptr; record = ring.front()) {
        all.push_back(text_of(record));
        ring.release();
    }
    return all;
}

TEST(RecordRing, ARingInMemoryThatOutlivesItContinuesWhereAnotherEnded) {
    const auto memory = std::make_unique<Outliving>();
    std::deque<std::string> model;
    for (int life = 0; life < 200; ++life) {
        RecordRing ring{memory->bytes};
        ASSERT_EQ(ring.records(), model.size());
        ASSERT_EQ(ring.left_out(), 0U);
        for (int i = 0; i < 7; ++i) {
            const std::string text(static_cast<std::size_t>(life * 7 + i) % 50, static_cast<char>('a' + i));
            if (push(ring, text)) model.push_back(text);
            static_cast<void>(ring.claim(20));  // a process that dies before the publish leaves no record
            if (i % 2 != 0) continue;
            ASSERT_EQ(text_of(ring.front()), model.front());
            model.pop_front();
            ring.release();
        }
    }
    RecordRing ring{memory->bytes};
    EXPECT_EQ(all_of(ring), (std::vector<std::string>{model.begin(), model.end()}));
}

TEST(RecordRing, OnlyRecordsBeforeTheDamageAreRead) {
    const auto memory = std::make_unique<Outliving>();
    {
        RecordRing ring{memory->bytes};
        for (const char* text : {"one", "two", "three"}) ASSERT_TRUE(push(ring, text));
    }
    const std::uint64_t length = 1ULL << 60U;
    std::memcpy(memory->bytes.data() + RecordRing::kHeadBytes + 16, &length, sizeof length);  // of the second
    {
        RecordRing ring{memory->bytes};
        EXPECT_EQ(ring.records(), 1U);
        EXPECT_EQ(ring.left_out(), 2U);
        EXPECT_EQ(all_of(ring), std::vector<std::string>{"one"});
    }
    std::mt19937_64 random{1};
    for (int i = 0; i < 10'000; ++i) {
        for (std::size_t at = 0; at < memory->bytes.size(); at += 8) {
            const auto word = random() % 4 == 0 ? random() : random() % 512;
            std::memcpy(memory->bytes.data() + at, &word, sizeof word);
        }
        RecordRing ring{memory->bytes};
        const auto records = ring.records();
        ASSERT_EQ(all_of(ring).size(), records);
        ASSERT_TRUE(push(ring, "goes on"));
        ASSERT_EQ(all_of(ring), std::vector<std::string>{"goes on"});
    }
}

TEST(RecordRing, MemoryOfAnotherSizeIsRefused) {
    const auto memory = std::make_unique<Outliving>();
    const std::span<std::byte> bytes{memory->bytes};
    EXPECT_THROW(RecordRing{bytes.first(RecordRing::kHeadBytes + 100)}, std::invalid_argument);
    EXPECT_THROW(RecordRing{bytes.first(10)}, std::invalid_argument);
}

}  // namespace
}  // namespace millpond::queue
