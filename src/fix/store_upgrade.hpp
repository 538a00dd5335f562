#pragma once

#include <filesystem>

#include <millpond/fix/file_store.hpp>

namespace millpond::fix {

/// Rewrites a store of layout 2 in the current one, beside its files, and puts the new files in their place; does
/// nothing to any other file. A process that dies meanwhile leaves the old store, or a new one that the next call puts
/// in its place. Throws as FileStore's constructor does; the old files are then as they were.
void upgrade_store(const std::filesystem::path& path, const FileStore::Options& options);

}  // namespace millpond::fix
