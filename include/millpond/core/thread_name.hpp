#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <pthread.h>

namespace millpond::core {

/// Names the calling thread, as `top -H`, `ps -L` and gdb show it. Of a name longer than the kernel's 15 bytes the rest
/// is left out.
inline void name_this_thread(std::string_view name) noexcept {
    constexpr std::size_t kMostBytes = 15;
    std::array<char, kMostBytes + 1> text{};
    std::ranges::copy(name.substr(0, kMostBytes), text.begin());
    static_cast<void>(pthread_setname_np(pthread_self(), text.data()));
}

}  // namespace millpond::core
