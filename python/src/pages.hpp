#pragma once

#include <cstddef>
#include <new>

namespace millpond::python {

inline constexpr std::size_t kMinPages = std::size_t{1} << 20;  ///< Arrays of this size or more have separate pages.

/// Allocates memory for a large array. Released memory is reused: the kernel's work for a fresh page costs more than
/// filling it. Throws std::bad_alloc.
///
/// Threads: any. A child process may continue to use both after fork.
/// Memory:  up to a quarter more than requested, in units of 2 MiB; at most 64 MiB of released memory is kept.
[[nodiscard]] void* acquire_pages(std::size_t bytes);
/// bytes: as passed to acquire_pages.
void release_pages(void* pages, std::size_t bytes) noexcept;

/// Allocates large arrays with acquire_pages, and small ones on the heap.
template <class T>
struct PageAllocator {
    using value_type = T;

    PageAllocator() = default;
    template <class U>
    PageAllocator(const PageAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): allocators convert

    [[nodiscard]] T* allocate(std::size_t count) {
        const auto bytes = count * sizeof(T);
        if (bytes < kMinPages) return static_cast<T*>(::operator new(bytes, std::align_val_t{alignof(T)}));
        return static_cast<T*>(acquire_pages(bytes));
    }
    void deallocate(T* place, std::size_t count) noexcept {
        const auto bytes = count * sizeof(T);
        if (bytes < kMinPages) return ::operator delete(place, std::align_val_t{alignof(T)});
        release_pages(place, bytes);
    }
    friend bool operator==(PageAllocator, PageAllocator) noexcept { return true; }
};

}  // namespace millpond::python
