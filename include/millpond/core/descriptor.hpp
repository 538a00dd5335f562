#pragma once

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace millpond::core {

/// Owns a file descriptor and closes it. Closing does not change errno.
///
/// Threads: one.
class Descriptor {
public:
    /// An empty object, without a descriptor.
    Descriptor() noexcept = default;
    /// number: result of open(2) or socket(2); -1: owns none.
    explicit Descriptor(int number) noexcept : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        const Descriptor old{std::exchange(number_, other.release())};
        return *this;
    }
    ~Descriptor() {
        if (number_ < 0) return;
        const int error = errno;
        ::close(number_);
        errno = error;
    }

    /// The descriptor, or -1.
    [[nodiscard]] int get() const noexcept { return number_; }
    [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
    /// Releases ownership: the caller closes the descriptor.
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

private:
    int number_{-1};
};

}  // namespace millpond::core
