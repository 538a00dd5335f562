// Loads the library that its argument names. Exit code 0: the pool of Order is one, and the library's messages are
// ours.
#include <millpond/memory/global_pool.hpp>

#include "tests/memory/order_library.hpp"

int main(int, char** words) {
    using millpond::memory::test::Order;
    auto& pool = millpond::memory::global_pool<Order>();
    const auto& library = millpond::memory::test::load_order_library(words[1]);
    if (library.pool() != &pool) return 1;
    pool.release(library.make(1));
    library.release(pool.acquire(2));
    return pool.stats().in_use == 0 && pool.audit().empty() ? 0 : 1;
}
