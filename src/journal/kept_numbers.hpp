#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace millpond::journal {

/// Numbers of a journal that are stored outside its segments, in the file kLockName: where numbers continue if segments
/// were removed or cut off, and which of them were in use.
///
///     slot at 0 and at 40, little-endian, written in turn; the newest one with a valid checksum counts:
///       0   8   magic "MPJNUM1\0"
///       8   8   write number, 1, 2, 3, ...
///      16   8   ordinal
///      24   8   next_record
///      32   8   CRC-32C of the 32 bytes before it
struct KeptNumbers {
    std::uint64_t ordinal{0};  ///< Ordinal of the newest started segment; 0: unknown.
    std::uint64_t next_record{
        1};  ///< Number after every record that the segments had space for; exact once it is ended.
};

/// Reads the numbers; unknown if neither slot is valid.
[[nodiscard]] KeptNumbers read_numbers(std::span<const std::byte> lock) noexcept;
/// Writes the numbers. They survive the process as soon as it returns. No system call.
void write_numbers(std::span<std::byte> lock, const KeptNumbers& numbers) noexcept;

}  // namespace millpond::journal
