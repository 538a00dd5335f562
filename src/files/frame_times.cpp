#include <millpond/files/detail/frame_times.hpp>

#include <algorithm>
#include <array>
#include <limits>

#include <millpond/core/endian.hpp>

namespace millpond::files::detail {
namespace {

using Bytes = std::span<const std::byte>;
__extension__ using Wide = __int128;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIpv4 = 20;

std::uint8_t u8(Bytes bytes, std::size_t at) { return std::to_integer<std::uint8_t>(bytes[at]); }
std::uint16_t u16(Bytes bytes, std::size_t at) { return core::load_be<std::uint16_t>(&bytes[at]); }
std::uint32_t u32(Bytes bytes, std::size_t at) { return core::load_be<std::uint32_t>(&bytes[at]); }
std::uint64_t u64(Bytes bytes, std::size_t at) { return core::load_be<std::uint64_t>(&bytes[at]); }

constexpr std::array<std::uint32_t, 256> make_crc_table() {
    constexpr std::uint32_t kReversedPolynomial = 0xEDB88320;
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        auto crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? crc >> 1U ^ kReversedPolynomial : crc >> 1U;
        table[byte] = crc;
    }
    return table;
}

/// Frame check sequence of Ethernet. Source: IEEE 802.3, 3.2.9.
std::uint32_t fcs_of(Bytes frame) {
    static constexpr auto kTable = make_crc_table();
    std::uint32_t crc = 0xFFFFFFFF;
    for (const auto byte : frame) crc = crc >> 8U ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
    return ~crc;
}

/// Whether a trailer's seconds are of a time near the capture's, or the original FCS before the trailer matches.
/// fcs_at: where it is in the frame.
bool is_valid(std::uint32_t seconds, std::int64_t captured_ns, Bytes frame, std::size_t fcs_at) {
    constexpr std::int64_t kNear = 30LL * 24 * 3'600;
    const auto apart = std::int64_t{seconds} - captured_ns / kSecondNs;
    if (apart > -kNear && apart < kNear) return true;
    return seconds != 0 && fcs_of(frame.first(fcs_at)) == core::load_le<std::uint32_t>(&frame[fcs_at]);
}

/// Whether a calculated time is from 1970 on and fits in 64 bits. A capture's times may be any of those, so that
/// differences of two may not.
bool is_time(Wide utc_ns) { return utc_ns >= 0 && utc_ns <= std::numeric_limits<std::int64_t>::max(); }

/// What Arista's keyframes and those of Exablaze that are compatible with them have after the IPv4 header.
///
///      0 u64 counter   8 u64 UTC, ns   16 u64 last synchronization   [24 u64 skew over   32 u64 skew under]
///     then u64 time stamp, u64 drops, u16 device, u16 egress port, u8 kind, u8 reserved
constexpr std::size_t kAristaKeyframe = 46;
constexpr std::size_t kAristaSkewKeyframe = 62;
/// Exablaze's own keyframe: u32 magic, u8 version, 3 reserved, u64 UTC, ns, u64 counter, u64 frequency, u64 last
/// synchronization.
constexpr std::size_t kExablazeKeyframe = 40;

constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeExperimental = 0x88B5;
constexpr std::uint8_t kProtocolExperimental = 253;

bool is_exablaze(Bytes body) {
    constexpr std::uint32_t kMagic = 0x45584B46;  // "EXKF"
    constexpr std::uint32_t kFirstVersion = 0x01000000;
    if (body.size() < kExablazeKeyframe) return false;
    const auto magic = u32(body, 0);
    const auto version = u8(body, 4);
    return (magic == kMagic && version == 1) || (magic == kFirstVersion && version == 0);
}

/// The keyframe's own bytes; empty if the frame is none.
Bytes keyframe_in(Bytes frame) {
    if (frame.size() < kEthernet) return {};
    const auto body = frame.subspan(kEthernet);
    if (u16(frame, 12) == kTypeExperimental) return is_exablaze(body) ? body.first(kExablazeKeyframe) : Bytes{};
    if (u16(frame, 12) != kTypeIpv4 || body.size() < kIpv4 || u8(body, 0) != 0x45 ||
        u8(body, 9) != kProtocolExperimental)
        return {};
    const std::size_t total = u16(body, 2);
    if (total < kIpv4 || total > body.size()) return {};
    const auto payload = body.subspan(kIpv4, total - kIpv4);
    if (payload.size() == kAristaKeyframe || payload.size() == kAristaSkewKeyframe) return payload;
    return payload.size() == kExablazeKeyframe && is_exablaze(payload) ? payload : Bytes{};
}

}  // namespace

