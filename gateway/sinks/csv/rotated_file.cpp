#include "gateway/sinks/csv/rotated_file.hpp"

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millpond::gateway::csv {

RotatedFile::~RotatedFile() { close_it(); }

void RotatedFile::close_it() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
}

bool RotatedFile::open() noexcept {
    struct stat status{};
    const bool is_there = stat(path_.c_str(), &status) == 0;
    if (is_there && S_ISREG(status.st_mode) && status.st_size > 0 && !move_away()) return false;
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    bytes_ = 0;
    return descriptor_ >= 0;
}

bool RotatedFile::rotate() noexcept {
    struct stat status{};
    if (fstat(descriptor_, &status) != 0) return false;
    if (S_ISREG(status.st_mode) && !move_away()) return false;
    close_it();
    return true;
}

bool RotatedFile::move_away() noexcept {
    // A hard link refuses to replace what is there, which rename does not.
    for (;; ++next_number_) {
        const auto name = path_ + "." + std::to_string(next_number_);
        if (link(path_.c_str(), name.c_str()) == 0) break;
        if (errno != EEXIST) return false;
    }
    ++next_number_;
    return unlink(path_.c_str()) == 0;
}

std::size_t RotatedFile::write(std::string_view text) noexcept {
    ssize_t written = 0;
    do written = ::write(descriptor_, text.data(), text.size());
    while (written < 0 && errno == EINTR);
    if (written < 0) return 0;
    bytes_ += static_cast<std::uint64_t>(written);
    return static_cast<std::size_t>(written);
}

}  // namespace millpond::gateway::csv
