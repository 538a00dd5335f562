#include <millpond/memory/detail/block_ledger.hpp>

#include <algorithm>
#include <memory>

// Weak: there when the program was built with AddressSanitizer, whatever this file was built with.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* begin, std::size_t bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* begin, std::size_t bytes);
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}

namespace millpond::memory::detail {

void set_poisoned(void* begin, std::size_t bytes, bool poisoned) noexcept {
    if (&__asan_poison_memory_region == nullptr) return;
    if (poisoned) {
        __asan_poison_memory_region(begin, bytes);
    } else {
        __asan_unpoison_memory_region(begin, bytes);
    }
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
