#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/exceptions.hpp>
#include <millpond/core/file_size_limit.hpp>

namespace millpond::core {

/// A file that replaces the one at its path only when it is complete. Until commit() it is `.NAME.RANDOM.part` in the
/// same folder, so that several writers do not disturb each other: the last commit wins. The destructor removes an
/// uncommitted file; a killed process leaves it behind.
///
/// If the path is a symbolic link, its target is replaced. A device or a pipe is written directly.
///
/// Threads: one.
class WholeFile {
public:
    /// mode: permissions of the new file, less the umask. Throws std::system_error with the path, like the other
    /// members.
    explicit WholeFile(std::string path, mode_t mode = 0666);
    ~WholeFile() {
        if (!part_.empty()) ::unlink(part_.c_str());
    }
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;

    void write(std::string_view bytes);
    void commit();
    /// Descriptor, for setting owner and permissions and for syncing before commit().
    [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

private:
    void create(mode_t mode);
    [[noreturn]] void fail() const {
        MILLPOND_THROW(std::system_error(errno, std::generic_category(), "cannot write '" + path_ + "'"));
    }

    std::string path_;
    std::filesystem::path place_;  // path_, or the target of that link
    std::string part_;             // empty: written directly, or committed already
    Descriptor file_;
};

inline WholeFile::WholeFile(std::string path, mode_t mode) : path_(std::move(path)), place_(path_) {
    std::error_code unknown;
    const auto status = std::filesystem::status(place_, unknown);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        file_ = Descriptor{::open(path_.c_str(), O_WRONLY | O_CLOEXEC)};
        if (!file_) fail();
        return;
    }
    constexpr int kMaxLinks = 40;  // the kernel follows as many
    for (int links = 0; std::filesystem::is_symlink(place_, unknown); ++links) {
        errno = ELOOP;
        if (links == kMaxLinks) fail();
        place_ = place_.parent_path() / std::filesystem::read_symlink(place_);
    }
    create(mode);
}

inline void WholeFile::create(mode_t mode) {
    constexpr std::size_t kMaxNameBytes = 200;  // a name may have 255
    const auto name = place_.filename().string().substr(0, kMaxNameBytes);
    do {
        std::uint64_t random = 0;
        if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) fail();
        std::array<char, 17> text{};
        static_cast<void>(std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(random)));
        auto part = place_.parent_path() / ("." + name + "." + text.data() + ".part");
        file_ = Descriptor{::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
        if (file_) part_ = std::move(part).string();
    } while (!file_ && errno == EEXIST);
    if (!file_) fail();
}

inline void WholeFile::write(std::string_view bytes) {
    const FileSizeLimit limit;
    while (!bytes.empty()) {
        const auto written = ::write(file_.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) fail();
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

inline void WholeFile::commit() {
    if (::close(file_.release()) != 0) fail();
    if (part_.empty()) return;
    if (::rename(part_.c_str(), place_.c_str()) != 0) fail();
    part_.clear();
}

}  // namespace millpond::core
