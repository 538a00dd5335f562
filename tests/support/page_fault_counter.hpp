#pragma once

#include <cstdint>

namespace millpond::test {

/// Counts the page faults of the calling thread from its construction on. The constructor touches 64 KiB of the stack,
/// so that calls that go deeper than any before do not count.
///
/// Threads: constructed and read on the thread that it observes.
/// Source:  getrusage(2), RUSAGE_THREAD.
class PageFaultCounter {
public:
    PageFaultCounter() noexcept;

    /// Faults without disk access: a page was mapped or copied.
    [[nodiscard]] std::uint64_t minor() const noexcept;
    /// Faults that waited for a disk.
    [[nodiscard]] std::uint64_t major() const noexcept;
    [[nodiscard]] std::uint64_t faults() const noexcept { return minor() + major(); }

private:
    std::uint64_t minor_at_start_;
    std::uint64_t major_at_start_;
};

}  // namespace millpond::test
