#pragma once

#include <cstdint>

namespace millpond::test {

/// Counts heap allocations from its construction on: every malloc, calloc, realloc, aligned allocation and operator new
/// of the program and of its libraries. TSan hides aligned_alloc and posix_memalign from it.
///
/// Threads: `allocations` and `frees` count those of the calling thread, which must be the one that constructed the
/// counter. `allocations_everywhere` covers all threads.
/// Source:  glibc manual, "Replacing malloc"; under ASan and TSan the hooks of sanitizer/allocator_interface.h.
class AllocationCounter {
public:
    AllocationCounter() noexcept;

    [[nodiscard]] std::uint64_t allocations() const noexcept;
    [[nodiscard]] std::uint64_t frees() const noexcept;
    [[nodiscard]] std::uint64_t allocations_everywhere() const noexcept;

private:
    std::uint64_t allocations_at_start_;
    std::uint64_t frees_at_start_;
    std::uint64_t everywhere_at_start_;
};

}  // namespace millpond::test
