#pragma once

#include <dlfcn.h>

#include <stdexcept>

#include <millpond/memory/message_pool.hpp>

namespace millpond::memory::test {

struct Order {
    int id;
};

/// Functions of a library built from order_library.cpp, as returned by millpond_order_library().
struct OrderLibrary {
    MessagePool<Order>* (*pool)();
    Order* (*make)(int id);
    void (*release)(Order* order);
    /// Acquires from the library's own pool.
    void* (*acquire_own)();
    void (*release_own)(void* block);
};

/// Loads with RTLD_LOCAL, like a plugin: libraries that are loaded later do not see its symbols. It stays loaded. Clang
/// has no unique symbols, so its libraries share a pool only if their symbols are visible.
inline const OrderLibrary& load_order_library(const char* file) {
#if defined(__clang__)
    constexpr int kScope = RTLD_GLOBAL;
#else
    constexpr int kScope = RTLD_LOCAL;
#endif
    void* const library = dlopen(file, RTLD_NOW | kScope);
    if (library == nullptr) throw std::runtime_error(dlerror());
    using Library = const OrderLibrary* (*)();
    return *reinterpret_cast<Library>(dlsym(library, "millpond_order_library"))();
}

}  // namespace millpond::memory::test