bool is_keyframe(Bytes frame) noexcept { return !keyframe_in(frame).empty(); }

void FrameTimes::on_keyframe(const CapturedFrame& frame) noexcept {
    const auto bytes = keyframe_in(frame.bytes);
    if (kind_ != Timestamps::keyframes || bytes.empty()) return;
    Keyframe next{.captured_ns = frame.utc_ns};
    std::uint64_t utc_ns = 0;
    if (bytes.size() == kExablazeKeyframe) {
        utc_ns = u64(bytes, 8);
        next.counter = u64(bytes, 16);
        next.frequency = u64(bytes, 24);
    } else {
        constexpr std::uint64_t kFrequency = 350'000'000;
        next.counter = u64(bytes, 0);
        utc_ns = u64(bytes, 8);
        next.frequency = kFrequency;
        next.arista = true;
        next.device = u16(bytes, bytes.size() - 6);
        if (bytes.size() == kAristaSkewKeyframe) {
            next.skew_over = u64(bytes, 24);
            next.skew_under = u64(bytes, 32);
        }
    }
    constexpr std::uint64_t kMaxUtcNs = std::numeric_limits<std::int64_t>::max() / 2;
    constexpr std::uint64_t kMaxSkew = std::uint64_t{1} << 40U;
    constexpr std::uint64_t kMinFrequency = 1'000'000;
    constexpr std::uint64_t kMaxFrequency = 100'000'000'000;
    if (utc_ns > kMaxUtcNs || next.frequency < kMinFrequency || next.frequency > kMaxFrequency ||
        next.skew_over > kMaxSkew || next.skew_under > kMaxSkew || next.skew_over / 2 > next.skew_under ||
        next.skew_under / 2 > next.skew_over || next.skew_over == 0 || next.skew_under == 0)
        return;
    next.utc_ns = static_cast<std::int64_t>(utc_ns);
    next.of_several = keyframe_.of_several || (keyframe_.frequency != 0 && keyframe_.device != next.device);
    keyframe_ = next;
}

std::optional<FrameTimes::Time> FrameTimes::read(const CapturedFrame& frame, std::size_t packet_end) const noexcept {
    if (frame.link != static_cast<std::uint16_t>(net::LinkType::ethernet)) return std::nullopt;
    if (kind_ == Timestamps::arista7280) return arista7280(frame);
    if (frame.bytes.size() < frame.original || frame.bytes.size() < kEthernet + fcs_) return std::nullopt;
    const auto bytes = frame.bytes.first(frame.bytes.size() - fcs_);
    const auto end = std::max(packet_end, kEthernet);
    switch (kind_) {
        case Timestamps::metamako: return metamako(bytes, end, frame.utc_ns);
        case Timestamps::nexus3550: return nexus3550(bytes, end, frame.utc_ns);
        case Timestamps::keyframes: return counter(bytes, end, frame.utc_ns);
        case Timestamps::arista7280:
        case Timestamps::automatic:
        case Timestamps::capture: break;
    }
    return std::nullopt;
}

std::optional<FrameTimes::Time> FrameTimes::arista7280(const CapturedFrame& frame) noexcept {
    constexpr std::uint16_t kType = 0xD28B;
    constexpr std::size_t kSecondsAt = 18;
    constexpr std::size_t kLongest = kSecondsAt + 8;
    constexpr std::uint8_t k64Bits = 1;
    constexpr std::uint8_t k48Bits = 2;
    constexpr std::int64_t kRange = 65'536;  // of 16 bits of seconds
    constexpr std::int64_t kTaiAhead = 37 * kSecondNs;
    constexpr std::int64_t kNear = 30LL * 24 * 3'600 * kSecondNs;
    const auto bytes = frame.bytes;
    if (bytes.size() < kLongest || u16(bytes, 12) != kType || u16(bytes, 14) != 1) return std::nullopt;
    const bool is_tai = u8(bytes, 16) == 0;
    const auto format = u8(bytes, 17) >> 4U;
    if (format != k64Bits && format != k48Bits) return std::nullopt;
    std::int64_t seconds = u32(bytes, kSecondsAt);
    const std::int64_t nanos = u32(bytes, kSecondsAt + (format == k64Bits ? 4 : 2));
    if (format == k48Bits) {
        const auto captured = frame.utc_ns / kSecondNs;
        seconds = captured - captured % kRange + u16(bytes, kSecondsAt);
        if (seconds - captured > kRange / 2) seconds -= kRange;
        if (captured - seconds > kRange / 2) seconds += kRange;
    }
    if (nanos >= kSecondNs) return std::nullopt;
    const auto apart = [&](Wide utc_ns) {
        const auto difference = utc_ns - frame.utc_ns;
        return difference < 0 ? -difference : difference;
    };
    auto utc_ns = Wide{seconds} * kSecondNs + nanos;
    if (is_tai && apart(utc_ns - kTaiAhead) < apart(utc_ns)) utc_ns -= kTaiAhead;
    if (!is_time(utc_ns) || apart(utc_ns) > kNear) return std::nullopt;
    return Time{static_cast<std::int64_t>(utc_ns), false};
}

