#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace millpond::journal {

/// How far a reader has read: the entry that it handled last.
struct SavedPosition {
    std::uint64_t epoch{0};   ///< The ring's epoch.
    std::uint64_t ring{0};    ///< Number of the entry in the ring.
    std::uint64_t record{0};  ///< Record of the journal from which on the following entry is found.

    friend bool operator==(const SavedPosition&, const SavedPosition&) = default;
};

/// Replaces the file: whenever the process or the machine dies, it has the old position or the new one. Syncs.
///
///     offset  bytes  little-endian
///      0       8     magic "MPREADP\0"
///      8       4     version, 1
///     12       4     0
///     16       8     epoch
///     24       8     ring
///     32       8     record
///     40       4     CRC-32C of the 40 bytes before it
///     44       4     0
///
/// Throws std::system_error that names the file.
void save_position(const std::filesystem::path& file, const SavedPosition& position);

/// Reads the file; nullopt if there is none. Throws JournalError that names it if it is damaged, is not a position
/// file, or has another version, and std::system_error if it cannot be read.
[[nodiscard]] std::optional<SavedPosition> load_position(const std::filesystem::path& file);

}  // namespace millpond::journal
