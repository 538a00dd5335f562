#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/memory/message_pool.hpp>

#include "tests/memory/order_library.hpp"

namespace millpond::memory {
namespace {

const test::OrderLibrary& library(const std::string& name) {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return test::load_order_library((folder / ("lib" + name + "_order_library.so")).c_str());
}

const test::OrderLibrary& first() { return library("first"); }
const test::OrderLibrary& second() { return library("second"); }
const test::OrderLibrary& hiding() { return library("hiding"); }

TEST(SharedLibraries, TheGlobalPoolIsOneInTwoOfThem) {
    ASSERT_NE(&first(), &second()) << "these are two libraries";
    EXPECT_EQ(first().pool(), second().pool());
}

TEST(SharedLibraries, AMessageMadeInOneIsReleasedInTheOther) {
    auto& pool = *first().pool();
    const auto before = pool.stats().in_use;
    std::vector<test::Order*> orders;
    for (int i = 0; i < 1000; ++i) orders.push_back(first().make(i));
    EXPECT_EQ(pool.stats().in_use, before + 1000);
    for (int i = 0; auto* const order : orders) {
        EXPECT_EQ(order->id, i++);
        second().release(order);
    }
    EXPECT_EQ(pool.stats().in_use, before);
    EXPECT_EQ(pool.stats().uncached, 0U) << "the thread found its cache in both";
    EXPECT_EQ(pool.audit(), "");
}

TEST(SharedLibraries, ALibraryThatHidesItsSymbolsHasItsOwnGlobalPool) {
    EXPECT_NE(hiding().pool(), first().pool());
    hiding().release(hiding().make(1));
    EXPECT_EQ(hiding().pool()->stats().uncached, 0U);
    EXPECT_EQ(hiding().pool()->audit(), "");
}

TEST(SharedLibraries, AThreadKeepsItsCachesOfTheirPoolsApart) {
    std::thread([] {
        const test::OrderLibrary* const libraries[]{&first(), &second(), &hiding()};
        for (int i = 0; i < 100; ++i) {
            std::vector<void*> blocks;
            for (const auto* library : libraries) blocks.push_back(library->acquire_own());
            for (std::size_t at = 0; const auto* library : libraries) library->release_own(blocks[at++]);
        }
    }).join();
}

}  // namespace
}  // namespace millpond::memory
