#include <algorithm>
#include <array>
#include <expected>
#include <system_error>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/files/file_format_error.hpp>
#include <millpond/files/pcap_reader.hpp>

namespace millpond::files {
namespace {

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kFrameHeader = 16;
constexpr std::size_t kModifiedFrameHeader = 24;  // also the interface's index, the protocol and the packet's kind
constexpr std::uint32_t kMaxFrame = 262'144;      // the most bytes that capture programs store of a frame

constexpr std::uint32_t kMicroseconds = 0xA1B2C3D4;
constexpr std::uint32_t kNanoseconds = 0xA1B23C4D;
constexpr std::uint32_t kModified = 0xA1B2CD34;  // microseconds
constexpr std::uint32_t kPcapNg = 0x0A0D0D0A;

constexpr std::array kSwitches{Timestamps::metamako, Timestamps::nexus3550, Timestamps::keyframes,
                               Timestamps::arista7280};

std::string hex(std::uint32_t value) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[(value >> shift) & 0xF];
    return text;
}

bool is_known(std::uint32_t link) {
    constexpr std::array kKnown{net::LinkType::ethernet, net::LinkType::raw_ip, net::LinkType::linux_cooked,
                                net::LinkType::ipv4,     net::LinkType::ipv6,   net::LinkType::linux_cooked_v2};
    return std::ranges::any_of(kKnown, [link](net::LinkType each) { return std::to_underlying(each) == link; });
}

bool is_keyframe(const detail::CapturedFrame& frame, net::PacketSkip why) {
    const bool other = why == net::PacketSkip::not_ip || why == net::PacketSkip::not_udp;
    return other && frame.link == std::to_underlying(net::LinkType::ethernet) && detail::is_keyframe(frame.bytes);
}

}  // namespace

PcapReader::PcapReader(const std::string& path, Timestamps timestamps) : stream_(path), name_(path) {
    read_file_header();
    if (timestamps == Timestamps::capture) return;
    choose_times(PcapReader{path, Timestamps::capture}.take_sample(timestamps == Timestamps::keyframes), timestamps);
}

PcapReader::PcapReader(std::span<const std::byte> file, std::string name, Timestamps timestamps)
    : stream_(file), name_(std::move(name)) {
    read_file_header();
    if (timestamps == Timestamps::capture) return;
    choose_times(PcapReader{file, name_, Timestamps::capture}.take_sample(timestamps == Timestamps::keyframes),
                 timestamps);
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
    for (const auto magic : {kMicroseconds, kNanoseconds, kModified}) {
        if (little != magic && big != magic) continue;
        order_ = little == magic ? std::endian::little : std::endian::big;
        nanos_per_fraction_ = magic == kNanoseconds ? 1 : 1000;
        frame_header_ = magic == kModified ? kModifiedFrameHeader : kFrameHeader;
        if (header.size() < kFileHeader)
            refuse("the file ends after " + std::to_string(header.size()) + " bytes of the file header, it needs 24");
        const auto link = u32(&header[20]) & 0xFFFF;  // the upper bits describe frame check sequences
        if (!is_known(link))
            refuse("link type " + std::to_string(link) +
                   " is not known here, only 1 (Ethernet), 101, 228, 229 (raw IP), 113 and 276 (Linux cooked)");
        link_ = static_cast<std::uint16_t>(link);
        stream_.consume(kFileHeader);
        return;
    }
    refuse("not a pcap file: it begins with " + hex(big));
}

bool PcapReader::is_capture(std::span<const std::byte, 4> begin) noexcept {
    const auto little = core::load_le<std::uint32_t>(begin.data());
    const auto big = core::load_be<std::uint32_t>(begin.data());
    constexpr std::array kMagics{kMicroseconds, kNanoseconds, kModified, kPcapNg};
    return std::ranges::any_of(kMagics, [&](std::uint32_t magic) { return magic == little || magic == big; });
}

