#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/moldudp64_layout.hpp>
#include <millpond/files/itch_file_reader.hpp>

namespace millpond::gateway::itch {

/// A source of past messages of a session: a capture, a folder of captures, or a file of ITCH
/// messages.
struct History {
    std::string path;
    std::vector<std::uint16_t> ports;  ///< Destination ports of the feed's datagrams in a capture.
};

/// Reads a history once, or continues where it stopped.
///
/// Threads: one.
class HistoryReader {
public:
    using History = itch::History;
    /// captured_utc_ns: time of the capture; 0 in a file of ITCH messages, which has no times. Returns false to stop.
    using Visit = std::function<bool(std::span<const std::byte> datagram, std::int64_t captured_utc_ns)>;

    /// session: session for a file of ITCH messages, which has none. `history` must outlive this.
    HistoryReader(const History& history, const feed::moldudp64_layout::Session& session);

    /// Calls `visit` for each MoldUDP64 datagram until it returns false. A folder is read from the start each time, in
    /// the order `*.pcap.1`, `*.pcap.2`, ..., `*.pcap`. A file of ITCH messages, numbered from 1, continues where it
    /// stopped, up to `end`. Throws std::system_error, files::FileFormatError; a file that is still growing, or is
    /// truncated, ends at its last complete datagram.
    void read(std::uint64_t end, const Visit& visit);

    /// Reason why the first incomplete file ends early; empty if all are complete.
    [[nodiscard]] const std::string& damage() const noexcept { return damage_; }

private:
    void read_messages(std::uint64_t end, const Visit& visit);

    const History& history_;
    std::string damage_;
    std::optional<files::ItchFileReader> messages_;  ///< Reader of a file of ITCH messages; unset for captures.
    feed::MoldUdp64Encoder encoder_;                 ///< Encoder; its next number is that of the next message.
    std::span<const std::byte> waiting_;             ///< Message read, not in a datagram yet.
};

}  // namespace millpond::gateway::itch
