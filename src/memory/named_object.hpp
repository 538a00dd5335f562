#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/exceptions.hpp>
#include <millpond/memory/region_options.hpp>

namespace millpond::memory {

/// Throws RegionError. error: an errno.
[[noreturn]] inline void fail(int error, const std::string& what) {
    MILLPOND_THROW(RegionError(error, std::generic_category(), what));
}

/// An open file, shared memory object or hugetlbfs file.
struct OpenObject {
    core::Descriptor descriptor;
    std::string path;
    std::string name{};  ///< Name of a shared memory object.
    std::size_t bytes{0};
    std::size_t page_bytes{0};
    bool in_memory{false};               ///< On tmpfs: its pages count in the control group.
    bool created{false};                 ///< It had no size before this process.
    std::vector<std::string> removed{};  ///< Removed objects of other users at its name.
};

/// Determines who may write an object made with RegionOptions::exclusive.
enum class Ownership : std::uint8_t {
    by_mark,       ///< The holder of the lock on the object itself; another process's lock is EBUSY.
    by_lock_file,  ///< The caller, who holds its OwnerLock; the object is locked so that readers see an owner, unless
                   ///< another process has a read lock on it.
};

/// Opens or creates the object; its bytes are allocated and its size is `bytes` in whole pages.
[[nodiscard]] OpenObject make_shared_object(std::string_view name, std::size_t bytes, const RegionOptions& options,
                                            Ownership ownership);
[[nodiscard]] OpenObject make_file_object(const std::string& path, std::size_t bytes, const RegionOptions& options);

/// Opens an object that exists and has a size.
[[nodiscard]] OpenObject open_shared_object(std::string_view name, Access access, const RegionOptions& options);
[[nodiscard]] OpenObject open_file_object(const std::string& path, Access access, const RegionOptions& options);

/// Opens or creates the lock object of this name, and locks it. The descriptor is empty if another process holds the
/// lock.
[[nodiscard]] OpenObject try_open_lock_object(std::string_view name);

/// Removes the name from /dev/shm and from every hugetlbfs mount.
bool unlink_shared_object(std::string_view name);

[[nodiscard]] bool try_lock_descriptor(int descriptor) noexcept;
[[nodiscard]] bool descriptor_is_locked_elsewhere(int descriptor) noexcept;

/// Whether `path` leads to the open object.
[[nodiscard]] bool leads_to(const std::string& path, int descriptor) noexcept;

}  // namespace millpond::memory
