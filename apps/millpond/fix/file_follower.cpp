#include "apps/millpond/fix/file_follower.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/rotated_file.hpp>
#include <millpond/files/file_contents.hpp>

namespace millpond::app {

/// Opens the newest file at the path; nullopt if there is none.
auto FileFollower::open_newest(const Events& event) -> std::optional<Opened> {
    constexpr int kAttempts = 100;  // the file may be renamed between both calls
    for (int attempt = 0;; ++attempt) {
        Opened opened{.file = core::Descriptor{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)}};
        if (!opened.file) {
            if (errno != ENOENT) throw std::system_error(errno, std::system_category(), "cannot read " + path_);
            if (!std::exchange(missing_, true)) event(Event::missing);
            return std::nullopt;
        }
        struct stat facts{};
        if (::fstat(opened.file.get(), &facts) != 0)
            throw std::system_error(errno, std::system_category(), "cannot read " + path_);
        if (!S_ISREG(facts.st_mode)) throw std::runtime_error("cannot follow " + path_ + ": not a regular file");
        opened.device = facts.st_dev;
        opened.inode = facts.st_ino;
        const auto numbers = core::RotatedFile{path_}.renamed();
        opened.renamed_before = numbers.empty() ? 0 : *numbers.rbegin();
        struct stat now{};
        const bool stands =
            ::stat(path_.c_str(), &now) == 0 && now.st_dev == opened.device && now.st_ino == opened.inode;
        if (stands || attempt == kAttempts) return opened;
    }
}

void FileFollower::adopt(Opened opened) noexcept {
    file_ = std::move(opened.file);
    device_ = opened.device;
    inode_ = opened.inode;
    renamed_before_ = opened.renamed_before;
    read_ = 0;
    missing_ = false;
}

bool FileFollower::open(const Events& event) {
    auto opened = open_newest(event);
    if (!opened) return false;
    adopt(std::move(*opened));
    return true;
}

/// Whether PATH.number is certainly another file than the open one. If it was compressed or removed, it may have been
/// the open one.
bool FileFollower::is_another(std::uint64_t number) const {
    struct stat facts{};
    if (::stat((path_ + "." + std::to_string(number)).c_str(), &facts) != 0) return false;
    return facts.st_dev != device_ || facts.st_ino != inode_;
}

bool FileFollower::read_renamed(std::uint64_t number, const Bytes& bytes) const {
    const auto name = path_ + "." + std::to_string(number);
    for (const auto& path : {name, name + ".zst", name}) {
        struct stat facts{};
        struct stat ours{};
        if (::stat(path.c_str(), &facts) != 0 || ::fstat(file_.get(), &ours) != 0) continue;
        // Other programs number their files in reverse: a higher number is an older file.
        const auto is_older = [](const timespec& one, const timespec& other) {
            return one.tv_sec != other.tv_sec ? one.tv_sec < other.tv_sec : one.tv_nsec < other.tv_nsec;
        };
        if (is_older(facts.st_mtim, ours.st_mtim)) return true;
        try {
            files::FileContents contents{path};
            for (auto piece = contents.next(); !piece.empty(); piece = contents.next()) {
                bytes({reinterpret_cast<const char*>(piece.data()), piece.size()});
            }
            return true;
        } catch (const std::system_error&) {
            continue;  // compressed or removed meanwhile
        }
    }
    return false;
}

/// Reads the files that were renamed after the open one, up to number `last`.
void FileFollower::read_between(std::uint64_t last, const Bytes& bytes, const Events& event) const {
    const auto own = renamed_before_ + 1;
    if (last <= own || is_another(own)) return;
    for (auto number = own + 1; number <= last; ++number) {
        event(Event::replaced);
        if (!read_renamed(number, bytes)) event(Event::skipped);
    }
}

/// Reads up to the current end of the file.
bool FileFollower::read_on(const Bytes& bytes) {
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

bool FileFollower::poll(const Bytes& bytes, const Events& event) {
    if (!file_ && !open(event)) return false;
    bool any = read_on(bytes);
    struct stat now{};
    if (::stat(path_.c_str(), &now) != 0) return any;  // renamed: its writer may still write to it
    if (now.st_dev != device_ || now.st_ino != inode_) {
        any = read_on(bytes) || any;  // bytes written after the last read, before the successor appeared
        auto next = open_newest(event);
        if (!next) return any;  // the successor does not exist yet
        read_between(next->renamed_before, bytes, event);
        event(Event::replaced);
        adopt(std::move(*next));
        return true;
    }
    if (now.st_size >= read_) return any;
    read_ = 0;
    event(Event::truncated);
    return true;
}

}  // namespace millpond::app
