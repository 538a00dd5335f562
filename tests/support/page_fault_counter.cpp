#include "tests/support/page_fault_counter.hpp"

#include <sys/resource.h>

namespace millpond::test {
namespace {

rusage usage_of_thread() noexcept {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

}  // namespace

PageFaultCounter::PageFaultCounter() noexcept {
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
