#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/core/tally.hpp>

namespace millpond::net {

/// A received datagram.
struct Datagram {
    std::span<const std::byte> bytes;  ///< Valid until the next poll.
    std::int64_t receive_utc_ns{0};    ///< Time of the NIC, if enabled and available, else of the kernel.
    std::uint64_t receive_ticks{0};    ///< core::ticks() after the receive call; the same for all datagrams of a poll.
};

/// Counters of a receiver. Written by its polling thread, read by any.
struct ReceiveCounters {
    core::Tally datagrams;      ///< Delivered datagrams.
    core::Tally bytes;          ///< Payload delivered.
    core::Tally truncated;      ///< Datagrams longer than max_datagram, which are not delivered.
    core::Tally max_truncated;  ///< Size of the longest truncated datagram.
    core::Tally
        kernel_drops;  ///< Datagrams dropped by the kernel before this receiver, usually because its buffer was full.
    core::Tally without_nic_time;  ///< Datagrams with the kernel's time although NIC time is on.
    core::Tally checksum_errors;   ///< AF_XDP: an IPv4 or UDP checksum did not match. Not delivered.
    core::Tally other_vlan;        ///< AF_XDP: frames of another VLAN that match otherwise, left to the kernel.
    core::Tally errors;            ///< Receive calls that failed, except for lack of datagrams.
    core::Tally last_error;        ///< errno of the latest failed call.
    core::Tally rejoins;           ///< Times that UdpReceiver::rejoin joined again.
};

}  // namespace millpond::net
