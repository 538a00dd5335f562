#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iterator>

#include <gtest/gtest.h>

#include <sys/resource.h>

namespace millpond::test {

/// Tests that run out of descriptors. They are skipped under UBSan, whose vptr check opens a pipe and reports a false
/// error if it cannot.
class Descriptors : public ::testing::Test {
protected:
    void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
        GTEST_SKIP() << "UBSan's vptr check needs a descriptor";
#endif
    }
};

/// Number of open descriptors of this process.
inline std::size_t open_descriptors() {
    const std::filesystem::directory_iterator list{"/proc/self/fd"};
    return static_cast<std::size_t>(std::distance(begin(list), end(list))) -
           1;  // without the descriptor of the listing
}

/// Makes opening a descriptor fail during its lifetime.
class NoMoreDescriptors {
public:
    NoMoreDescriptors() {
        getrlimit(RLIMIT_NOFILE, &before_);
        auto limit = before_;
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoMoreDescriptors(const NoMoreDescriptors&) = delete;
    NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

private:
    rlimit before_{};
};

/// Calls a constructor with a limit on descriptors that rises one by one, until it succeeds or `most` is reached.
/// Returns the number of failed attempts, or -1 if one of them left a descriptor open.
template <class Make>
int failures_without_leak(Make&& make, rlim_t most = 256) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const auto open = open_descriptors();
    int failures = 0;
    bool made = false;
    bool leaked = false;
    for (rlim_t number = 3; number <= most && !made && !leaked; ++number) {
        auto limit = before;
        limit.rlim_cur = std::min(number, before.rlim_max);
        setrlimit(RLIMIT_NOFILE, &limit);
        try {
            make();
            made = true;
        } catch (const std::exception&) {
            ++failures;
        }
        setrlimit(RLIMIT_NOFILE, &before);
        leaked = open_descriptors() != open;
    }
    return leaked ? -1 : failures;
}

}  // namespace millpond::test
