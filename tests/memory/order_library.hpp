#pragma once

#include <dlfcn.h>

#include <stdexcept>

#include <millpond/memory/message_pool.hpp>

namespace millpond::memory::test {

struct Order {
    int id;
};

/// What millpond_order_library() of a library built from order_library.cpp returns.
struct OrderLibrary {
    MessagePool<Order>* (*pool)();
    Order* (*make)(int id);
    void (*release)(Order* order);
    /// Of a pool that this library has for itself.
    void* (*acquire_own)();
    void (*release_own)(void* block);
};

/// Loads with RTLD_LOCAL, as a plugin is: its symbols are not offered to what is loaded later. It stays loaded. Clang
/// has no unique symbols, so its libraries share a pool only if their symbols are offered.
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
