#pragma once

#include <string>

#include <millpond/files/pcap_reader.hpp>

/// Writes captures in the classic pcap format, with nanoseconds and raw IP packets (link type 101), in the machine's
/// byte order.
///
/// Threads: pure functions.
/// Source:  draft-ietf-opsawg-pcap; RFC 791 (IPv4), RFC 8200 (IPv6), RFC 768 (UDP), RFC 1071 (checksum).
namespace millpond::files {

/// Appends the file header.
void append_pcap_header(std::string& out);

/// Appends a datagram as a packet. An empty source is written as the wildcard address. Returns false, with nothing
/// appended, if the payload is too long for a datagram or the destination is empty.
bool append_pcap_datagram(std::string& out, const CapturedDatagram& datagram);

}  // namespace millpond::files
