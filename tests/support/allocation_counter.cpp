#include "tests/support/allocation_counter.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MILLPOND_TEST_SANITIZER_OWNS_MALLOC 1
// Declared in sanitizer/allocator_interface.h, which Debian's g++ does not have.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                                         void (*on_free)(const volatile void*));
#endif

namespace millpond::test {
namespace {

// Plain thread-local integers: malloc runs before constructors do, and a thread-local object would allocate.
thread_local std::uint64_t allocations_of_thread = 0;
thread_local std::uint64_t frees_of_thread = 0;
std::atomic<std::uint64_t> allocations_of_all{0};

void count_allocation() noexcept {
    ++allocations_of_thread;
    allocations_of_all.fetch_add(1, std::memory_order_relaxed);
}

#if defined(MILLPOND_TEST_SANITIZER_OWNS_MALLOC)
void on_malloc(const volatile void* /*block*/, std::size_t /*bytes*/) { count_allocation(); }
void on_free(const volatile void* /*block*/) { ++frees_of_thread; }

[[maybe_unused]] const int kHooksInstalled = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
#endif

}  // namespace

AllocationCounter::AllocationCounter() noexcept
    : allocations_at_start_(allocations_of_thread),
      frees_at_start_(frees_of_thread),
      everywhere_at_start_(allocations_of_all.load(std::memory_order_relaxed)) {}

std::uint64_t AllocationCounter::allocations() const noexcept { return allocations_of_thread - allocations_at_start_; }

std::uint64_t AllocationCounter::frees() const noexcept { return frees_of_thread - frees_at_start_; }

std::uint64_t AllocationCounter::allocations_everywhere() const noexcept {
    return allocations_of_all.load(std::memory_order_relaxed) - everywhere_at_start_;
}

}  // namespace millpond::test

#if !defined(MILLPOND_TEST_SANITIZER_OWNS_MALLOC)
// Functions with the names of the C library's replace these for the program and for all libraries.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);

void* malloc(std::size_t bytes) {
    millpond::test::count_allocation();
    return __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) {
    millpond::test::count_allocation();
    return __libc_calloc(count, bytes);
}

void* realloc(void* block, std::size_t bytes) {
    millpond::test::count_allocation();
    return __libc_realloc(block, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
    millpond::test::count_allocation();
    return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    millpond::test::count_allocation();
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
    millpond::test::count_allocation();
    if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void* const got = __libc_memalign(alignment, bytes);
    if (got == nullptr) return ENOMEM;
    *block = got;
    return 0;
}

void free(void* block) {
    if (block != nullptr) ++millpond::test::frees_of_thread;
    __libc_free(block);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
#endif
