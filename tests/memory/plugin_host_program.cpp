// plugin_host_program HOW FIRST SECOND: loads two libraries and uses the global pool of Order as they do. Exit code 0:
// the libraries' pool is the program's (HOW is "shared"), or one of their own (HOW is "apart"), and each is sound.
#include <string_view>

#include <millpond/memory/global_pool.hpp>

#include "tests/memory/order_library.hpp"

int main(int, char** words) {
    using namespace millpond::memory;
    using test::Order;
    auto& ours = global_pool<Order>();
    const auto& first = test::load_order_library(words[2]);
    const auto& second = test::load_order_library(words[3]);
    const bool shared = std::string_view(words[1]) == "shared";
    if (first.pool() != second.pool() || (first.pool() == &ours) != shared) return 1;
    second.release(first.make(1));
    ours.release(ours.acquire(2));
    if (shared) ours.release(first.make(3));
    if (shared) first.release(ours.acquire(4));
    // One that knows its pool goes home from anywhere.
    first.pool()->adopt(first.make(5)).reset();
    for (const auto* pool : {&ours, first.pool()}) {
        if (pool->stats().in_use != 0 || pool->stats().uncached != 0 || !pool->audit().empty()) return 1;
    }
    return 0;
}
