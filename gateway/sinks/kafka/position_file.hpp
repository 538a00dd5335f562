#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

#include <sys/types.h>

#include <millpond/core/created_file.hpp>
#include <millpond/core/descriptor.hpp>

namespace millpond::gateway::kafka {

/// Stores the number of a journal record in a file of 64 bytes that is consistent whenever the process or the machine
/// dies: two slots are written in turn, and the newest one with a valid checksum counts.
///
///     slot at 0 and at 32, little-endian:
///       0   8   magic "MPPOSN1\0"
///       8   8   write number, 1, 2, 3, ...
///      16   8   record
///      24   4   CRC-32C of the 24 bytes before it
///      28   4   0
///
/// Threads: one.
class PositionFile {
public:
    /// Creates the file, with the permissions `mode`, if it is missing. Throws std::system_error that names it; also if
    /// another process has it open.
    explicit PositionFile(const std::filesystem::path& path, mode_t mode = core::kFileMode);

    /// The saved number; 0 if there is none.
    [[nodiscard]] std::uint64_t record() const noexcept { return record_; }
    /// Saves the number, which survives a crash of the process when this returns, and one of the machine when the
    /// kernel has written it. Throws std::system_error.
    void save(std::uint64_t record);

private:
    void read();

    std::filesystem::path path_;
    core::Descriptor file_;
    std::uint64_t writes_{0};
    std::uint64_t record_{0};
};

}  // namespace millpond::gateway::kafka
