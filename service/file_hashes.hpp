#pragma once

#include <map>
#include <span>
#include <string>

namespace millpond::service {

/// SHA-256 of files, to detect changes since they were read. Permissions do not count: who reads a secret refuses it if
/// all users may read it, whether it has changed or not. Reads each file once: use one object per reload.
///
/// Threads: one.
class FileHashes {
public:
    /// Hash of all files, in this order. Empty paths are skipped; a folder stands for its files, and an unreadable file
    /// is treated as missing.
    [[nodiscard]] std::string of(std::span<const std::string> paths);

private:
    [[nodiscard]] const std::string& hash_of(const std::string& path);

    std::map<std::string, std::string> known_;
};

}  // namespace millpond::service
