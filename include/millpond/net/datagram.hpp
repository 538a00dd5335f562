#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/core/tally.hpp>

namespace millpond::net {

/// One datagram as received.
struct Datagram {
    std::span<const std::byte> bytes;  ///< Valid until the next poll.
    std::int64_t receive_utc_ns{0};    ///< NIC's time where that is on and the datagram has it, else the kernel's.
    std::uint64_t receive_ticks{0};    ///< core::ticks() right after the receive call, the same for a whole poll.
};

/// What became of the datagrams of a receiver. Written by its polling thread, read by any.
struct ReceiveCounters {
    core::Tally datagrams;          ///< Delivered.
    core::Tally bytes;              ///< Payload delivered.
    core::Tally truncated;          ///< Longer than max_datagram: not delivered.
    core::Tally longest_truncated;  ///< Bytes of the longest of those.
    core::Tally kernel_drops;       ///< Lost in front of this receiver, most often because its buffer was full.
    core::Tally without_nic_time;   ///< Delivered with the kernel's time although NIC time is on.
    core::Tally checksum_errors;    ///< AF_XDP: an IPv4 or UDP checksum did not match. Not delivered.
    core::Tally other_vlan;         ///< AF_XDP: frames of another VLAN that match otherwise, left to the kernel.
    core::Tally errors;             ///< Receive calls that failed for another reason than "nothing there".
    core::Tally last_error;         ///< errno of the latest of those.
};

}  // namespace millpond::net
