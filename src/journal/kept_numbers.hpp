#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace millpond::journal {

/// What a journal remembers of its newest segment beside the segments, in the file kLockName: where numbers continue
/// when segments were removed or cut off, and which of them were in use.
///
///     slot at 0 and at 40, little-endian, written in turn; the newest one with a valid checksum counts:
///       0   8   magic "MPJNUM1\0"
///       8   8   write number, 1, 2, 3, ...
///      16   8   ordinal
///      24   8   next_record
///      32   8   CRC-32C of the 32 bytes before it
struct KeptNumbers {
    std::uint64_t ordinal{0};      ///< Of the newest segment that was started; 0: not known.
    std::uint64_t next_record{1};  ///< Behind every record that the segments had room for; exact once it is ended.
};

/// Nothing known where neither slot is valid.
[[nodiscard]] KeptNumbers read_numbers(std::span<const std::byte> lock) noexcept;
/// Survives the process as soon as it returns. No system call.
void write_numbers(std::span<std::byte> lock, const KeptNumbers& numbers) noexcept;

}  // namespace millpond::journal
