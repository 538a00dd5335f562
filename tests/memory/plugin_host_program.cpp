// plugin_host_program HOW FIRST SECOND: loads two libraries and uses the global pool of Order through them. Exit code
// 0: the libraries use the program's pool (HOW is "shared") or their own (HOW is "apart"), and the pools are intact.
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
    // A message that knows its pool can be released anywhere.
    first.pool()->adopt(first.make(5)).reset();
    for (const auto* pool : {&ours, first.pool()}) {
        if (pool->stats().in_use != 0 || pool->stats().uncached != 0 || !pool->audit().empty()) return 1;
    }
    return 0;
}
