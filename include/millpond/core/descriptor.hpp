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
    /// Holds none.
    Descriptor() noexcept = default;
    /// number: what open(2) or socket(2) returned; -1 holds none.
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

    /// -1 when it holds none.
    [[nodiscard]] int get() const noexcept { return number_; }
    [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
    /// The caller closes it from now on.
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

private:
    int number_{-1};
};

}  // namespace millpond::core