bool PcapReader::next(CapturedDatagram& out) {
    Frame frame;
    while (next_frame(frame)) {
        ++counts_.frames;
        const auto packet = find_datagram(frame);
        if (!packet) {
            if (is_keyframe(frame, packet.error())) {
                times_.on_keyframe(frame);
                ++counts_.keyframes;
            } else {
                count_skip(packet.error(), frame.bytes.size() >= frame.original);
            }
            continue;
        }
        ++counts_.datagrams;
        out = {time_of(frame), packet->source, packet->destination, packet->payload, frame.interface};
        return true;
    }
    // The first end of the file or damage; the counts are complete from now on.
    fragments_.drop_all();
    counts_.incomplete = fragments_.incomplete();
    return false;
}

std::expected<net::UdpPacket, net::PacketSkip> PcapReader::find_datagram(const Frame& frame) {
    packet_end_ = 0;
    // An interface of a pcapng file may be of any kind, a USB bus for example.
    if (!is_known(frame.link)) return std::unexpected{net::PacketSkip::not_ip};
    net::Encapsulations opened;
    auto packet = net::find_inner(net::LinkType{frame.link}, frame.bytes, opened);
    packet_end_ = opened.packet_end;
    if (packet && packet->is_fragment()) packet = join(*packet, frame, opened);
    count_opened(opened);
    if (!packet) return std::unexpected{packet.error()};
    return net::find_udp(*packet);
}

std::expected<net::IpPacket, net::PacketSkip> PcapReader::join(net::IpPacket packet, const Frame& frame,
                                                               net::Encapsulations& opened) {
    // A joined packet may hold a tunnel whose packet is a fragment again.
    for (int depth = 0; packet.is_fragment(); ++depth) {
        constexpr std::size_t kUnit = 8;  // of all fragments but the last
        if (packet.length == 0 || (packet.more && packet.length % kUnit != 0) || depth == net::kMaxEncapsulations)
            return std::unexpected{net::PacketSkip::malformed};
        if (packet.payload.size() < packet.length) return std::unexpected{net::PacketSkip::cut};
        const auto whole = fragments_.add(packet, frame.interface, frame.utc_ns);
        counts_.incomplete = fragments_.incomplete();
        if (!whole) return std::unexpected{net::PacketSkip::fragment};
        const auto inner = net::open_packet(*whole, opened);
        if (!inner) return std::unexpected{inner.error()};
        packet = *inner;
    }
    return packet;
}

void PcapReader::count_opened(const net::Encapsulations& opened) noexcept {
    counts_.vxlan += static_cast<std::uint64_t>(opened.vxlan);
    counts_.geneve += static_cast<std::uint64_t>(opened.geneve);
    counts_.gre += static_cast<std::uint64_t>(opened.gre);
    counts_.erspan += static_cast<std::uint64_t>(opened.erspan);
    counts_.mpls += static_cast<std::uint64_t>(opened.mpls);
    counts_.ip_in_ip += static_cast<std::uint64_t>(opened.ip_in_ip);
    counts_.time_header += static_cast<std::uint64_t>(opened.time_header);
}

/// The time of a frame with a datagram.
std::int64_t PcapReader::time_of(const Frame& frame) {
    if (times_.kind() == Timestamps::capture) return frame.utc_ns;
    const auto time = times_.read(frame, packet_end_);
    if (!time) {
        ++counts_.untimed;
        return frame.utc_ns;
    }
    counts_.degraded += static_cast<std::uint64_t>(time->degraded);
    return time->utc_ns;
}

PcapReader::Sample PcapReader::take_sample(bool after_keyframe) {
    constexpr std::size_t kFcs = 4;
    constexpr std::size_t kMaxBefore = 1'000'000;
    Sample sample;
    for (const auto kind : kSwitches) {
        for (const auto fcs : {std::size_t{0}, kFcs}) sample.candidates.push_back({{kind, fcs}});
    }
    Frame frame;
    while (sample.packets < kSampled && next_frame(frame)) {
        if (detail::is_keyframe(frame.bytes)) {
            for (auto& each : sample.candidates) each.times.on_keyframe(frame);
            sample.has_keyframe = true;
            continue;
        }
        if (after_keyframe && !sample.has_keyframe) {
            if (++sample.before == kMaxBefore) break;
            continue;
        }
        ++sample.packets;
        static_cast<void>(find_datagram(frame));
        for (auto& each : sample.candidates)
            each.found += static_cast<std::size_t>(each.times.read(frame, packet_end_).has_value());
    }
    return sample;
}

