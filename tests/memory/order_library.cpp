// Built as several shared libraries, each of which contains millpond_memory.
#include "tests/memory/order_library.hpp"

#include <millpond/memory/global_pool.hpp>

using millpond::memory::global_pool;
using millpond::memory::test::Order;
using millpond::memory::test::OrderLibrary;

namespace {

millpond::memory::BlockPool& own_pool() {
    static millpond::memory::BlockPool pool(64, 100, {.name = "own"});
    return pool;
}

constexpr OrderLibrary kLibrary{
    .pool = [] { return &global_pool<Order>(); },
    .make = [](int id) { return global_pool<Order>().acquire(id); },
    .release = [](Order* order) { global_pool<Order>().release(order); },
    .acquire_own = [] { return own_pool().try_acquire(); },
    .release_own = [](void* block) { own_pool().release(block); },
};

}  // namespace

extern "C" [[gnu::visibility("default")]] const OrderLibrary* millpond_order_library() { return &kLibrary; }
