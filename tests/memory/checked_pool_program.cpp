// Program of check_valgrind: uses a checked pool correctly, or makes the mistake named by the argument.
#include <cstdio>
#include <cstring>
#include <string_view>

#include <millpond/memory/block_pool.hpp>

int main(int count, char** words) {
    const std::string_view mistake = count > 1 ? words[1] : "";
    millpond::memory::CheckedBlockPool pool(64, 10, {.fill_released = true});
    for (int round = 0; round < 3; ++round) {
        auto* const block = static_cast<char*>(pool.try_acquire());
        if (mistake != "read-unwritten") std::memset(block, 'x', 64);
        if (block[5] == 'x') std::puts("written");
        pool.release(block);
        if (mistake == "read-released" && block[5] == 'x') std::puts("released");
    }
    std::puts("done");
}
