#include "service/writable_folder.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <unistd.h>

namespace millpond::service {

void need_writable_folder(const std::filesystem::path& folder) {
    auto existing = folder.empty() ? std::filesystem::path{"."} : folder;
    std::error_code none;
    while (!std::filesystem::exists(existing, none) && existing.has_relative_path()) {
        existing = existing.has_parent_path() ? existing.parent_path() : std::filesystem::path{"."};
    }
    const auto fail = [](int error, const std::string& what) {
        throw std::system_error(error, std::generic_category(), what);
    };
    if (!std::filesystem::is_directory(existing, none)) fail(ENOTDIR, "'" + existing.string() + "'");
    if (::access(existing.c_str(), W_OK | X_OK) != 0) fail(errno, "cannot write in '" + existing.string() + "'");
}

}  // namespace millpond::service
