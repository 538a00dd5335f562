#pragma once

#include <filesystem>

#include <millpond/fix/file_store.hpp>

namespace millpond::fix {

/// Rewrites a store of layout 2 in the current layout, beside its files, and replaces these by the new files; leaves
/// other files alone. A process that dies meanwhile leaves the old store, or a new one that the next call puts in
/// place. Throws as FileStore's constructor does; the old files are then unchanged.
void upgrade_store(const std::filesystem::path& path, const FileStore::Options& options);

}  // namespace millpond::fix
