#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace millpond::python {

inline constexpr std::size_t kFileKindBytes = 8;

/// What a file whose contents begin so is: journal, capture or itch; empty when it is none of them, or when these are
/// fewer than kFileKindBytes.
[[nodiscard]] std::string file_kind(std::span<const std::byte> begin);

struct CaptureLook {
    std::string format;  ///< quotes, itch, miax-tom or bbo28; empty when none of the first datagrams says it.
    std::optional<std::int64_t> first_utc_ns;  ///< When the first datagram was captured.
};

/// Looks at the capture's first datagrams. Throws as net::PcapReader does.
[[nodiscard]] CaptureLook look_at_capture(const std::string& path);

}  // namespace millpond::python
