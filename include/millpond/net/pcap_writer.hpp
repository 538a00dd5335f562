#pragma once

#include <string>

#include <millpond/net/pcap_reader.hpp>

/// Writes what PcapReader and every other reader of captures take: the classic format with nanoseconds, in the
/// machine's byte order, of raw IP packets (link type 101).
///
/// Threads: pure functions.
/// Source:  draft-ietf-opsawg-pcap; RFC 791 (IPv4), RFC 8200 (IPv6), RFC 768 (UDP), RFC 1071 (checksum).
namespace millpond::net {

/// Appends the file header.
void append_pcap_header(std::string& out);

/// Appends a datagram as a packet. An empty source is written as the wildcard address. False, and nothing appended,
/// when the payload is longer than a datagram can be or the destination is no address.
bool append_pcap_datagram(std::string& out, const CapturedDatagram& datagram);

}  // namespace millpond::net
