#include "tests/support/page_fault_counter.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace millpond::test {
namespace {

class Pages {
public:
    explicit Pages(std::size_t count)
        : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
          size_(count * page_),
          bytes_(static_cast<volatile char*>(
              mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        madvise(const_cast<char*>(bytes_), size_, MADV_NOHUGEPAGE);
    }
    ~Pages() { munmap(const_cast<char*>(bytes_), size_); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    void touch() {
        for (std::size_t at = 0; at < size_; at += page_) bytes_[at] = 1;
    }

private:
    std::size_t page_;
    std::size_t size_;
    volatile char* bytes_;
};

[[gnu::noinline]] void use_stack() {
    std::array<char, 32'768> bytes;
    for (std::size_t at = 0; at < bytes.size(); at += 4'096) *static_cast<volatile char*>(&bytes[at]) = 1;
}

TEST(PageFaultCounter, AStackThatWasNeverAsDeepIsNoFault) {
    std::uint64_t faults = 0;
    std::thread{[&] {  // with a stack of its own
        const PageFaultCounter counter;
        use_stack();
        faults = counter.faults();
    }}
        .join();
    EXPECT_LT(faults, 8U);
}

TEST(PageFaultCounter, TheFirstTouchOfEachPageIsAFaultAndTheSecondIsNone) {
    Pages pages(64);
    const PageFaultCounter first;
    pages.touch();
    EXPECT_GE(first.minor(), 64U);
    const PageFaultCounter second;
    pages.touch();
    // A kernel under pressure may remove pages again, but not all of them.
    EXPECT_LT(second.faults(), 64U);
}

}  // namespace
}  // namespace millpond::test
