#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include <millpond/net/udp_packet.hpp>

namespace millpond::files::detail {

/// Joins the fragments of IP datagrams, in any order. Incomplete datagrams are dropped after 30 s of the capture's
/// time, when more than kMaxDatagrams wait, or when fragments overlap differently. A late copy of a fragment whose
/// datagram is among the kMaxDatagrams joined last, and was joined within 30 s, is ignored.
///
/// Threads: one.
/// Memory:  at most 2 x kMaxDatagrams datagrams of 64 KiB, taken when fragments arrive.
/// Source:  RFC 791 section 3.2, RFC 8200 section 4.5, RFC 5722 (overlaps).
class Fragments {
public:
    static constexpr std::size_t kMaxDatagrams = 64;

    /// Adds a fragment that the frame has whole. Returns its datagram if it was the last one missing; the payload is
    /// valid until the next call. interface: fragments of different interfaces are not joined.
    [[nodiscard]] std::optional<net::IpPacket> add(const net::IpPacket& fragment, std::uint32_t interface,
                                                   std::int64_t utc_ns);
    /// Drops the datagrams that wait.
    void drop_all() noexcept;
    /// Datagrams that were dropped incomplete.
    [[nodiscard]] std::uint64_t incomplete() const noexcept { return incomplete_; }

private:
    using Range = std::pair<std::size_t, std::size_t>;  // first byte, and the byte after the last one
    struct Waiting {
        net::IpPacket packet;  // addresses, protocol and id
        std::uint32_t interface{0};
        std::int64_t utc_ns{0};             // of the first fragment that arrived
        std::optional<std::size_t> length;  // known from the last fragment
        std::vector<Range> ranges;          // sorted, not adjacent
        std::vector<std::byte> bytes;
    };
    enum class Added : std::uint8_t { waits, repeated, complete, contradicts };

    using Datagrams = std::list<Waiting>;
    [[nodiscard]] static Datagrams::iterator find(Datagrams& datagrams, const net::IpPacket& fragment,
                                                  std::uint32_t interface);
    [[nodiscard]] Datagrams::iterator begin(const net::IpPacket& fragment, std::uint32_t interface,
                                            std::int64_t utc_ns);
    [[nodiscard]] bool is_late_copy(const net::IpPacket& fragment, std::uint32_t interface);
    [[nodiscard]] static Added join(Waiting& waiting, const net::IpPacket& fragment);

    Datagrams waiting_;  // oldest first
    Datagrams joined_;   // newest first
    std::uint64_t incomplete_{0};
};

}  // namespace millpond::files::detail
