#include <cstdio>

#include <millpond/memory/region.hpp>
#include <millpond/queue/spsc_ring.hpp>

int main() {
    auto region = millpond::memory::Region::anonymous(4096);
    static_cast<char*>(static_cast<void*>(region.data()))[0] = 42;
    millpond::queue::SpscRing<char> ring{2};
    char answer = static_cast<char*>(static_cast<void*>(region.data()))[0];
    if (!ring.try_push(std::move(answer))) return 1;
    char out = 0;
    if (!ring.try_pop(out)) return 1;
    std::printf("%d\n", out);
    return 0;
}
