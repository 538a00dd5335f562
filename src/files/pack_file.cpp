#include <millpond/files/pack_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <millpond/core/created_file.hpp>
#include <millpond/core/descriptor.hpp>

#include "zstd_packer.hpp"

namespace millpond::files {
namespace {

std::error_code system_error() { return {errno, std::generic_category()}; }

}  // namespace

std::error_code pack_file(const std::string& path, mode_t mode, const std::atomic<bool>& stop) {
    const auto packed = path + ".zst";
    const auto part = packed + ".part";
    const core::Descriptor from{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!from) return system_error();
    ::unlink(part.c_str());
    const core::Descriptor to{::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!to) return system_error();
    auto error = ::fchmod(to.get(), mode) == 0 ? detail::pack_zstd(from.get(), to.get(), stop) : system_error();
    if (!error && ::rename(part.c_str(), packed.c_str()) != 0) error = system_error();
    if (error) {
        ::unlink(part.c_str());
        return error;
    }
    // The new name is on the disk before the old one is removed.
    core::sync_folder_of(path);
    return ::unlink(path.c_str()) == 0 ? std::error_code{} : system_error();
}

}  // namespace millpond::files
