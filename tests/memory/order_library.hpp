#pragma once

#include <dlfcn.h>

#include <stdexcept>

#include <millpond/memory/message_pool.hpp>

namespace millpond::memory::test {

struct Order {
    int id;
};

/// What a library built from order_library.cpp gives under the name millpond_order_library.
struct OrderLibrary {
    MessagePool<Order>* (*pool)();
    Order* (*make)(int id);
    void (*release)(Order* order);
    /// Of a pool that this library has for itself.
    void* (*acquire_own)();
    void (*release_own)(void* block);
};

/// Loads with RTLD_LOCAL, as a plugin is: its symbols are not offered to what is loaded later. It stays loaded.
inline const OrderLibrary& load_order_library(const char* file) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return *static_cast<const OrderLibrary*>(dlsym(library, "millpond_order_library"));
}

}  // namespace millpond::memory::test
