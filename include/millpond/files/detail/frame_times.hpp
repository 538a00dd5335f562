#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <millpond/files/timestamps.hpp>
#include <millpond/net/udp_packet.hpp>

namespace millpond::files::detail {

/// A frame of a capture file.
struct CapturedFrame {
    std::int64_t utc_ns{0};  ///< Time of capture.
    std::uint16_t link{0};
    std::uint32_t interface{0};
    std::uint32_t original{0};  ///< Length of the frame on the wire.
    std::span<const std::byte> bytes{};
};

/// Whether an Ethernet frame is a keyframe, which only explains the counters in other frames: EtherType 0x88B5 with
/// Exablaze's magic number, or IPv4 protocol 253 with one of the keyframes' lengths.
[[nodiscard]] bool is_keyframe(std::span<const std::byte> frame) noexcept;

/// Reads the times that a switch has added to Ethernet frames.
///
///     Metamako    ... original FCS u32 | extensions | seconds u32 | nanoseconds u32 | flags u8 | device u16 | port u8
///     Nexus 3550  ... original FCS u32 | device u8 | port u8 | seconds u32 | fraction u40 | reserved u8
///     keyframes   ... counter u32
///     Arista 7280 at the EtherType: 0xD28B u16 | 1 u16 | time scale u8 | format u8 | seconds u32 (or u16) |
///                 nanoseconds u32 | the frame's own EtherType ...
///
/// A frame check sequence follows if the capture has it. Integers are big-endian; the FCS is little-endian.
///
/// Arista's time scale TAI is 37 s ahead of UTC; switches that are not set up for it send UTC under that name, so that
/// the nearer one to the time of capture is taken. Seconds of 16 bits are completed by the time of capture.
///
/// A trailer's time is valid if it is within 30 days of the time of capture, or if its original FCS matches the frame.
/// A counter is valid if its time is within 0.1 s of the time of capture, or if it has advanced since the latest
/// keyframe by as much as the time of capture has, to 0.1 s.
///
/// Threads: one.
class FrameTimes {
public:
    /// Reads nothing: Timestamps::capture.
    FrameTimes() = default;
    /// kind: neither automatic nor capture. fcs: bytes of the frame check sequence at the end of each frame, 0 or 4.
    FrameTimes(Timestamps kind, std::size_t fcs) noexcept : kind_(kind), fcs_(fcs) {}

    [[nodiscard]] Timestamps kind() const noexcept { return kind_; }
    [[nodiscard]] std::size_t fcs() const noexcept { return fcs_; }

    /// Handles a keyframe; ignored unless the counters are used.
    void on_keyframe(const CapturedFrame& frame) noexcept;

    struct Time {
        std::int64_t utc_ns{0};
        bool degraded{false};  ///< The switch's clock was not synchronized.
    };
    /// The time that the switch added to a frame which is no keyframe; nullopt if it has none or was cut.
    /// packet_end: the frame's bytes up to the end of its IP packet, 0 if it has none.
    [[nodiscard]] std::optional<Time> read(const CapturedFrame& frame, std::size_t packet_end) const noexcept;

private:
    struct Keyframe {
        std::int64_t captured_ns{0};
        std::int64_t utc_ns{0};
        std::uint64_t counter{0};
        std::uint64_t frequency{0};  ///< Ticks in a second; 0: no keyframe yet.
        std::uint64_t skew_over{1};  ///< A second of the counter is over/under seconds of UTC.
        std::uint64_t skew_under{1};
        std::uint32_t device{0};
        bool arista{false};      ///< The counter has 31 bits and leaves out bit 7.
        bool of_several{false};  ///< Keyframes of two devices: their frames cannot be told apart.
    };

    [[nodiscard]] static std::optional<Time> arista7280(const CapturedFrame& frame) noexcept;
    [[nodiscard]] static std::optional<Time> metamako(std::span<const std::byte> frame, std::size_t packet_end,
                                                      std::int64_t captured_ns) noexcept;
    [[nodiscard]] static std::optional<Time> nexus3550(std::span<const std::byte> frame, std::size_t packet_end,
                                                       std::int64_t captured_ns) noexcept;
    [[nodiscard]] std::optional<Time> counter(std::span<const std::byte> frame, std::size_t packet_end,
                                              std::int64_t captured_ns) const noexcept;

    Timestamps kind_{Timestamps::capture};
    std::size_t fcs_{0};
    Keyframe keyframe_;
};

}  // namespace millpond::files::detail
