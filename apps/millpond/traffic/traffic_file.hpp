#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

struct FileOptions {
    bool messages_only{false};     ///< The messages of MoldUDP64 datagrams, each after its length; else a capture.
    std::int64_t begin_utc_ns{0};  ///< When a capture's first datagram was due.
};

struct Written {
    std::uint64_t datagrams{0};
    std::uint64_t messages{0};  ///< As the source counts them; for a file of messages, those written.
    std::uint64_t bytes{0};
    bool complete{false};  ///< False when `stop` ended it.
};

/// Writes all of a source to a file, without waiting. A file of that name, or to which it links, is replaced once the
/// new one is complete; a device or a pipe is written directly. Throws std::system_error that names the file.
Written write_traffic(Source& source, const std::string& path, const FileOptions& options,
                      const std::atomic<bool>& stop);

}  // namespace millpond::traffic
