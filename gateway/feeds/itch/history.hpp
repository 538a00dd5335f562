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
#include <millpond/net/itch_file_reader.hpp>

namespace millpond::gateway::itch {

/// A source of past messages of a session: a capture, a folder of captures, or a file of ITCH
/// messages.
struct History {
    std::string path;
    std::vector<std::uint16_t> ports;  ///< Of a capture's datagrams, those that went to one of these.
};

/// Reads a history once, or continues where it stopped.
///
/// Threads: one.
class HistoryReader {
public:
    /// captured_utc_ns: when the datagram was captured; 0 in a file of ITCH messages, which does not say it. False:
    /// stop.
    using Take = std::function<bool(std::span<const std::byte> datagram, std::int64_t captured_utc_ns)>;

    /// session: assumed for the messages of a file without sessions. `history` must outlive this.
    HistoryReader(const History& history, const feed::moldudp64_layout::Session& session);

    /// Calls `take` for each MoldUDP64 datagram in it, until that is false: of a folder those of `*.pcap.1`,
    /// `*.pcap.2`, ... and `*.pcap`, in this order, each time from the first on; of a file of ITCH messages, which
    /// count from 1, those before `end` that were not read before. Throws std::system_error, net::FileFormatError; a
    /// file that is still growing, or is truncated, ends at its last complete datagram.
    void read(std::uint64_t end, const Take& take);

    /// Why the first incomplete file ends early; empty if all are complete.
    [[nodiscard]] const std::string& damage() const noexcept { return damage_; }

private:
    void read_messages(std::uint64_t end, const Take& take);

    const History& history_;
    std::string damage_;
    std::optional<net::ItchFileReader> messages_;  ///< Of a file of ITCH messages.
    feed::MoldUdp64Encoder encoder_;               ///< Number of its next message.
    std::span<const std::byte> waiting_;           ///< Message read, not in a datagram yet.
};

}  // namespace millpond::gateway::itch
