#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include <millpond/files/detail/byte_stream.hpp>
#include <millpond/files/detail/fragments.hpp>
#include <millpond/files/detail/frame_times.hpp>
#include <millpond/files/timestamps.hpp>
#include <millpond/net/udp_packet.hpp>

namespace millpond::files {

/// A UDP datagram in a capture file.
struct CapturedDatagram {
    std::int64_t utc_ns{0};  ///< Time of capture, or the switch's time (Timestamps). Of the last fragment to arrive.
    net::SocketAddress source{};
    net::SocketAddress destination{};
    std::span<const std::byte> payload{};  ///< Valid until the next call of next.
    std::uint32_t interface{0};            ///< Interface of a pcapng section, otherwise 0.
};

/// Reads the UDP datagrams of a pcap or pcapng file, in the order of the file, compressed by gzip or zstd or not.
/// Supports both byte orders, every resolution of time, and in pcapng any number of sections and interfaces. Joins the
/// fragments of IP.
///
/// Threads: one.
/// Memory:  a buffer of 2 MiB and 24 bytes for each interface, whatever the file's size; the decompressor's window;
///          up to 4 MiB for fragments.
/// Source:  draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; modified pcap: libpcap's sf-pcap.c.
class PcapReader {
public:
    /// Number of frames read, and of these by outcome: each frame is counted in exactly one of the counts from
    /// `datagrams` to `malformed`.
    struct Counts {
        std::uint64_t frames{0};
        std::uint64_t datagrams{0};
        std::uint64_t not_ip{0};
        std::uint64_t not_udp{0};
        std::uint64_t fragments{0};  ///< Fragments of IP, except those that completed a datagram.
        std::uint64_t cut{0};        ///< The capture has fewer bytes of the frame than its datagram needs.
        std::uint64_t tunnels{0};    ///< Encapsulations that are not opened: other contents, or too deep.
        std::uint64_t keyframes{0};  ///< Keyframes of a switch, which explain the times of other frames.
        std::uint64_t malformed{0};  ///< Headers that contradict themselves or the frame's length.

        std::uint64_t vxlan{0};  ///< Frames of which this encapsulation was opened, as in the next six.
        std::uint64_t geneve{0};
        std::uint64_t gre{0};
        std::uint64_t erspan{0};
        std::uint64_t mpls{0};
        std::uint64_t ip_in_ip{0};
        std::uint64_t time_header{0};  ///< Arista's header with EtherType 0xD28B.
        std::uint64_t incomplete{0};   ///< Datagrams of which fragments are missing.
        std::uint64_t untimed{0};      ///< Datagrams without the chosen time of a switch, which have the capture's.
        std::uint64_t degraded{0};     ///< Datagrams with a time of a switch whose clock was not synchronized.

        /// Calls visit(key, text, count) for each count after `datagrams`. key: "not_ip"; text: "not IP".
        template <class Visitor>
        void visit(Visitor&& visitor) const {
            visitor("not_ip", "not IP", not_ip);
            visitor("not_udp", "not UDP", not_udp);
            visitor("fragments", "fragments", fragments);
            visitor("cut", "cut", cut);
            visitor("tunnels", "tunnels that are not read", tunnels);
            visitor("keyframes", "keyframes", keyframes);
            visitor("malformed", "malformed", malformed);
            visitor("vxlan", "in VXLAN", vxlan);
            visitor("geneve", "in Geneve", geneve);
            visitor("gre", "in GRE", gre);
            visitor("erspan", "in ERSPAN", erspan);
            visitor("mpls", "behind MPLS", mpls);
            visitor("ip_in_ip", "in IP in IP", ip_in_ip);
            visitor("time_header", "behind time headers (0xD28B)", time_header);
            visitor("incomplete", "incomplete datagrams", incomplete);
            visitor("untimed", "datagrams without the switch's time", untimed);
            visitor("degraded", "datagrams with a time of an unsynchronized switch", degraded);
        }
    };

    /// The first packets by which the source of times is chosen or checked.
    static constexpr std::size_t kSampled = 100;

    /// Throws std::system_error for a file that cannot be read and FileFormatError for one that is not a capture, or
    /// of which none of the first kSampled packets has the chosen times; of keyframes, fewer than half of those after
    /// the first one.
    explicit PcapReader(const std::string& path, Timestamps timestamps = Timestamps::automatic);
    /// Reads a file in memory; `name` is used as its path in errors.
    PcapReader(std::span<const std::byte> file, std::string name, Timestamps timestamps = Timestamps::automatic);

