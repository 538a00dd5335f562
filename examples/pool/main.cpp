#include <iostream>
#include <thread>
#include <utility>

#include <millpond/memory/message_pool.hpp>

struct Order {
    long id;
    long price;
};

int main() {
    millpond::memory::MessagePool<Order> orders(10'000);  // allocates all memory
    auto order = orders.try_make(42L, 10'050L);           // built in place; null when 10,000 are in use
    if (!order) return 1;
    std::thread([mine = std::move(order)] {
        std::cout << "order " << mine->id << " at " << mine->price << '\n';
    }).join();
    std::cout << orders.stats().acquired << " made, " << orders.stats().in_use << " in use\n";  // it was returned
}
