#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

enum class TrafficFile : std::uint8_t {
    pcap,
    pcapng,    ///< With two interfaces, to which datagrams belong in turn, as in captures of both lines.
    messages,  ///< The messages of MoldUDP64 datagrams, each after its length.
};

struct FileOptions {
    TrafficFile kind{TrafficFile::pcap};
    std::int64_t begin_utc_ns{0};  ///< Time of a capture's first datagram.
};

struct Written {
    std::uint64_t datagrams{0};
    std::uint64_t messages{
        0};  ///< Number of messages as counted by the source; for a file of messages, of those written.
    std::uint64_t bytes{0};
    bool complete{false};  ///< False if `stop` ended it.
};

/// Writes all datagrams of a source to a file, without waiting. An existing file, or the target of a link, is replaced
/// once the new one is complete; a device or a pipe is written directly. Throws std::system_error that names the file.
Written write_traffic(Source& source, const std::string& path, const FileOptions& options,
                      const std::atomic<bool>& stop);

}  // namespace millpond::traffic
