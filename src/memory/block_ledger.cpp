#include <millpond/memory/detail/block_ledger.hpp>

#include <algorithm>
#include <memory>

// Valgrind's header has no further dependencies.
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_MAKE_MEM_NOACCESS(begin, bytes) 0
#define VALGRIND_MAKE_MEM_UNDEFINED(begin, bytes) 0
#define VALGRIND_MAKE_MEM_DEFINED(begin, bytes) 0
#endif

// Weak: present if the program was built with AddressSanitizer, whatever this file was built with.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* begin, std::size_t bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* begin, std::size_t bytes);
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}

namespace millpond::memory::detail {
namespace {

// Queried once: each request costs a dozen instructions, even without valgrind.
const bool kValgrindListens = [] { return RUNNING_ON_VALGRIND != 0; }();

}  // namespace

void hide(void* begin, std::size_t bytes) noexcept {
    if (kValgrindListens) static_cast<void>(VALGRIND_MAKE_MEM_NOACCESS(begin, bytes));
    if (&__asan_poison_memory_region != nullptr) __asan_poison_memory_region(begin, bytes);
}

void show(void* begin, std::size_t bytes, Content content) noexcept {
    if (kValgrindListens && content == Content::old) {
        static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(begin, bytes));
    } else if (kValgrindListens) {
        static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(begin, bytes));
    }
    if (&__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(begin, bytes);
}

BlockLedger::BlockLedger(const char* pool, std::byte* records, std::uint32_t blocks, std::size_t block_bytes,
                         bool fill) noexcept
    : pool_(pool), records_(reinterpret_cast<Record*>(records)), block_bytes_(block_bytes), fill_(fill) {
    std::uninitialized_default_construct_n(records_, blocks);
}

bool BlockLedger::is_filled(const std::byte* block) const noexcept {
    return std::all_of(block, block + block_bytes_, [](std::byte byte) { return byte == std::byte{kReleased}; });
}

}  // namespace millpond::memory::detail
