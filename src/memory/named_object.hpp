#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <millpond/core/descriptor.hpp>
#include <millpond/memory/region_options.hpp>

namespace millpond::memory {

/// Throws RegionError. error: an errno.
[[noreturn]] inline void fail(int error, const std::string& what) {
    throw RegionError(error, std::generic_category(), what);
}

/// A file, shared memory or hugetlbfs object that is open and has its size.
struct OpenObject {
    core::Descriptor descriptor;
    std::string path;
    std::size_t bytes{0};
    std::size_t page_bytes{0};
    bool created{false};  ///< It had no size before.
};

/// Opens or creates the object; its bytes are allocated and its size is `bytes` in whole pages.
[[nodiscard]] OpenObject make_shared_object(std::string_view name, std::size_t bytes, const RegionOptions& options);
[[nodiscard]] OpenObject make_file_object(const std::string& path, std::size_t bytes, const RegionOptions& options);

/// Opens an object that exists and has a size.
[[nodiscard]] OpenObject open_shared_object(std::string_view name, Access access, const RegionOptions& options);
[[nodiscard]] OpenObject open_file_object(const std::string& path, Access access, const RegionOptions& options);

/// Removes the name from /dev/shm and from every hugetlbfs mount.
bool unlink_shared_object(std::string_view name);

[[nodiscard]] bool try_lock_descriptor(int descriptor) noexcept;
[[nodiscard]] bool descriptor_is_locked_elsewhere(int descriptor) noexcept;

/// Whether `path` is the open object.
[[nodiscard]] bool leads_to(const std::string& path, int descriptor) noexcept;

}  // namespace millpond::memory
