// Uses core, memory and queue, and makes one error at construction: built with exceptions and with -fno-exceptions.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <millpond/core/created_file.hpp>
#include <millpond/core/exceptions.hpp>
#include <millpond/memory/message_pool.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/broadcast_reader.hpp>
#include <millpond/queue/channel.hpp>
#include <millpond/queue/spsc_ring.hpp>

namespace {

using namespace millpond;

/// A constructor that may throw takes the pool's slow path.
struct Order {
    explicit Order(const std::string& of) : text(of) {}
    std::string text;
};

int work() {
    memory::MessagePool<Order> orders(8);
    queue::SpscRing<memory::Pooled<Order>> ring(8);
    if (!ring.try_push(orders.try_make("forty-two"))) return 1;
    memory::Pooled<Order> order;
    if (!ring.try_pop(order) || order->text != "forty-two") return 1;
    queue::Channel<std::string> channel(8);
    if (channel.claim() == nullptr) return 1;

    // A lock that another process holds is an outcome here, not an error.
    const auto path = std::string{"without_exceptions.region"};
    auto first = memory::Region::file(path, 4096);
    auto second = memory::Region::file(path, 4096);
    return first.try_lock_exclusive() && !second.try_lock_exclusive() ? 0 : 1;
}

void fail(const char* what) {
    if (std::strcmp(what, "ring") == 0) queue::SpscRing<int>(3);
    if (std::strcmp(what, "pool") == 0) memory::MessagePool<Order>(0);
    if (std::strcmp(what, "region") == 0) static_cast<void>(memory::Region::shared("a/b", 4096));
    if (std::strcmp(what, "missing") == 0) static_cast<void>(memory::Region::open_file("no_such.region"));
    if (std::strcmp(what, "broadcast") == 0) queue::BroadcastReader({}, 0);
}

}  // namespace

int main(int, char** arguments) {
    if (arguments[1] == nullptr) return work();
    MILLPOND_TRY { fail(arguments[1]); }
#ifdef __cpp_exceptions
    catch (const std::exception& error) {
        std::fprintf(stderr, "millpond: %s\n", error.what());
    }
#endif
    return 0;
}
