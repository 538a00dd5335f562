#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/rotated_file.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/capture/capture_ring.hpp"
#include "gateway/sink.hpp"

namespace millpond::gateway {

/// Keeps the raw datagrams of a receive thread in rotating pcap files that `millpond replay` sends again. The receive
/// thread copies into a ring and never waits; a full disk is tried again four times a second while the ring fills, then
/// datagrams are lost and counted.
///
/// Threads: put on the receive thread; the counts on any; the files belong to a thread of its own.
class Capture {
public:
    struct Options {
        std::string
            folder;        ///< Files are FOLDER/NAME.pcap (the newest) and NAME.pcap.1, .2, ...; it is made if missing.
        std::string name;  ///< The ring's.
        std::size_t buffer_bytes{std::size_t{16} * 1024 * 1024};
        std::uint64_t rotate_bytes{256ULL * 1024 * 1024};
        std::uint64_t keep{0};  ///< Full files that are kept, the oldest goes first; 0: all.
    };
    struct Counts {
        core::Tally datagrams;
        core::Tally bytes;
        core::Tally files;
        core::Tally write_errors;
    };

    /// feeds: where the datagrams of feed 0, 1, ... were sent to. Opens the first file. Throws std::system_error that
    /// names it.
    Capture(Options options, std::vector<net::SocketAddress> feeds, Say say);
    /// Writes what is in the ring, if the disk takes it.
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    void put(std::uint32_t feed, std::int64_t utc_ns, std::span<const std::byte> bytes) noexcept {
        ring_.put(feed, utc_ns, bytes);
    }

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    [[nodiscard]] const core::Tally& lost() const noexcept { return ring_.lost(); }

private:
    void run();
    /// Takes entries from the ring into the text that waits for the file. False when there was none.
    bool gather();
    /// False when the disk refuses.
    bool write_out();
    bool begin_file();
    bool refused(std::string_view what);
    void remove_oldest() const;

    Options options_;
    std::vector<net::SocketAddress> feeds_;
    Say say_;
    CaptureRing ring_;
    core::RotatedFile file_;
    Counts counts_;
    std::string waiting_;
    std::size_t written_{0};  // of waiting_
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace millpond::gateway
