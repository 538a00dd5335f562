#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/memory/numa_pool.hpp>

namespace millpond::memory {
namespace {

using testing::ElementsAre;

thread_local int made_up_cpu = 0;

/// Two processors a node, numbered one after the other.
NumaTopology made_up(std::size_t nodes) {
    NumaTopology topology;
    topology.nodes.clear();
    for (std::size_t node = 0; node < nodes; ++node) {
        topology.nodes.push_back(static_cast<int>(10 * node));
        topology.index_of_cpu.insert(topology.index_of_cpu.end(), 2, static_cast<std::uint8_t>(node));
    }
    topology.current_cpu = []() noexcept { return made_up_cpu; };
    topology.bind = false;
    return topology;
}

class NumaPoolNodes : public testing::TestWithParam<std::size_t> {
protected:
    void SetUp() override { made_up_cpu = 0; }
};

TEST_P(NumaPoolNodes, ABlockComesFromTheCallersNodeAndGoesHomeFromAnyOther) {
    NumaPool pool(64, 100, {}, made_up(GetParam()));
    ASSERT_EQ(pool.node_count(), GetParam());
    std::vector<void*> blocks;
    for (std::size_t node = 0; node < GetParam(); ++node) {
        made_up_cpu = static_cast<int>(2 * node + 1);
        for (std::size_t i = 0; i <= node; ++i) blocks.push_back(pool.try_acquire());
    }
    const auto stats = pool.node_stats();
    for (std::size_t node = 0; node < GetParam(); ++node) {
        EXPECT_EQ(stats[node].node, static_cast<int>(10 * node));
        EXPECT_EQ(stats[node].pool.in_use, node + 1);
        EXPECT_EQ(stats[node].borrowed, 0U);
    }
    made_up_cpu = 0;
    for (void* const block : blocks) pool.release(block);
    for (const auto& node : pool.node_stats()) EXPECT_EQ(node.pool.in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST_P(NumaPoolNodes, AnExhaustedNodeBorrowsFromTheOthersAndCountsIt) {
    NumaPool pool(64, 10, {.pool = {.capacity_policy = Capacity::strict}}, made_up(GetParam()));
    std::vector<void*> blocks;
    while (void* const block = pool.try_acquire()) blocks.push_back(block);
    EXPECT_EQ(blocks.size(), 10 * GetParam());
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    const auto stats = pool.node_stats();
    EXPECT_EQ(stats[0].borrowed, 0U);
    for (std::size_t node = 1; node < GetParam(); ++node) EXPECT_EQ(stats[node].borrowed, 10U);
    for (void* const block : blocks) pool.release(block);
    EXPECT_EQ(pool.audit(), "");
}

TEST_P(NumaPoolNodes, WithoutBorrowingANodeRefusesWhenItsOwnBlocksAreOut) {
    NumaPool pool(64, 10, {.pool = {.capacity_policy = Capacity::strict}, .borrow = false}, made_up(GetParam()));
    std::vector<void*> blocks;
    while (void* const block = pool.try_acquire()) blocks.push_back(block);
    EXPECT_EQ(blocks.size(), 10U);
    for (void* const block : blocks) pool.release(block);
}

/// `pool` is a NumaPool or its cache.
template <class Blocks>
void check_batches(NumaPool& pool, Blocks& blocks, std::size_t nodes) {
    std::vector<void*> first(6);
    ASSERT_TRUE(blocks.try_acquire_batch(first));
    EXPECT_EQ(pool.node_stats()[0].pool.in_use, 6U);
    std::vector<void*> rest(10 * nodes - 6);
    ASSERT_TRUE(blocks.try_acquire_batch(rest));
    std::set<void*> all(first.begin(), first.end());
    all.insert(rest.begin(), rest.end());
    EXPECT_EQ(all.size(), 10 * nodes);
    for (std::size_t node = 1; node < nodes; ++node) EXPECT_EQ(pool.node_stats()[node].borrowed, 10U);
    blocks.release_batch(rest);
    std::vector<void*> too_many(10 * nodes - 5);
    EXPECT_FALSE(blocks.try_acquire_batch(too_many));
    EXPECT_EQ(pool.stats().in_use, 6U);
    for (std::size_t node = 1; node < nodes; ++node) EXPECT_EQ(pool.node_stats()[node].borrowed, 10U);
    made_up_cpu = 2 * static_cast<int>(nodes - 1);
    blocks.release_batch(first);
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

TEST_P(NumaPoolNodes, ABatchComesFromTheCallersNodeAndTheRestFromTheOthersOrNotAtAll) {
    NumaPool pool(64, 10, {.pool = {.capacity_policy = Capacity::strict}}, made_up(GetParam()));
    check_batches(pool, pool, GetParam());
}

TEST_P(NumaPoolNodes, ACacheHoldsBlocksOfEachNode) {
    NumaPool pool(64, 10, {.pool = {.capacity_policy = Capacity::strict}}, made_up(GetParam()));
    NumaPool::Cache cache(pool);
    check_batches(pool, cache, GetParam());
    for (std::size_t node = 0; node < GetParam(); ++node) {
        made_up_cpu = static_cast<int>(2 * node);
        void* const block = cache.try_acquire();
        EXPECT_EQ(pool.node_stats()[node].pool.in_use, 1U);
        made_up_cpu = 0;
        auto moved = std::move(cache);
        moved.release(block);
        cache = std::move(moved);
        EXPECT_EQ(pool.node_stats()[node].pool.in_use, 0U);
    }
}

TEST_P(NumaPoolNodes, WithoutBorrowingABatchIsOfOneNode) {
    NumaPool pool(64, 10, {.pool = {.capacity_policy = Capacity::strict}, .borrow = false}, made_up(GetParam()));
    std::vector<void*> blocks(11);
    EXPECT_FALSE(pool.try_acquire_batch(blocks));
    blocks.resize(10);
    ASSERT_TRUE(pool.try_acquire_batch(blocks));
    pool.release_batch(blocks);
}

TEST_P(NumaPoolNodes, AllNodesAreOnePool) {
    NumaPool pool(64, 10, {.pool = {.name = "orders", .max_caches = 1}}, made_up(GetParam()));
    EXPECT_EQ(pool.name(), "orders");
    EXPECT_EQ(pool.capacity(), 10 * GetParam());
    EXPECT_TRUE(pool.prewarm());
    for (const auto& node : pool.node_stats()) EXPECT_EQ(node.pool.uncached, 0U);
    made_up_cpu = 2 * static_cast<int>(GetParam() - 1);
    void* const block = pool.try_acquire();
    std::size_t live = 0;
    pool.for_each_live([&](void* visited) {
        EXPECT_EQ(visited, block);
        ++live;
    });
    EXPECT_EQ(live, 1U);
    EXPECT_FALSE(pool.reset());
    pool.release(block);
    EXPECT_EQ(pool.stats().acquired, 1U);
    EXPECT_TRUE(pool.reset());
    EXPECT_EQ(pool.stats().acquired, 0U);
}

struct Stepping : Unchecked {
    static inline std::function<void()> step{};
    static inline int left = 0;  ///< Number of racy points before the step.
    static void racy_point() {
        if (step && left-- == 0) std::exchange(step, nullptr)();
    }
};

TEST_P(NumaPoolNodes, AResetIsNotReportedForANodeThatItDidNotReset) {
    int refused = 0;
    bool stepped = true;
    // At each racy point of a reset, where another thread can acquire a block of the first node.
    for (int point = 0; stepped; ++point) {
        BasicNumaPool<Stepping> pool(64, 10, {.pool = {.capacity_policy = Capacity::strict}}, made_up(GetParam()));
        BasicNumaPool<Stepping>::Cache cache(pool);
        cache.release(cache.try_acquire());
        Stepping::left = point;
        void* block = nullptr;
        Stepping::step = [&] { block = cache.try_acquire(); };
        const bool reset = pool.reset();
        stepped = Stepping::step == nullptr;
        Stepping::step = nullptr;
        if (reset) {
            EXPECT_LE(pool.stats().acquired, block != nullptr ? 1U : 0U) << point;
        } else {
            ++refused;
        }
        if (block != nullptr) cache.release(block);
    }
    EXPECT_GT(refused, 0);
}

TEST_P(NumaPoolNodes, MessagesAreMadeOnTheCallersNode) {
    struct Order {
        explicit Order(std::unique_ptr<int> its_id) : id(std::move(its_id)) {}
        std::unique_ptr<int> id;
    };
    NumaMessagePool<Order> pool(10, {.pool = {.pool = {.name = "orders"}}}, made_up(GetParam()));
    made_up_cpu = 2 * static_cast<int>(GetParam() - 1);
    auto order = pool.try_make(std::make_unique<int>(7));
    ASSERT_TRUE(order);
    EXPECT_EQ(*order->id, 7);
    EXPECT_EQ(pool.blocks().node_stats().back().pool.in_use, 1U);
    EXPECT_EQ(pool.stats().in_use, 1U);
    EXPECT_EQ(pool.name(), "orders");
    made_up_cpu = 0;
    order.reset();
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
    static_cast<void>(pool.acquire(std::make_unique<int>(8)));  // Destroyed by the pool.
}

TEST_P(NumaPoolNodes, ThreadsOfAllNodesReleaseEachOthersBlocks) {
    NumaPool pool(64, 1000, {}, made_up(GetParam()));
    std::vector<std::vector<void*>> blocks(4);
    const auto on_all = [&](auto work) {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            threads.emplace_back([&, i] {
                made_up_cpu = static_cast<int>(2 * (i % GetParam()));
                work(i);
            });
        }
        for (auto& thread : threads) thread.join();
    };
    on_all([&](std::size_t i) {
        for (int n = 0; n < 200; ++n) blocks[i].push_back(pool.try_acquire());
    });
    for (const auto& node : pool.node_stats()) EXPECT_EQ(node.pool.in_use, 800 / GetParam());
    on_all([&](std::size_t i) {
        for (void* const block : blocks[(i + 1) % blocks.size()]) pool.release(block);
    });
    for (const auto& node : pool.node_stats()) EXPECT_EQ(node.pool.in_use, 0U);
    EXPECT_EQ(pool.audit(), "");
}

INSTANTIATE_TEST_SUITE_P(MadeUp, NumaPoolNodes, testing::Values(1U, 2U, 4U), testing::PrintToStringParamName());

TEST(NumaPoolDeathTest, APointerOfNoNodeIsRefused) {
    NumaPool pool(64, 10, {.pool = {.name = "orders"}}, made_up(2));
    int local = 0;
    EXPECT_FALSE(pool.owns(&local));
    EXPECT_DEATH(pool.release(&local), "pool 'orders.node0': release of a block that is not its own");
}

TEST(NumaPool, RunsOnThisMachine) {
    NumaPool pool(64, 100);
    void* const block = pool.try_acquire();
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(pool.owns(block));
    pool.release(block);
    EXPECT_GE(pool.node_count(), 1U);
    EXPECT_EQ(pool.audit(), "");
}

TEST(NumaPool, ATopologyThatContradictsItselfIsRefused) {
    auto topology = made_up(2);
    topology.index_of_cpu.push_back(2);
    EXPECT_THROW(NumaPool(64, 10, {}, topology), std::invalid_argument);
    topology.nodes.clear();
    EXPECT_THROW(NumaPool(64, 10, {}, topology), std::invalid_argument);
}

class NumaTopologyTest : public testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(root_); }
    void TearDown() override { std::filesystem::remove_all(root_); }
    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text << '\n';
    }
    std::filesystem::path root_{
        std::filesystem::path(testing::TempDir()) /
        ("millpond.numa." + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))};
};

TEST_F(NumaTopologyTest, IsReadFromTheKernelsLists) {
    write("has_memory", "0,2-3");
    write("node0/cpulist", "0-1,6");
    write("node1/cpulist", "7");
    write("node2/cpulist", "2-3");
    write("node3/cpulist", "4,5");
    const auto topology = NumaTopology::of_system(root_);
    EXPECT_THAT(topology.nodes, ElementsAre(0, 2, 3));
    EXPECT_THAT(topology.index_of_cpu, ElementsAre(0, 0, 1, 1, 2, 2, 0));
}

TEST_F(NumaTopologyTest, IsOneNodeIfTheKernelListsNone) {
    const auto topology = NumaTopology::of_system(root_);
    EXPECT_THAT(topology.nodes, ElementsAre(0));
    EXPECT_EQ(topology.here(), 0U);
}

}  // namespace
}  // namespace millpond::memory
