// A program without CMake and without the library: the two amalgamated headers, and millpond_memory.cpp beside it.
#include <cstdio>
#include <memory>
#include <thread>

#include <millpond_queue.hpp>

#include <millpond_memory.hpp>

#include "tests/consumer/amalgamated/other.hpp"

int main() {
    millpond::memory::MessagePool<Order> orders(64);
    millpond::queue::SpscRing<millpond::memory::Pooled<Order>> ring(64);
    long sum = 0;
    std::thread consumer([&] {
        for (int seen = 0; seen < 21;) {
            millpond::memory::Pooled<Order> order;
            if (!ring.try_pop(order)) continue;
            sum += order->quantity;
            ++seen;
        }
    });
    for (int i = 0; i < 21; ++i) {
        auto order = orders.try_make(i, doubled(1));
        while (!ring.try_push(std::move(order))) std::this_thread::yield();
    }
    consumer.join();
    std::printf("%ld %zu\n", sum, static_cast<std::size_t>(orders.stats().in_use));
}