std::optional<FrameTimes::Time> FrameTimes::metamako(Bytes frame, std::size_t packet_end,
                                                     std::int64_t captured_ns) noexcept {
    constexpr std::size_t kFixed = 12;
    constexpr std::size_t kFcs = 4;
    constexpr std::uint8_t kHasExtensions = 0x02;
    constexpr std::uint8_t kDegraded = 0x10;
    if (frame.size() < packet_end + kFixed + kFcs) return std::nullopt;
    auto at = frame.size() - kFixed;
    const auto seconds = u32(frame, at);
    const auto nanos = u32(frame, at + 4);
    const auto flags = u8(frame, at + 8);
    if (nanos >= kSecondNs) return std::nullopt;
    // Extensions are read backwards: each ends with a word that has its length in words and whether it is the last.
    for (bool last = (flags & kHasExtensions) == 0; !last;) {
        constexpr std::uint32_t kLongTag = 0x1F;
        if (at < packet_end + 4 + kFcs) return std::nullopt;
        const auto word = u32(frame, at - 4);
        const std::size_t words = (word & kLongTag) == kLongTag ? (word >> 6U & 0x3FFU) + 1 : word >> 6U & 0x3U;
        if (at - packet_end < (words + 1) * 4 + kFcs) return std::nullopt;
        at -= (words + 1) * 4;
        last = (word >> 5U & 1U) != 0;
    }
    if (!is_valid(seconds, captured_ns, frame, at - kFcs)) return std::nullopt;
    return Time{std::int64_t{seconds} * kSecondNs + nanos, (flags & kDegraded) != 0};
}

std::optional<FrameTimes::Time> FrameTimes::nexus3550(Bytes frame, std::size_t packet_end,
                                                      std::int64_t captured_ns) noexcept {
    constexpr std::size_t kTrailer = 16;
    if (frame.size() < packet_end + kTrailer) return std::nullopt;
    const auto at = frame.size() - kTrailer;
    const auto seconds = u32(frame, at + 6);
    const auto fraction = Wide{u32(frame, at + 10)} << 8U | u8(frame, at + 14);
    if (u8(frame, at + 15) != 0 || !is_valid(seconds, captured_ns, frame, at)) return std::nullopt;
    constexpr unsigned kFractionBits = 40;
    return Time{std::int64_t{seconds} * kSecondNs + static_cast<std::int64_t>(fraction * kSecondNs >> kFractionBits),
                false};
}

std::optional<FrameTimes::Time> FrameTimes::counter(Bytes frame, std::size_t packet_end,
                                                    std::int64_t captured_ns) const noexcept {
    if (keyframe_.frequency == 0 || keyframe_.of_several || frame.size() < packet_end + 4) return std::nullopt;
    const auto word = u32(frame, frame.size() - 4);
    const unsigned bits = keyframe_.arista ? 31 : 32;
    const std::uint64_t ticks = keyframe_.arista ? (word & 0xFFFFFF00U) >> 1U | (word & 0x7FU) : word;
    const auto range = std::uint64_t{1} << bits;
    // A frame may have passed the switch shortly before the keyframe: the difference is signed.
    auto elapsed = static_cast<std::int64_t>((ticks - keyframe_.counter) & (range - 1));
    if (elapsed >= static_cast<std::int64_t>(range / 2)) elapsed -= static_cast<std::int64_t>(range);
    const auto elapsed_ns =
        static_cast<std::int64_t>(Wide{elapsed} * kSecondNs * static_cast<Wide>(keyframe_.skew_over) /
                                  (Wide{keyframe_.frequency} * static_cast<Wide>(keyframe_.skew_under)));
    constexpr std::int64_t kTolerance = 100'000'000;
    const auto utc_ns = Wide{keyframe_.utc_ns} + elapsed_ns;
    const auto since_keyframe = Wide{captured_ns} - keyframe_.captured_ns - elapsed_ns;
    const auto is_small = [](Wide nanos) { return nanos >= -kTolerance && nanos <= kTolerance; };
    if (!is_time(utc_ns) || (!is_small(since_keyframe) && !is_small(captured_ns - utc_ns))) return std::nullopt;
    return Time{static_cast<std::int64_t>(utc_ns), false};
}

}  // namespace millpond::files::detail
