// The blocks of a pcapng file: u32 type, u32 total length, the body, the total length again. Integers are in the byte
// order of the section's header; blocks are padded to 4 bytes.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include <millpond/core/endian.hpp>
#include <millpond/files/pcap_reader.hpp>

namespace millpond::files {
namespace {

constexpr std::uint32_t kSection = 0x0A0D0D0A;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kOldPacket = 2;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kPacket = 6;

constexpr std::size_t kBlockHeader = 8;
constexpr std::size_t kBlockFrame = 12;  // header, and the length after the body
constexpr std::size_t kPacketHeader = 20;
constexpr std::uint32_t kMaxPcapngFrame = 262'144;
constexpr std::size_t kMaxInterfaces = 65'536;

constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kResolution = 9;
constexpr std::uint16_t kOffset = 14;

/// Units of time in a second; 0 if the resolution is too fine for 64 bits.
std::uint64_t units_per_second(std::uint8_t resolution) {
    constexpr std::uint8_t kBinary = 0x80;
    constexpr unsigned kMaxBits = 63;
    constexpr unsigned kMaxDigits = 19;
    const unsigned power = resolution & 0x7FU;
    if ((resolution & kBinary) != 0) return power > kMaxBits ? 0 : std::uint64_t{1} << power;
    if (power > kMaxDigits) return 0;
    std::uint64_t units = 1;
    for (unsigned i = 0; i < power; ++i) units *= 10;
    return units;
}

/// Converts a time to nanoseconds; nullopt if it does not fit.
std::optional<std::int64_t> nanos(std::uint64_t time, std::uint64_t units, std::int64_t offset_s) {
    __extension__ using Wide = __int128;
    constexpr Wide kSecond = 1'000'000'000;
    const auto result = (static_cast<Wide>(time / units) + offset_s) * kSecond + time % units * kSecond / units;
    if (result < 0 || result > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    return static_cast<std::int64_t>(result);
}

}  // namespace

bool PcapReader::next_block(Frame& out) {
    for (;;) {
        const auto bytes = stream_.peek(kBlockFrame);
        if (ends_here(bytes)) return false;
        if (bytes.size() < kBlockFrame)
            return fail_short("the file ends after " + std::to_string(bytes.size()) + " of a block's least 12 bytes");
        if (core::load_le<std::uint32_t>(bytes.data()) == kSection) {
            if (!begin_section(bytes)) return false;
        }
        const auto type = u32(bytes.data());
        const auto total = u32(&bytes[4]);
        if (total < kBlockFrame || total % 4 != 0)
            return fail("the block claims " + std::to_string(total) + " bytes, it must be a multiple of 4 from 12 on");
        const bool packet = type == kPacket || type == kSimplePacket || type == kOldPacket;
        if (!packet && type != kInterface) {
            if (!skip(total)) return false;
            continue;
        }
        if (total > detail::ByteStream::kMaxPeek)
            return fail("the block claims " + std::to_string(total) + " bytes, the maximum is " +
                        std::to_string(detail::ByteStream::kMaxPeek));
        const auto block = stream_.peek(total);
        if (block.size() < total)
            return fail_short("the file ends after " + std::to_string(block.size()) + " of the block's " +
                              std::to_string(total) + " bytes");
        const auto second = u32(&block[total - 4]);
        if (second != total) {
            const bool follows = block_follows(total);
            note("the block's two lengths are " + std::to_string(total) + " and " + std::to_string(second));
            if (!follows) return false;
        }
        const auto body = stream_.peek(total).subspan(kBlockHeader, total - kBlockFrame);
        if (!packet) {
            if (!add_interface(body)) return false;
        } else if (second == total && read_packet(type, body, out)) {
            shown_ = total;
            return true;
        } else {
            ++counts_.frames;
            ++counts_.malformed;
        }
        stream_.consume(total);
    }
}

/// Whether the given number of bytes is followed by a known block, or by the end of the file.
bool PcapReader::block_follows(std::size_t bytes) {
    if (bytes + sizeof(std::uint32_t) > detail::ByteStream::kMaxPeek) return false;
    const auto shown = stream_.peek(bytes + sizeof(std::uint32_t));
    if (shown.size() == bytes) return true;
    constexpr std::array kKnown{kSection, kInterface, kOldPacket, kSimplePacket, kPacket};
    return shown.size() >= bytes + sizeof(std::uint32_t) &&
           std::ranges::find(kKnown, u32(&shown[bytes])) != kKnown.end();
}

/// Handles a section header: it sets the byte order and drops the interfaces of the previous section.
bool PcapReader::begin_section(std::span<const std::byte> block) {
    constexpr std::uint32_t kOrderMagic = 0x1A2B3C4D;
    const auto* const magic = &block[kBlockHeader];
    if (core::load_le<std::uint32_t>(magic) == kOrderMagic) {
        order_ = std::endian::little;
    } else if (core::load_be<std::uint32_t>(magic) == kOrderMagic) {
        order_ = std::endian::big;
    } else {
        return fail("the section header has no valid byte order mark");
    }
    interfaces_.clear();
    return true;
}

/// Adds an interface. An unreadable one counts too, so that the others keep their numbers; its frames are skipped.
bool PcapReader::add_interface(std::span<const std::byte> body) {
    constexpr std::size_t kFixed = 8;
    constexpr std::size_t kOptionHeader = 4;
    if (interfaces_.size() == kMaxInterfaces)
        return fail("more than " + std::to_string(kMaxInterfaces) + " interfaces in a section");
    auto& added = interfaces_.emplace_back();
    if (body.size() < kFixed) {
        note("the interface's block has " + std::to_string(body.size()) + " bytes, it needs 8");
        return true;
    }
    added.link = u16(body.data());
    for (auto options = body.subspan(kFixed); options.size() >= kOptionHeader;) {
        const auto code = u16(options.data());
        const std::size_t length = u16(&options[2]);
        if (code == kEndOfOptions || kOptionHeader + length > options.size()) break;
        const auto value = options.subspan(kOptionHeader, length);
        if (code == kResolution && length == 1) {
            added.units_per_second = units_per_second(static_cast<std::uint8_t>(value[0]));
            if (added.units_per_second == 0) {
                note("the interface's time resolution is " + std::to_string(static_cast<unsigned>(value[0])) +
                     ", finer than 64 bits can count");
                added = {};
                return true;
            }
        } else if (code == kOffset && length == sizeof(std::int64_t)) {
            added.offset_s =
                static_cast<std::int64_t>(order_ == std::endian::big ? core::load_be<std::uint64_t>(value.data())
                                                                     : core::load_le<std::uint64_t>(value.data()));
        }
        options = options.subspan(std::min(options.size(), kOptionHeader + (length + 3) / 4 * 4));
    }
    return true;
}

bool PcapReader::read_packet(std::uint32_t type, std::span<const std::byte> body, Frame& out) {
    const std::size_t fixed = type == kSimplePacket ? sizeof(std::uint32_t) : kPacketHeader;
    if (body.size() < fixed)
        return note("the packet's block has " + std::to_string(body.size()) + " bytes, it needs " +
                    std::to_string(fixed));
    std::uint32_t interface = 0;
    std::optional<std::uint64_t> time;
    std::uint32_t original = 0;
    std::uint64_t captured = 0;
    if (type == kSimplePacket) {  // without a time: uses that of the previous packet
        original = u32(body.data());
        captured = std::min<std::uint64_t>(original, body.size() - fixed);
    } else {
        interface = type == kPacket ? u32(body.data()) : u16(body.data());
        time = std::uint64_t{u32(&body[4])} << 32U | u32(&body[8]);
        captured = u32(&body[12]);
        original = u32(&body[16]);
    }
    if (captured > std::min<std::uint64_t>(kMaxPcapngFrame, body.size() - fixed))
        return note("the frame claims " + std::to_string(captured) + " bytes, the maximum is " +
                    std::to_string(std::min<std::uint64_t>(kMaxPcapngFrame, body.size() - fixed)));
    if (interface >= interfaces_.size())
        return note("the frame is of interface " + std::to_string(interface) + ", the section has " +
                    std::to_string(interfaces_.size()));
    const auto& from = interfaces_[interface];
    if (time) {
        const auto utc_ns = nanos(*time, from.units_per_second, from.offset_s);
        if (!utc_ns) return note("the frame's time is outside of 1970 to 2262");
        latest_utc_ns_ = *utc_ns;
    }
    out = {.utc_ns = latest_utc_ns_,
           .link = from.link,
           .interface = interface,
           .original = original,
           .bytes = body.subspan(fixed, captured)};
    return true;
}

/// Skips a block of another kind, which may have any length.
bool PcapReader::skip(std::size_t bytes) {
    while (bytes != 0) {
        const auto part = std::min(bytes, detail::ByteStream::kMaxPeek);
        const auto shown = stream_.peek(part);
        if (shown.size() < part) return fail_short("the file ends within the block");
        stream_.consume(part);
        bytes -= part;
    }
    return true;
}

}  // namespace millpond::files
