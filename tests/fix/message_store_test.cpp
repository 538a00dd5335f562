#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/message_store.hpp>
#include <millpond/memory/region.hpp>

#include "tests/support/free_of_cost.hpp"

namespace millpond::fix {
namespace {

constexpr std::size_t kSmall = 4096;

/// A message of `size` bytes with its number in every word.
std::string message(std::uint64_t number, std::size_t size) {
    std::string text;
    while (text.size() < size) text += std::to_string(number) + ",";
    text.resize(size);
    return text;
}

TEST(MemoryStore, AStoredMessageIsRetrievedByItsNumber) {
    MemoryStore store{17};
    EXPECT_EQ(store.creation_utc_ns(), 17);
    EXPECT_EQ(store.next_sender(), 1U);
    for (std::uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(store.store(message(i, 100 + i)));
    EXPECT_EQ(store.next_sender(), 101U);
    for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(store.retrieve(i), message(i, 100 + i));
    EXPECT_EQ(store.retrieve(0), std::nullopt);
    EXPECT_EQ(store.retrieve(101), std::nullopt);
}

TEST(MemoryStore, AClaimWithSpareLeavesCapacityForTheLongestMessagesAtEveryPositionOfTheRing) {
    std::mt19937 random{42};
    for (const std::size_t times : {4U, 5U, 8U, 13U, 16U, 64U}) {
        const std::size_t longest = 1024;
        const std::size_t spare = std::min<std::size_t>(times / 4, 4);
        MemoryStore store{0, ByteCount{times * longest}};
        for (int round = 0; round < 500; ++round) {
            std::uint64_t kept = 0;
            for (auto claim = store.claim_with_spare(longest); !claim.empty();
                 claim = store.claim_with_spare(longest)) {
                store.commit(std::string_view{claim}.substr(0, 1 + random() % longest));
                ++kept;
            }
            ASSERT_GE(kept, 1U) << times;
            for (std::size_t i = 0; i < spare; ++i) ASSERT_TRUE(store.store(message(i, longest))) << times;
            store.mark_written(store.next_sender() - 1);
        }
        const auto refused = store.counters().refused.read();
        EXPECT_EQ(refused, 500U);
        EXPECT_TRUE(store.claim_with_spare(times * longest / 4 + 1).empty());
        EXPECT_TRUE(store.claim_with_spare(0).empty());
        EXPECT_EQ(store.counters().refused.read(), refused + 2);
    }
}

TEST(MemoryStore, ARangeWhoseEndIsZeroGoesToTheNewest) {
    MemoryStore store{0, ByteCount{kSmall}};
    for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(store.store(message(i, 50)));
    std::vector<std::uint64_t> visited;
    const auto note = [&](std::uint64_t sequence, std::string_view text) {
        EXPECT_EQ(text, message(sequence, 50));
        visited.push_back(sequence);
    };
    store.retrieve_range(3, 0, note);
    EXPECT_EQ(visited, (std::vector<std::uint64_t>{3, 4, 5}));
    visited.clear();
    store.retrieve_range(2, 3, note);
    store.retrieve_range(5, 99, note);
    EXPECT_EQ(visited, (std::vector<std::uint64_t>{2, 3, 5}));
}

TEST(MemoryStore, TheNewestReplaceTheOldestForever) {
    MemoryStore store{0, ByteCount{kSmall}};
    std::mt19937 random{1};
    std::map<std::uint64_t, std::string> all;
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
        all[i] = message(i, 20 + random() % 300);
        ASSERT_TRUE(store.store(all[i]));
        store.mark_written(i);
        if (i % 500 != 0) continue;
        // The newest messages are present and complete; nothing older is.
        auto oldest = i;
        while (oldest > 1 && store.retrieve(oldest - 1)) --oldest;
        EXPECT_GT(i - oldest, 8U);
        for (std::uint64_t sequence = 1; sequence <= i; ++sequence) {
            const auto found = store.retrieve(sequence);
            ASSERT_EQ(found.has_value(), sequence >= oldest) << sequence << " of " << i;
            if (found) {
                ASSERT_EQ(*found, all[sequence]);
            }
        }
    }
    const auto& counters = store.counters();
    EXPECT_EQ(counters.stored.read(), 20'000U);
    EXPECT_EQ(counters.refused.read(), 0U);
    EXPECT_GT(counters.overwritten.read(), 19'900U);
    EXPECT_LE(counters.peak_bytes.read(), store.capacity_bytes());
    EXPECT_GT(counters.peak_bytes.read(), store.capacity_bytes() / 2);
}

TEST(MemoryStore, UnsentMessagesAreNotOverwritten) {
    MemoryStore store{0, ByteCount{kSmall}};
    std::uint64_t stored = 0;
    while (store.store(message(stored + 1, 200))) ++stored;
    EXPECT_GT(stored, 15U);
    EXPECT_EQ(store.next_sender(), stored + 1);
    EXPECT_EQ(store.counters().refused.read(), 1U);
    for (std::uint64_t i = 1; i <= stored; ++i) EXPECT_EQ(store.retrieve(i), message(i, 200));
    store.mark_written(2);
    EXPECT_TRUE(store.store(message(stored + 1, 200)));
    EXPECT_EQ(store.retrieve(3), message(3, 200));
}

TEST(MemoryStore, AnAbandonedClaimUsesUpNoNumber) {
    MemoryStore store{0, ByteCount{kSmall}};
    ASSERT_TRUE(store.store("one"));
    const auto claim = store.claim(500);
    ASSERT_EQ(claim.size(), 500U);
    std::memset(claim.data(), 'x', claim.size());
    store.abandon();
    ASSERT_TRUE(store.store("two"));
    EXPECT_EQ(store.next_sender(), 3U);
    EXPECT_EQ(store.retrieve(1), "one");
    EXPECT_EQ(store.retrieve(2), "two");
}

TEST(MemoryStore, AMessageMayBeginAfterTheStartOfItsClaim) {
    MemoryStore store{0, ByteCount{kSmall}};
    const auto claim = store.claim(100);
    std::memcpy(claim.data() + 10, "inner", 5);
    EXPECT_EQ(store.commit({claim.data() + 10, 5}), 1U);
    EXPECT_EQ(store.retrieve(1), "inner");
}

TEST(MemoryStore, AClaimOfMoreThanAQuarterIsRefused) {
    MemoryStore store{0, ByteCount{kSmall}};
    EXPECT_TRUE(store.claim(kSmall / 4 + 1).empty());
    EXPECT_TRUE(store.claim(0).empty());
    EXPECT_FALSE(store.claim(kSmall / 4).empty());
}

TEST(MemoryStore, AResetForgetsMessagesAndBothNumbers) {
    MemoryStore store{5, ByteCount{kSmall}};
    for (std::uint64_t i = 1; i <= 50; ++i) {
        ASSERT_TRUE(store.store(message(i, 200)));
        store.mark_written(i);
    }
    store.set_next_target(9);
    store.reset(77);
    EXPECT_EQ(store.next_sender(), 1U);
    EXPECT_EQ(store.next_target(), 1U);
    EXPECT_EQ(store.creation_utc_ns(), 77);
    for (std::uint64_t i = 0; i <= 51; ++i) EXPECT_EQ(store.retrieve(i), std::nullopt);
    ASSERT_TRUE(store.store("first"));
    EXPECT_EQ(store.retrieve(1), "first");
    EXPECT_EQ(store.counters().resets.read(), 1U);
}

TEST(MemoryStore, NumbersMayBeSetBackAndAhead) {
    MemoryStore store{0, ByteCount{kSmall}};
    for (std::uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(store.store(message(i, 50)));
    store.set_next_sender(3);
    EXPECT_EQ(store.retrieve(3), std::nullopt);
    EXPECT_EQ(store.retrieve(2), message(2, 50));
    store.set_next_sender(1000);
    ASSERT_TRUE(store.store("far"));
    EXPECT_EQ(store.retrieve(1000), "far");
    EXPECT_EQ(store.counters().overwritten.read(), 0U);
}

TEST(MemoryStore, UsedBytesBeginAtTheOldestMessageAlsoAfterNumbersWereChanged) {
    constexpr std::uint64_t kRecord = 64;  // for a message of 44 bytes
    MemoryStore store{0, ByteCount{kSmall}};
    const auto& used = store.counters().used_bytes;
    const auto keep = [&store](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_TRUE(store.store(message(store.next_sender(), 44)));
            store.mark_written(store.next_sender() - 1);
        }
    };
    keep(10);
    EXPECT_EQ(used.read(), 10 * kRecord);
    store.set_next_sender(1);
    keep(1);
    EXPECT_EQ(used.read(), kRecord);
    store.set_next_sender(100);
    keep(1);
    EXPECT_EQ(used.read(), 2 * kRecord);
    store.reset(0);
    EXPECT_EQ(used.read(), 0U);
    keep(2);
    EXPECT_EQ(used.read(), 2 * kRecord);
    keep(1'000);
    EXPECT_LE(used.read(), store.capacity_bytes());
    EXPECT_GT(used.read(), store.capacity_bytes() / 2);
}

TEST(MemoryStore, TheNextKeptNumberIsFoundAfterAnyGap) {
    MemoryStore store{0, ByteCount{kSmall}};
    EXPECT_EQ(store.next_kept(1), 1U);
    std::mt19937_64 random{2};
    std::map<std::uint64_t, std::string> all;
    for (int round = 0; round < 2'000; ++round) {
        if (random() % 8 == 0) {
            const auto jump = std::uint64_t{1} << random() % 40;
            const auto next = store.next_sender();
            const auto to = random() % 4 == 0 ? 1 + random() % next : next + jump;
            store.set_next_sender(to);
            all.erase(all.lower_bound(to), all.end());
        }
        all[store.next_sender()] = message(store.next_sender(), 20 + random() % 200);
        ASSERT_TRUE(store.store(all.rbegin()->second));
        store.mark_written(store.next_sender() - 1);
        std::erase_if(all, [&](const auto& one) { return store.retrieve(one.first) != one.second; });
        const auto from = random() % (store.next_sender() + 2);
        const auto kept = all.lower_bound(from);
        ASSERT_EQ(store.next_kept(from), kept == all.end() ? store.next_sender() : kept->first) << from;
        std::size_t visited = 0;
        store.retrieve_range(1, 0, [&](std::uint64_t, std::string_view) { ++visited; });
        ASSERT_EQ(visited, all.size());
    }
}

TEST(MemoryStore, ItsTimeAndItsSizeCannotBeSwapped) {
    static_assert(std::is_constructible_v<MemoryStore, std::int64_t, ByteCount>);
    static_assert(!std::is_constructible_v<MemoryStore, std::int64_t, std::size_t>);
    static_assert(!std::is_constructible_v<MemoryStore, ByteCount, std::int64_t>);
    static_assert(!std::is_convertible_v<std::size_t, ByteCount>);
}

TEST(MemoryStore, ItsCommitWordIsRightBeforeTheMessageInMemory) {
    MemoryStore store{0, ByteCount{kSmall}};
    for (std::uint64_t number = 1; number <= 200; ++number) {
        ASSERT_TRUE(store.store(message(number, 100)));
        store.mark_written(number);
        const auto stored = store.retrieve(number);
        ASSERT_TRUE(stored);
        std::uint64_t commit_word = 0;
        std::memcpy(&commit_word, stored->data() - sizeof(StoreRecord), sizeof commit_word);
        ASSERT_EQ(commit_word, number);
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(stored->data()) % sizeof(StoreRecord), 0U);
    }
}

TEST(MemoryStore, UsesTheMemoryOfARegion) {
    auto region = memory::Region::anonymous(1U << 16U);
    MemoryStore store{0, region.bytes()};
    EXPECT_GT(store.capacity_bytes(), 40'000U);
    ASSERT_TRUE(store.store("here"));
    EXPECT_GE(store.retrieve(1)->data(), reinterpret_cast<const char*>(region.data()));
    EXPECT_LT(store.retrieve(1)->data(), reinterpret_cast<const char*>(region.data() + region.size()));
}

TEST(MemoryStore, TooLittleMemoryIsRefusedByName) {
    EXPECT_THROW((MemoryStore{0, ByteCount{100}}), std::invalid_argument);
    alignas(64) std::byte little[512];
    EXPECT_THROW((MemoryStore{0, std::span<std::byte>{little}}), std::invalid_argument);
}

TEST(MemoryStore, StoringAndRetrievingNeedNoHeapNoPageFaultAndNoSystemCall) {
    MemoryStore store{0, ByteCount{kSmall}};
    const auto text = message(1, 200);
    test::expect_free_of_cost([&] {
        std::size_t found = 0;
        for (int i = 0; i < 1000; ++i) {
            const auto number = store.next_sender();
            if (!store.store(text)) return false;
            store.mark_written(number);
            found += store.retrieve(number).value_or("").size();
        }
        return found == 200'000U;
    });
}

}  // namespace
}  // namespace millpond::fix
