#pragma once

#include <cstdint>
#include <span>

namespace millpond::journal {

/// CRC-32C of the words' bytes, low byte first. By the processor's own instruction where it has one.
/// Source: RFC 3720, appendix B.4 (Castagnoli's polynomial, 0x1EDC6F41).
[[nodiscard]] std::uint32_t crc32c(std::span<const std::uint64_t> words) noexcept;

namespace detail {
/// The same by a table, on any processor.
[[nodiscard]] std::uint32_t crc32c_portable(std::span<const std::uint64_t> words) noexcept;
}  // namespace detail

}  // namespace millpond::journal
