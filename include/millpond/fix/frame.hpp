#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include <millpond/fix/frame_error.hpp>

namespace millpond::fix {

/// Where one message lies in a stream and where its parts begin. CheckSum is not compared yet: Parser does that in the
/// pass that finds the fields.
///
///     8=FIX.4.4|9=63|35=A|34=1|...|10=203|      | is the byte 0x01
///              ^ version_end        ^ trailer_offset
///                    ^ body_offset
struct Frame {
    std::span<const std::byte> bytes;  ///< From `8=` to the delimiter that ends tag 10.
    std::uint32_t version_end{0};      ///< Of the delimiter behind BeginString.
    std::uint32_t body_offset{0};      ///< Of `35=`.
    std::uint32_t trailer_offset{0};   ///< Of `10=`.
};

/// Why there is no frame at the front of the bytes, and how many of them to drop before the next call (0 when more
/// bytes are needed).
struct BadFrame {
    FrameError error{FrameError::incomplete};
    std::size_t skip{0};
};

/// Longest message that is waited for unless the caller says otherwise.
inline constexpr std::size_t kDefaultMaxFrameBytes = std::size_t{64} * 1024;

/// Finds the message at the front of a stream's bytes in a few steps that do not depend on its length. After garbled
/// bytes it continues at the next `8=FIX` behind the length that the garbled message claims.
///
/// max_bytes: a message that states to be longer is garbled, so a hostile BodyLength binds no memory.
/// Source: FIX session layer, "Message format" and "Garbled messages".
[[nodiscard]] std::expected<Frame, BadFrame> next_frame(std::span<const std::byte> bytes,
                                                        std::size_t max_bytes = kDefaultMaxFrameBytes) noexcept;

}  // namespace millpond::fix
