#pragma once

#include <filesystem>

namespace millpond::service {

/// Throws std::system_error unless files can be created in the folder, or in the nearest existing one above it.
void need_writable_folder(const std::filesystem::path& folder);

}  // namespace millpond::service
