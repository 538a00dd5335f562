#include <millpond/memory/on_demand_array.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/page_fault_counter.hpp"

namespace millpond::memory {
namespace {

const auto kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

/// Number of the array's pages that are present.
template <class T>
std::size_t present_pages(OnDemandArray<T>& array) {
    std::vector<unsigned char> pages((array.size() * sizeof(T) + kPage - 1) / kPage);
    if (mincore(array.data(), array.size() * sizeof(T), pages.data()) != 0) return 0;
    std::size_t present = 0;
    for (const auto page : pages) present += page & 1U;
    return present;
}

TEST(OnDemandArray, OnlyTheFirstElementsArePresentAtFirst) {
    OnDemandArray<std::uint64_t> array{100 * kPage / 8, kPage / 8 + 1};
    EXPECT_EQ(present_pages(array), 2U);
    for (const auto value : array) ASSERT_EQ(value, 0U);
    OnDemandArray<char> none_present{3 * kPage};
    EXPECT_EQ(present_pages(none_present), 0U);
    EXPECT_TRUE(OnDemandArray<char>{}.empty());
    EXPECT_TRUE((OnDemandArray<char>{0, 10}).empty());
}

TEST(OnDemandArray, WhatWasMadePresentCausesNoFaultAndKeepsItsValues) {
    OnDemandArray<std::uint64_t> array{100 * kPage / 8, 1};
    array[0] = 7;
    array.make_present();
    EXPECT_EQ(present_pages(array), 100U);
    const test::PageFaultCounter faults;
    for (std::size_t i = 1; i < array.size(); ++i) array[i] = i;
    const auto counted = faults.faults();
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    EXPECT_EQ(counted, 0U);
#else
    static_cast<void>(counted);
#endif
    EXPECT_EQ(array[0], 7U);
}

TEST(OnDemandArray, PagesThatWereGivenBackAreZeroAndTheFirstOnesStay) {
    OnDemandArray<std::uint64_t> array{10 * kPage / 8, 1};
    array.make_present();
    for (auto& value : array) value = 5;
    array.give_back();
    EXPECT_EQ(present_pages(array), 1U);
    EXPECT_EQ(array[0], 5U);
    EXPECT_EQ(array[kPage / 8], 0U);
    EXPECT_EQ(array[array.size() - 1], 0U);
}

TEST(OnDemandArray, AMovedArrayHasTheMemory) {
    OnDemandArray<int> first{1'000};
    first[999] = 3;
    OnDemandArray<int> second{std::move(first)};
    EXPECT_EQ(second[999], 3);
    OnDemandArray<int> third;
    third = std::move(second);
    EXPECT_EQ(third[999], 3);
    EXPECT_EQ(third.size(), 1'000U);
}

}  // namespace
}  // namespace millpond::memory
