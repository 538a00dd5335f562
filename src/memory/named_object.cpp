#include "named_object.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <limits.h>
#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include <millpond/core/exceptions.hpp>
#include <millpond/core/file_size_limit.hpp>

#include "control_group.hpp"
#include "kernel_pages.hpp"

namespace millpond::memory {
namespace {

constexpr const char* kSharedMemoryFolder = "/dev/shm";  // shm_open(3) keeps its objects there.

constexpr std::string_view kLockSuffix = ".lock";
constexpr std::size_t kMaxName = NAME_MAX - kLockSuffix.size();

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

std::string file_name(std::string_view name) {
    const auto bare = name.starts_with('/') ? name.substr(1) : name;
    if (bare.empty() || bare == "." || bare == ".." || bare.find('/') != std::string_view::npos ||
        std::ranges::any_of(bare, is_control) || bare.size() > kMaxName || bare.ends_with(kLockSuffix)) {
        std::string shown(name);
        std::ranges::replace_if(shown, is_control, '?');
        MILLPOND_THROW(
            std::invalid_argument("shared memory name '" + shown + "': needs 1 to " + std::to_string(kMaxName) +
                                  " characters after an optional leading slash, no other slash, no control " +
                                  "characters, and another ending than .lock"));
    }
    return std::string(bare);
}

/// All possible paths of an object of this name, hugetlbfs first.
std::vector<std::string> paths_of(std::string_view name) {
    const auto bare = file_name(name);
    auto folders = huge_page_mounts();
    folders.emplace_back(kSharedMemoryFolder);
    for (auto& folder : folders) folder += "/" + bare;
    return folders;
}

/// The first of `paths` on a hugetlbfs mount where this process may create files; empty if there is none.
std::string huge_path(const std::vector<std::string>& paths) {
    for (const auto& path : paths) {
        if (&path == &paths.back()) break;
        if (access(path.substr(0, path.rfind('/')).c_str(), W_OK) == 0) return path;
    }
    return {};
}

bool on_huge_pages(const OpenObject& object) { return object.page_bytes > base_page_bytes(); }

/// Fills in the fields that the descriptor determines.
void inspect(OpenObject& object) {
    struct stat facts{};
    if (fstat(object.descriptor.get(), &facts) != 0) fail(errno, object.path);
    if (!S_ISREG(facts.st_mode)) fail(EINVAL, object.path + ": is not a regular file");
    object.bytes = static_cast<std::size_t>(facts.st_size);
    struct statfs place{};
    object.page_bytes = base_page_bytes();
    if (fstatfs(object.descriptor.get(), &place) != 0) return;
    object.in_memory = place.f_type == TMPFS_MAGIC;
    if (place.f_type == HUGETLBFS_MAGIC) object.page_bytes = static_cast<std::size_t>(place.f_bsize);
}

bool is_trusted(uid_t owner) { return owner == geteuid() || owner == 0; }

std::string of_other_user(const std::string& path, uid_t owner) {
    return path + ": belongs to user " + std::to_string(owner) + ", this process runs as user " +
           std::to_string(geteuid()) + "; remove it, or run as its owner";
}

[[noreturn]] void refuse_to_open(const std::string& path, int error) {
    struct stat facts{};
    if (error == ELOOP) fail(error, path + ": is a symbolic link; remove it");
    if (error == EACCES && lstat(path.c_str(), &facts) == 0 && !is_trusted(facts.st_uid)) {
        fail(error, of_other_user(path, facts.st_uid));
    }
    fail(error, path);
}

/// Refuses an object that another user could truncate or replace.
void require_own(const OpenObject& object, const RegionOptions& options) {
    if (!options.own && !options.exclusive) return;
    struct stat facts{};
    if (fstat(object.descriptor.get(), &facts) != 0) fail(errno, object.path);
    if (!is_trusted(facts.st_uid)) fail(EPERM, of_other_user(object.path, facts.st_uid));
    if (facts.st_nlink > 1) {
        fail(EPERM, object.path + ": has " + std::to_string(facts.st_nlink) + " names (hard links); remove it");
    }
}

/// Root removes another user's object at the name of an object to own: any user may create names in /dev/shm and
/// would keep the owner out. Adds its description to `removed`.
void remove_foreign(const std::string& path, std::vector<std::string>& removed) {
    struct stat facts{};
    if (geteuid() != 0 || lstat(path.c_str(), &facts) != 0 || is_trusted(facts.st_uid)) return;
    const core::Descriptor object{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    const bool locked = object && descriptor_is_locked_elsewhere(object.get());
    removed.push_back(path + " of user " + std::to_string(facts.st_uid) +
                      (locked ? ", locked by a running process" : ""));
    if ((S_ISDIR(facts.st_mode) ? rmdir(path.c_str()) : unlink(path.c_str())) != 0 && errno != ENOENT) {
        fail(errno, path + ": belongs to user " + std::to_string(facts.st_uid) + " and cannot be removed");
    }
}

/// Opens an existing object; the descriptor is empty if there is none. Throws on any other failure.
OpenObject open_existing(const std::string& path, Access access) {
    OpenObject object;
    const int flags = (access == Access::writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    object.descriptor = core::Descriptor(open(path.c_str(), flags));
    if (!object.descriptor) {
        if (errno != ENOENT) refuse_to_open(path, errno);
        return object;
    }
    object.path = path;
    inspect(object);
    return object;
}

/// Sets the group and the mode of the object if they differ. Returns 0 or errno.
int settle_permissions(const OpenObject& object, const RegionOptions& options) {
    struct stat facts{};
    if (fstat(object.descriptor.get(), &facts) != 0) return errno;
    // The group first: changing it may clear bits of the mode.
    if (options.group != kOwnGroup && facts.st_gid != options.group &&
        fchown(object.descriptor.get(), static_cast<uid_t>(-1), options.group) != 0) {
        return errno;
    }
    const bool agrees = (facts.st_mode & 07777U) == options.mode;
    return agrees || fchmod(object.descriptor.get(), static_cast<mode_t>(options.mode)) == 0 ? 0 : errno;
}

constexpr const char* kPermissionsRefused =
    ": cannot set its mode and group; be its owner and a member of the group, or unlink it first";

/// Sets the permissions; removes an object without a size if that fails.
void open_up(const OpenObject& object, const RegionOptions& options) {
    const int error = settle_permissions(object, options);
    if (error == 0) return;
    if (object.bytes == 0) unlink(object.path.c_str());
    fail(error, object.path + kPermissionsRefused);
}

/// Creates an object; the descriptor is empty if another process created it meanwhile.
OpenObject create(const std::string& path, const RegionOptions& options) {
    OpenObject object;
    object.descriptor = core::Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!object.descriptor) {
        if (errno != EEXIST) fail(errno, path);
        return object;
    }
    object.path = path;
    // An object that will be locked stays closed to others until then: see `own`.
    if (!options.exclusive) open_up(object, options);
    inspect(object);
    return object;
}

void require_page_size(const OpenObject& object, const RegionOptions& options) {
    if (options.huge_pages == HugePages::require && !on_huge_pages(object)) {
        fail(EINVAL, object.path + ": exists on pages of " + size_text(object.page_bytes) +
                         "; unlink it first, or use prefer for huge pages");
    }
}

/// Removes an object without a size if the process's control group cannot hold it.
void require_memory(const OpenObject& object, std::size_t bytes) {
    MILLPOND_TRY { require_memory_in_control_group(bytes); }
    MILLPOND_CATCH(...) {
        unlink(object.path.c_str());
        MILLPOND_RETHROW;
    }
}

/// Allocates an object without a size, checks the size of any other. Returns 0, or the errno of a failed allocation.
[[nodiscard]] int settle_size(OpenObject& object, std::size_t bytes) {
    const auto wanted = round_up(bytes, object.page_bytes);
    if (object.bytes == 0) {
        if (object.in_memory) require_memory(object, wanted);
        int error = EINTR;
        const core::FileSizeLimit limit;
        while (error == EINTR) error = posix_fallocate(object.descriptor.get(), 0, static_cast<off_t>(wanted));
        if (error != 0) return error;
        object.bytes = wanted;
        object.created = true;
    } else if (object.bytes != wanted) {
        fail(EEXIST, object.path + ": exists with " + size_text(object.bytes) + ", asked for " + size_text(wanted) +
                         "; unlink it first");
    }
    return 0;
}

/// Removes the object, which settle_size could not allocate.
[[noreturn]] void refuse_to_allocate(const OpenObject& object, std::size_t bytes, int error) {
    const auto wanted = round_up(bytes, object.page_bytes);
    const auto why = on_huge_pages(object) ? huge_page_shortage(wanted) + "; raise vm.nr_hugepages or use prefer"
                                           : object.path + ": cannot allocate " + size_text(wanted) +
                                                 "; free space there or ask for less";
    unlink(object.path.c_str());
    fail(error, why);
}

[[noreturn]] void refuse_second_owner(const std::string& shown) { fail(EBUSY, shown + ": another process owns it"); }

/// False if another process owns it.
[[nodiscard]] bool try_lock_object(const OpenObject& object, Ownership ownership) {
    const int descriptor = object.descriptor.get();
    return try_lock_descriptor(descriptor) ||
           (ownership == Ownership::by_lock_file && !descriptor_is_locked_elsewhere(descriptor));
}

enum class Owned : std::uint8_t {
    yes,
    elsewhere,  ///< Another process owns it.
    replaced,   ///< The name leads to another object by now; the caller must start again.
};

Owned own(OpenObject& object, const RegionOptions& options, Ownership ownership) {
    require_own(object, options);
    if (!options.exclusive) return Owned::yes;
    if (!try_lock_object(object, ownership)) return Owned::elsewhere;
    if (!leads_to(object.path, object.descriptor.get())) return Owned::replaced;
    open_up(object, options);
    inspect(object);  // The previous owner may have set its size since.
    return Owned::yes;
}

enum class Place : std::uint8_t { shared_memory, files };

/// Opens or creates an object and locks it. If another process owns it, the descriptor is empty and the path set.
OpenObject try_open_or_create(const std::vector<std::string>& existing, const std::string& fresh,
                              const RegionOptions& options, Ownership ownership, Place place) {
    std::vector<std::string> removed;
    for (;;) {
        OpenObject object;
        for (const auto& path : existing) {
            if (place == Place::shared_memory && options.exclusive) remove_foreign(path, removed);
            object = open_existing(path, Access::writable);
            if (object.descriptor) break;
        }
        if (!object.descriptor) object = create(fresh, options);
        if (!object.descriptor) continue;
        const auto owned = own(object, options, ownership);
        if (owned == Owned::replaced) continue;
        if (owned == Owned::elsewhere) object.descriptor = {};
        object.removed = std::move(removed);
        return object;
    }
}

OpenObject open_or_create(const std::vector<std::string>& existing, const std::string& fresh,
                          const RegionOptions& options, Ownership ownership, Place place) {
    auto object = try_open_or_create(existing, fresh, options, ownership, place);
    if (!object.descriptor) refuse_second_owner(object.path);
    return object;
}

OpenObject opened(OpenObject object, const std::string& name, const RegionOptions& options, Ownership ownership) {
    if (!object.descriptor) fail(ENOENT, name);
    if (object.bytes == 0) fail(EAGAIN, name + ": has no size yet; its creator has not finished, open it again");
    require_page_size(object, options);
    require_own(object, options);
    if (options.exclusive && !try_lock_object(object, ownership)) refuse_second_owner(name);
    return object;
}

}  // namespace

OpenObject make_shared_object(std::string_view name, std::size_t bytes, const RegionOptions& options,
                              Ownership ownership) {
    const auto paths = paths_of(name);
    const auto& small = paths.back();
    const auto fresh = may_use_reserved(options.huge_pages) ? huge_path(paths) : small;
    if (fresh.empty() && options.huge_pages == HugePages::require) {
        fail(ENODEV,
             "huge pages: shared memory needs a writable hugetlbfs mount with 2 MiB pages and there is none; "
             "mount one (mount -t hugetlbfs -o pagesize=2M none /dev/hugepages) or use prefer");
    }
    auto object = open_or_create(paths, fresh.empty() ? small : fresh, options, ownership, Place::shared_memory);
    require_page_size(object, options);
    int error = settle_size(object, bytes);
    if (error != 0 && options.huge_pages == HugePages::prefer && on_huge_pages(object)) {
        unlink(object.path.c_str());
        object = open_or_create({small}, small, options, ownership, Place::shared_memory);
        error = settle_size(object, bytes);
    }
    if (error != 0) refuse_to_allocate(object, bytes, error);
    object.name = file_name(name);
    return object;
}

OpenObject make_file_object(const std::string& path, std::size_t bytes, const RegionOptions& options) {
    auto object = open_or_create({path}, path, options, Ownership::by_mark, Place::files);
    require_page_size(object, options);
    if (const int error = settle_size(object, bytes); error != 0) refuse_to_allocate(object, bytes, error);
    return object;
}

OpenObject open_shared_object(std::string_view name, Access access, const RegionOptions& options) {
    OpenObject object;
    for (const auto& path : paths_of(name)) {
        object = open_existing(path, access);
        if (object.descriptor) break;
    }
    object.name = file_name(name);
    return opened(std::move(object), "shared memory " + std::string(name), options, Ownership::by_lock_file);
}

OpenObject open_file_object(const std::string& path, Access access, const RegionOptions& options) {
    return opened(open_existing(path, access), path, options, Ownership::by_mark);
}

OpenObject try_open_lock_object(std::string_view name) {
    const auto path = std::string(kSharedMemoryFolder).append("/").append(file_name(name)).append(kLockSuffix);
    return try_open_or_create({path}, path, {.exclusive = true}, Ownership::by_mark, Place::shared_memory);
}

bool unlink_shared_object(std::string_view name) {
    bool removed = false;
    for (const auto& path : paths_of(name)) {
        if (unlink(path.c_str()) == 0) {
            removed = true;
        } else if (errno != ENOENT) {
            fail(errno, path);
        }
    }
    return removed;
}

bool try_lock_descriptor(int descriptor) noexcept {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

bool descriptor_is_locked_elsewhere(int descriptor) noexcept {
    struct flock lock{};
    lock.l_type = F_RDLCK;  // Conflicts with the owner's lock, and works with a read-only descriptor.
    lock.l_whence = SEEK_SET;
    return fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool leads_to(const std::string& path, int descriptor) noexcept {
    struct stat named{};
    struct stat held{};
    return stat(path.c_str(), &named) == 0 && fstat(descriptor, &held) == 0 && named.st_dev == held.st_dev &&
           named.st_ino == held.st_ino;
}

}  // namespace millpond::memory
