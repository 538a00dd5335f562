#pragma once

#include <cstddef>
#include <new>

namespace millpond::python {

inline constexpr std::size_t kLeastPages = std::size_t{1} << 20;  ///< Bytes from which an array has pages of its own.

/// Memory for a large array. What was given back is handed out again: the kernel's work for a fresh page costs more
/// than filling it. Throws std::bad_alloc.
///
/// Threads: any. A child process after fork may go on with both.
/// Memory:  up to a quarter more than asked for, in units of 2 MiB; at most 64 MiB of what was given back is kept.
[[nodiscard]] void* acquire_pages(std::size_t bytes);
/// bytes: as they were asked for.
void release_pages(void* pages, std::size_t bytes) noexcept;

/// Takes large arrays from there, and small ones from the heap.
template <class T>
struct PageAllocator {
    using value_type = T;

    PageAllocator() = default;
    template <class U>
    PageAllocator(const PageAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor): allocators convert

    [[nodiscard]] T* allocate(std::size_t count) {
        const auto bytes = count * sizeof(T);
        if (bytes < kLeastPages) return static_cast<T*>(::operator new(bytes, std::align_val_t{alignof(T)}));
        return static_cast<T*>(acquire_pages(bytes));
    }
    void deallocate(T* place, std::size_t count) noexcept {
        const auto bytes = count * sizeof(T);
        if (bytes < kLeastPages) return ::operator delete(place, std::align_val_t{alignof(T)});
        release_pages(place, bytes);
    }
    friend bool operator==(PageAllocator, PageAllocator) noexcept { return true; }
};

}  // namespace millpond::python
