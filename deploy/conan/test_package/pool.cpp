#include <millpond/memory/block_pool.hpp>

int main() {
    millpond::memory::BlockPool pool{64, 64};
    return pool.stats().capacity == 64 ? 0 : 1;
}
