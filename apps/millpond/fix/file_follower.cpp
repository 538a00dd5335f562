#include "apps/millpond/fix/file_follower.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millpond::app {

bool FileFollower::open(const std::function<void(Event)>& event) {
    core::Descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!file) {
        if (errno != ENOENT) throw std::system_error(errno, std::system_category(), "cannot read " + path_);
        if (!std::exchange(missing_, true)) event(Event::missing);
        return false;
    }
    struct stat opened{};
    if (::fstat(file.get(), &opened) != 0)
        throw std::system_error(errno, std::system_category(), "cannot read " + path_);
    if (!S_ISREG(opened.st_mode)) throw std::runtime_error("cannot follow " + path_ + ": not a regular file");
    file_ = std::move(file);
    device_ = opened.st_dev;
    inode_ = opened.st_ino;
    read_ = 0;
    missing_ = false;
    return true;
}

/// Up to the end of the file as it is now.
bool FileFollower::read_on(const std::function<void(std::string_view)>& bytes) {
    std::array<char, 65'536> buffer;
    bool any = false;
    for (;;) {
        const auto got = ::pread(file_.get(), buffer.data(), buffer.size(), read_);
        if (got < 0 && errno == EINTR) return any;
        if (got < 0) throw std::system_error(errno, std::system_category(), "cannot read " + path_);
        if (got == 0) return any;
        read_ += got;
        bytes({buffer.data(), static_cast<std::size_t>(got)});
        any = true;
    }
}

bool FileFollower::poll(const std::function<void(std::string_view)>& bytes, const std::function<void(Event)>& event) {
    if (!file_ && !open(event)) return false;
    bool any = read_on(bytes);
    struct stat now{};
    if (::stat(path_.c_str(), &now) != 0) return any;  // renamed: its writer may still write to it
    if (now.st_dev != device_ || now.st_ino != inode_) {
        any = read_on(bytes) || any;  // what was written between the look at its end and its successor
        file_ = {};
        event(Event::replaced);
        return open(event) || any;
    }
    if (now.st_size >= read_) return any;
    read_ = 0;
    event(Event::truncated);
    return true;
}

}  // namespace millpond::app
