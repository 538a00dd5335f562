#include "apps/millpond/gateway/demo_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace millpond::app {
namespace {

constexpr std::string_view kPrefix = "millpond-demo.";
constexpr std::string_view kLockName = ".millpond-demo.lock";

/// Opens the lock file of a folder if it belongs to this user.
core::Descriptor open_lock(const std::filesystem::path& folder, int flags) {
    constexpr mode_t kMode = 0600;
    core::Descriptor lock{open((folder / kLockName).c_str(), flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, kMode)};
    struct stat facts{};
    if (!lock || fstat(lock.get(), &facts) != 0 || facts.st_uid != geteuid()) return {};
    return lock;
}

bool is_own_folder(const std::filesystem::path& path) {
    struct stat facts{};
    return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
}

/// Removes folders of killed demos; only folders of demos have the lock file.
void remove_folders_of_killed(const std::filesystem::path& temporary) {
    std::error_code failed;
    for (std::filesystem::directory_iterator at{temporary, failed}, end; !failed && at != end; at.increment(failed)) {
        const auto& path = at->path();
        if (!path.filename().string().starts_with(kPrefix) || !is_own_folder(path)) continue;
        const auto lock = open_lock(path, 0);
        std::error_code ignored;
        if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(path, ignored);
    }
}

}  // namespace

DemoFolder::DemoFolder() {
    const auto temporary = std::filesystem::temp_directory_path();
    remove_folders_of_killed(temporary);
    // Retries, because another demo may remove the folder before it is locked.
    do {
        auto name = (temporary / kPrefix).string() + "XXXXXX";
        if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
        path_ = name;
        lock_ = open_lock(path_, O_CREAT | O_EXCL);
        if (!lock_) throw std::system_error(errno, std::generic_category(), name);
        flock(lock_.get(), LOCK_EX);
    } while (!std::filesystem::exists(path_ / kLockName));
}

DemoFolder::~DemoFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace millpond::app