    /// Whether contents that start with these bytes are a capture: pcap or pcapng.
    [[nodiscard]] static bool is_capture(std::span<const std::byte, 4> begin) noexcept;

    /// Reads the next datagram; counts and skips frames without one. Returns false at the end of the file, and at
    /// damage after which the next frame cannot be found.
    [[nodiscard]] bool next(CapturedDatagram& out);

    /// First damage of the file, its offset, and the bound that was exceeded; empty if there is none. Damage within a
    /// block of pcapng loses only that block.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }
    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    /// The source of the times; never automatic.
    [[nodiscard]] Timestamps timestamps() const noexcept { return times_.kind(); }
    /// Bytes of the file read so far; of a compressed file, compressed ones.
    [[nodiscard]] std::uint64_t offset() const noexcept {
        return stream_.packed_offset() != 0 ? stream_.packed_offset() : stream_.offset() + shown_;
    }

private:
    struct Interface {
        std::uint16_t link{0};  // 0: unknown
        std::uint64_t units_per_second{1'000'000};
        std::int64_t offset_s{0};
    };
    using Frame = detail::CapturedFrame;
    /// Packets by which the source of times is chosen.
    struct Sample {
        struct Candidate {
            detail::FrameTimes times;
            std::size_t found{0};  // packets with its time
        };
        /// The candidate of this kind with the most packets; of any kind for automatic.
        [[nodiscard]] const Candidate& best_of(Timestamps kind) const noexcept;

        std::vector<Candidate> candidates{};
        std::size_t packets{0};
        std::size_t before{0};  // packets before the first keyframe, which nothing explains
        bool has_keyframe{false};
    };

    void read_file_header();
    /// Reads the first packets of the file. after_keyframe: those after the first keyframe.
    [[nodiscard]] Sample take_sample(bool after_keyframe);
    /// Chooses the source of times by the first packets of the file.
    void choose_times(const Sample& sample, Timestamps wanted);
    [[noreturn]] void refuse_times(const Sample& sample, Timestamps wanted) const;
    /// Reads the next frame. Returns false at the end and at damage.
    [[nodiscard]] bool next_frame(Frame& out);
    [[nodiscard]] bool next_record(Frame& out);
    [[nodiscard]] bool next_block(Frame& out);
    [[nodiscard]] bool begin_section(std::span<const std::byte> block);
    [[nodiscard]] bool add_interface(std::span<const std::byte> body);
    [[nodiscard]] bool read_packet(std::uint32_t type, std::span<const std::byte> body, Frame& out);
    [[nodiscard]] bool skip(std::size_t bytes);
    [[nodiscard]] bool block_follows(std::size_t bytes);
    [[nodiscard]] bool ends_here(std::span<const std::byte> shown);
    [[nodiscard]] bool fail_short(const std::string& what);
    /// Finds the datagram of a frame that has not been counted yet.
    [[nodiscard]] std::expected<net::UdpPacket, net::PacketSkip> find_datagram(const Frame& frame);
    /// Adds a fragment. Returns the packet in the datagram that it completes.
    [[nodiscard]] std::expected<net::IpPacket, net::PacketSkip> join(net::IpPacket packet, const Frame& frame,
                                                                     net::Encapsulations& opened);
    void count_opened(const net::Encapsulations& opened) noexcept;
    [[nodiscard]] std::int64_t time_of(const Frame& frame);
    void count_skip(net::PacketSkip why, bool whole) noexcept;
    /// Both functions return false. Only the first damage of a file is recorded; `fail` ends the file.
    bool note(const std::string& what);
    [[nodiscard]] bool fail(const std::string& what);
    [[nodiscard]] std::uint16_t u16(const std::byte* bytes) const noexcept;
    [[nodiscard]] std::uint32_t u32(const std::byte* bytes) const noexcept;

    detail::ByteStream stream_;
    std::string name_;
    bool pcapng_{false};
    std::uint16_t link_{0};              // link type of the classic format
    std::size_t frame_header_{16};       // bytes before a frame of the classic format
    std::vector<Interface> interfaces_;  // interfaces of the pcapng section
    std::int64_t latest_utc_ns_{0};
    std::endian order_{std::endian::native};
    std::int64_t nanos_per_fraction_{1};
    std::size_t shown_{0};  // bytes of the stream in the frame returned last
    std::string error_;
    bool over_{false};
    Counts counts_;
    detail::FrameTimes times_;
    detail::Fragments fragments_;
    std::size_t packet_end_{0};  // bytes of the latest frame up to the end of its IP packet
};

}  // namespace millpond::files
