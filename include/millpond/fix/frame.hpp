#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include <millpond/fix/frame_error.hpp>

namespace millpond::fix {

/// Location of a message in a stream, and of its parts. CheckSum is not verified: Parser does so in its pass over the
/// fields.
///
///     8=FIX.4.4|9=63|35=A|34=1|...|10=203|      | is the byte 0x01
///              ^ version_end        ^ trailer_offset
///                    ^ body_offset
struct Frame {
    std::span<const std::byte> bytes;  ///< From `8=` to the delimiter that ends tag 10.
    std::uint32_t version_end{0};      ///< Offset of the delimiter after BeginString.
    std::uint32_t body_offset{0};      ///< Offset of `35=`.
    std::uint32_t trailer_offset{0};   ///< Offset of `10=`.
};

/// Reason why the bytes do not begin with a frame, and how many to drop before the next call (0 if more bytes are
/// needed).
struct BadFrame {
    FrameError error{FrameError::incomplete};
    std::size_t skip{0};
    std::size_t stated_bytes{0};  ///< Size of a message that is too long.
};

/// Default maximum length of a message.
inline constexpr std::size_t kDefaultMaxFrameBytes = std::size_t{64} * 1024;

/// Finds the message at the start of a stream's bytes in O(1). After garbled bytes, the search continues at the next
/// `8=FIX` after the length that the garbled message states.
///
/// max_bytes: longer messages are skipped, so a hostile BodyLength occupies no memory.
/// Source: FIX session layer, "Message format" and "Garbled messages".
[[nodiscard]] std::expected<Frame, BadFrame> next_frame(std::span<const std::byte> bytes,
                                                        std::size_t max_bytes = kDefaultMaxFrameBytes) noexcept;

}  // namespace millpond::fix
