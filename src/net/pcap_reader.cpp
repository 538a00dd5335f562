#include <algorithm>
#include <array>
#include <expected>
#include <system_error>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/net/pcap_reader.hpp>

namespace millpond::net {
namespace {

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kFrameHeader = 16;
constexpr std::uint32_t kLongestFrame = 262'144;  // the longest that capture programs keep

constexpr std::uint32_t kMicroseconds = 0xA1B2C3D4;
constexpr std::uint32_t kNanoseconds = 0xA1B23C4D;
constexpr std::uint32_t kPcapNg = 0x0A0D0D0A;

std::string hex(std::uint32_t value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[(value >> shift) & 0xF];
    return text;
}

bool is_known(std::uint32_t link) {
    constexpr std::array kKnown{LinkType::ethernet, LinkType::raw_ip, LinkType::linux_cooked,
                                LinkType::ipv4,     LinkType::ipv6,   LinkType::linux_cooked_v2};
    return std::ranges::any_of(kKnown, [link](LinkType each) { return std::to_underlying(each) == link; });
}

}  // namespace

PcapReader::PcapReader(const std::string& path) : stream_(path), name_(path) { read_file_header(); }

PcapReader::PcapReader(std::span<const std::byte> file, std::string name) : stream_(file), name_(std::move(name)) {
    read_file_header();
}

std::uint16_t PcapReader::u16(const std::byte* bytes) const noexcept {
    return order_ == std::endian::big ? core::load_be<std::uint16_t>(bytes) : core::load_le<std::uint16_t>(bytes);
}

std::uint32_t PcapReader::u32(const std::byte* bytes) const noexcept {
    return order_ == std::endian::big ? core::load_be<std::uint32_t>(bytes) : core::load_le<std::uint32_t>(bytes);
}

void PcapReader::read_file_header() {
    const auto refuse = [this](const std::string& what) { throw FileFormatError("'" + name_ + "': " + what); };
    const auto header = stream_.peek(kFileHeader);
    if (stream_.read_error() != 0)
        throw std::system_error(stream_.read_error(), std::generic_category(), "cannot read '" + name_ + "'");
    if (header.size() < kFileHeader && !stream_.damage().empty()) refuse(stream_.damage());
    if (header.size() < sizeof(std::uint32_t))
        refuse("not a pcap file: it has " + std::to_string(header.size()) + " bytes and the file header needs 24");
    const auto little = core::load_le<std::uint32_t>(header.data());
    const auto big = core::load_be<std::uint32_t>(header.data());
    pcapng_ = big == kPcapNg;
    if (pcapng_) return;
    for (const auto magic : {kMicroseconds, kNanoseconds}) {
        if (little != magic && big != magic) continue;
        order_ = little == magic ? std::endian::little : std::endian::big;
        nanos_per_fraction_ = magic == kMicroseconds ? 1000 : 1;
        if (header.size() < kFileHeader)
            refuse("the file ends after " + std::to_string(header.size()) + " bytes of the file header, it needs 24");
        const auto link = u32(&header[20]) & 0xFFFF;  // the upper bits describe frame check sequences
        if (!is_known(link))
            refuse("link type " + std::to_string(link) +
                   " is not known here, only 1 (Ethernet), 101, 228, 229 (raw IP), 113 and 276 (Linux cooked)");
        link_ = static_cast<std::uint16_t>(link);
        stream_.take(kFileHeader);
        return;
    }
    refuse("not a pcap file: it begins with " + hex(big));
}

bool PcapReader::is_capture(std::span<const std::byte, 4> begin) noexcept {
    const auto little = core::load_le<std::uint32_t>(begin.data());
    const auto big = core::load_be<std::uint32_t>(begin.data());
    constexpr std::array kMagics{kMicroseconds, kNanoseconds, kPcapNg};
    return std::ranges::any_of(kMagics, [&](std::uint32_t magic) { return magic == little || magic == big; });
}

bool PcapReader::next(CapturedDatagram& out) {
    Frame frame;
    while (!over_) {
        stream_.take(std::exchange(shown_, 0));
        if (!(pcapng_ ? next_block(frame) : next_record(frame))) return false;
        ++counts_.frames;
        // An interface of a pcapng file may be of any kind, a USB bus for example.
        const auto packet =
            is_known(frame.link) ? find_udp(LinkType{frame.link}, frame.bytes) : std::unexpected{PacketSkip::not_ip};
        if (!packet) {
            count_skip(packet.error(), frame.bytes.size() >= frame.original);
            continue;
        }
        ++counts_.datagrams;
        out = {frame.utc_ns, packet->source, packet->destination, packet->payload};
        return true;
    }
    return false;
}

bool PcapReader::next_record(Frame& out) {
    auto bytes = stream_.peek(kFrameHeader);
    if (ends_here(bytes)) return false;
    if (bytes.size() < kFrameHeader)
        return fail_short("the file ends after " + std::to_string(bytes.size()) + " of the frame header's 16 bytes");
    const auto captured = u32(&bytes[8]);
    const auto original = u32(&bytes[12]);
    const std::int64_t seconds = u32(bytes.data());
    const std::int64_t fraction = u32(&bytes[4]);
    if (captured > kLongestFrame)
        return fail("the frame claims " + std::to_string(captured) + " bytes, the most is " +
                    std::to_string(kLongestFrame));
    bytes = stream_.peek(kFrameHeader + captured);
    if (bytes.size() < kFrameHeader + captured)
        return fail_short("the file ends after " + std::to_string(bytes.size() - kFrameHeader) + " of the frame's " +
                          std::to_string(captured) + " bytes");
    shown_ = kFrameHeader + captured;
    out = {seconds * 1'000'000'000 + fraction * nanos_per_fraction_, link_, original,
           bytes.subspan(kFrameHeader, captured)};
    return true;
}

void PcapReader::count_skip(PacketSkip why, bool whole) noexcept {
    switch (why) {
        case PacketSkip::not_ip: ++counts_.not_ip; return;
        case PacketSkip::not_udp: ++counts_.not_udp; return;
        case PacketSkip::fragment: ++counts_.fragments; return;
        case PacketSkip::malformed: ++counts_.malformed; return;
        // A frame that was captured completely and still ends too early is malformed.
        case PacketSkip::cut: ++(whole ? counts_.malformed : counts_.cut); return;
    }
}

bool PcapReader::ends_here(std::span<const std::byte> shown) {
    if (stream_.read_error() != 0) {
        static_cast<void>(fail("cannot be read: " + std::generic_category().message(stream_.read_error())));
    } else if (shown.empty() && !stream_.damage().empty()) {
        static_cast<void>(fail(stream_.damage()));
    }
    return shown.empty() || over_;
}

bool PcapReader::fail_short(const std::string& what) {
    return fail(stream_.damage().empty() ? what : stream_.damage());
}

bool PcapReader::note(const std::string& what) {
    if (!error_.empty()) return false;
    error_ = "'" + name_ + "', frame " + std::to_string(counts_.frames + 1) + " at byte " +
             std::to_string(stream_.offset()) + ": " + what;
    return false;
}

bool PcapReader::fail(const std::string& what) {
    over_ = true;
    return note(what);
}

}  // namespace millpond::net
