#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <pthread.h>

namespace millpond::core {

/// Names the calling thread for `top -H`, `ps -L` and gdb. The kernel keeps the first 15 bytes.
inline void name_this_thread(std::string_view name) noexcept {
    constexpr std::size_t kMaxBytes = 15;
    std::array<char, kMaxBytes + 1> text{};
    std::ranges::copy(name.substr(0, kMaxBytes), text.begin());
    static_cast<void>(pthread_setname_np(pthread_self(), text.data()));
}

}  // namespace millpond::core
