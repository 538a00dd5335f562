#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/net/detail/byte_stream.hpp>
#include <millpond/net/udp_packet.hpp>

namespace millpond::net {

/// A file does not have the expected format. what() has the file, the offset and the value found there.
class FileFormatError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// One UDP datagram out of a capture file.
struct CapturedDatagram {
    std::int64_t utc_ns{0};  ///< When it was captured.
    SocketAddress source{};
    SocketAddress destination{};
    std::span<const std::byte> payload{};  ///< Valid until the next call of next.
};

/// Reads the UDP datagrams of a pcap or pcapng file, in the order of the file, compressed by gzip or zstd or not. Both
/// byte orders, every resolution of time; of pcapng any number of sections and interfaces.
///
/// Threads: one.
/// Memory:  a buffer of 2 MiB and 24 bytes for each interface, whatever the file's size; the decompressor's window.
/// Source:  draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
class PcapReader {
public:
    /// Frames of the file so far, each in exactly one of the lower counts.
    struct Counts {
        std::uint64_t frames{0};
        std::uint64_t datagrams{0};
        std::uint64_t not_ip{0};
        std::uint64_t not_udp{0};
        std::uint64_t fragments{0};
        std::uint64_t cut{0};        ///< The capture kept fewer bytes of the frame than its datagram needs.
        std::uint64_t malformed{0};  ///< Headers that contradict themselves or the frame's length.
    };

    /// Throws std::system_error for a file that cannot be read and FileFormatError for one that is not a capture.
    explicit PcapReader(const std::string& path);
    /// A file that is already in memory; `name` is used as its path in errors.
    PcapReader(std::span<const std::byte> file, std::string name);

    /// Whether contents that start with these bytes are a capture: pcap or pcapng.
    [[nodiscard]] static bool is_capture(std::span<const std::byte, 4> begin) noexcept;

    /// The next datagram; frames without one are counted and skipped. False at the end of the file, and at damage that
    /// leaves no way to find the next frame.
    [[nodiscard]] bool next(CapturedDatagram& out);

    /// Empty, or the first damage of the file, its offset, and the bound that was exceeded. Damage within a block of
    /// pcapng loses only that block.
    [[nodiscard]] const std::string& error() const noexcept { return error_; }
    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    /// Bytes of the file read so far; of a compressed file, compressed ones.
    [[nodiscard]] std::uint64_t offset() const noexcept {
        return stream_.packed_offset() != 0 ? stream_.packed_offset() : stream_.offset() + shown_;
    }

private:
    struct Interface {
        std::uint16_t link{0};  // 0 if it could not be read: no known one
        std::uint64_t units_per_second{1'000'000};
        std::int64_t offset_s{0};
    };
    struct Frame {
        std::int64_t utc_ns{0};
        std::uint16_t link{0};
        std::uint32_t original{0};
        std::span<const std::byte> bytes{};
    };

    void read_file_header();
    /// The next frame of the classic format, and of pcapng. False at the end and at damage.
    [[nodiscard]] bool next_record(Frame& out);
    [[nodiscard]] bool next_block(Frame& out);
    [[nodiscard]] bool begin_section(std::span<const std::byte> block);
    [[nodiscard]] bool add_interface(std::span<const std::byte> body);
    [[nodiscard]] bool read_packet(std::uint32_t type, std::span<const std::byte> body, Frame& out);
    [[nodiscard]] bool skip(std::size_t bytes);
    [[nodiscard]] bool block_follows(std::size_t bytes);
    [[nodiscard]] bool ends_here(std::span<const std::byte> shown);
    [[nodiscard]] bool fail_short(const std::string& what);
    void count_skip(PacketSkip why, bool whole) noexcept;
    /// Both return false. Only the first damage of a file is named; `fail` ends it.
    bool note(const std::string& what);
    [[nodiscard]] bool fail(const std::string& what);
    [[nodiscard]] std::uint16_t u16(const std::byte* bytes) const noexcept;
    [[nodiscard]] std::uint32_t u32(const std::byte* bytes) const noexcept;

    detail::ByteStream stream_;
    std::string name_;
    bool pcapng_{false};
    std::uint16_t link_{0};              // of the classic format
    std::vector<Interface> interfaces_;  // of the pcapng section
    std::int64_t latest_utc_ns_{0};
    std::endian order_{std::endian::native};
    std::int64_t nanos_per_fraction_{1};
    std::size_t shown_{0};  // bytes of the stream that belong to the frame handed out last
    std::string error_;
    bool over_{false};
    Counts counts_;
};

}  // namespace millpond::net