const PcapReader::Sample::Candidate& PcapReader::Sample::best_of(Timestamps kind) const noexcept {
    const Candidate* best = nullptr;
    for (const auto& each : candidates) {
        if (kind != Timestamps::automatic && each.times.kind() != kind) continue;
        if (best == nullptr || each.found > best->found) best = &each;
    }
    return *best;  // there is one of each kind
}

void PcapReader::choose_times(const Sample& sample, Timestamps wanted) {
    const auto& best = sample.best_of(wanted);
    // A counter has no check of its own: single frames match by chance.
    const bool needs_half = wanted == Timestamps::automatic || wanted == Timestamps::keyframes;
    if (best.found != 0 && (!needs_half || best.found * 2 >= sample.packets)) {
        times_ = {best.times.kind(), best.times.fcs()};
    } else if (wanted != Timestamps::automatic) {
        refuse_times(sample, wanted);
    }
}

void PcapReader::refuse_times(const Sample& sample, Timestamps wanted) const {
    const auto refusal = [&](const std::string& what) {
        return FileFormatError("'" + name_ + "': timestamps: " + what);
    };
    if (wanted == Timestamps::keyframes && !sample.has_keyframe)
        throw refusal("no keyframe among the first " + std::to_string(sample.before) + " packets");
    const std::string where = wanted == Timestamps::keyframes ? " after the first keyframe" : "";
    if (sample.packets == 0) throw refusal("there are no packets" + where);
    std::string others;
    for (const auto kind : kSwitches) {
        if (const auto count = sample.best_of(kind).found; kind != wanted && count * 2 >= sample.packets)
            others += (others.empty() ? "" : ", ") + std::string{to_string(kind)} + " in " + std::to_string(count);
    }
    const auto found = sample.best_of(wanted).found;
    const std::string packets = " of the first " + std::to_string(sample.packets) + " packets" + where;
    const std::string time = " the time of " + std::string{to_string(wanted)};
    throw refusal((found == 0 ? "none" + packets + " has" + time
                              : "only " + std::to_string(found) + packets + " have" + time + ", at least half must") +
                  "; found " + (others.empty() ? "only the capture's times" : others));
}

bool PcapReader::next_frame(Frame& out) {
    if (over_) return false;
    stream_.consume(std::exchange(shown_, 0));
    return pcapng_ ? next_block(out) : next_record(out);
}

bool PcapReader::next_record(Frame& out) {
    auto bytes = stream_.peek(frame_header_);
    if (ends_here(bytes)) return false;
    if (bytes.size() < frame_header_)
        return fail_short("the file ends after " + std::to_string(bytes.size()) + " of the frame header's " +
                          std::to_string(frame_header_) + " bytes");
    const auto captured = u32(&bytes[8]);
    const auto original = u32(&bytes[12]);
    const std::int64_t seconds = u32(bytes.data());
    const std::int64_t fraction = u32(&bytes[4]);
    if (captured > kMaxFrame)
        return fail("the frame claims " + std::to_string(captured) + " bytes, the maximum is " +
                    std::to_string(kMaxFrame));
    bytes = stream_.peek(frame_header_ + captured);
    if (bytes.size() < frame_header_ + captured)
        return fail_short("the file ends after " + std::to_string(bytes.size() - frame_header_) + " of the frame's " +
                          std::to_string(captured) + " bytes");
    shown_ = frame_header_ + captured;
    out = {.utc_ns = seconds * 1'000'000'000 + fraction * nanos_per_fraction_,
           .link = link_,
           .interface = 0,
           .original = original,
           .bytes = bytes.subspan(frame_header_, captured)};
    return true;
}

void PcapReader::count_skip(net::PacketSkip why, bool whole) noexcept {
    switch (why) {
        case net::PacketSkip::not_ip: ++counts_.not_ip; return;
        case net::PacketSkip::not_udp: ++counts_.not_udp; return;
        case net::PacketSkip::fragment: ++counts_.fragments; return;
        case net::PacketSkip::malformed: ++counts_.malformed; return;
        case net::PacketSkip::tunnel: ++counts_.tunnels; return;
        // A frame that was captured completely and still ends too early is malformed.
        case net::PacketSkip::cut: ++(whole ? counts_.malformed : counts_.cut); return;
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

}  // namespace millpond::files
