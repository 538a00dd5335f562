#include "tests/support/page_fault_counter.hpp"

#include <array>
#include <cstddef>

#include <sys/resource.h>

namespace millpond::test {
namespace {

rusage usage_of_thread() noexcept {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

/// Writes to the pages of the stack below its caller's frame. Whether observed calls are the first to reach the next
/// page, or the first since a fork, depends on where the kernel placed the stack.
[[gnu::noinline]] void touch_stack() noexcept {
    constexpr std::size_t kPage = 4'096;
    std::array<char, 16 * kPage> stack;
    for (std::size_t at = 0; at < stack.size(); at += kPage) *static_cast<volatile char*>(&stack[at]) = 0;
}

}  // namespace

PageFaultCounter::PageFaultCounter() noexcept {
    touch_stack();
    const auto usage = usage_of_thread();
    minor_at_start_ = static_cast<std::uint64_t>(usage.ru_minflt);
    major_at_start_ = static_cast<std::uint64_t>(usage.ru_majflt);
}

std::uint64_t PageFaultCounter::minor() const noexcept {
    return static_cast<std::uint64_t>(usage_of_thread().ru_minflt) - minor_at_start_;
}

std::uint64_t PageFaultCounter::major() const noexcept {
    return static_cast<std::uint64_t>(usage_of_thread().ru_majflt) - major_at_start_;
}

}  // namespace millpond::test
