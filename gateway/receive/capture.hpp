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

#include "gateway/receive/capture_ring.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway {

/// Keeps the raw datagrams of a receive thread in rotating pcap files that `millpond replay` sends again. The receive
/// thread copies into a ring and never waits; a full disk is tried again four times a second while the ring fills, then
/// datagrams are lost and counted. A new session starts a new file; datagrams of the old session on a slower line go to
/// that session's last file.
///
/// Threads: put and begin_session on the receive thread; the counters on any; the files belong to a separate thread.
class Capture {
public:
    struct Options {
        std::string folder;  ///< Folder of NAME.pcap (the newest) and NAME.pcap.1, .2, ...; created if missing.
        std::string name;    ///< Name of the ring.
        std::size_t buffer_bytes{std::size_t{16} * 1024 * 1024};
        std::uint64_t rotate_bytes{256ULL * 1024 * 1024};
        std::uint64_t keep{0};  ///< Full files to keep, the oldest is removed first; 0: all.
        mode_t file_mode{core::kFileMode};
    };
    struct Counters {
        core::Tally datagrams;
        core::Tally bytes;
        core::Tally files;
        core::Tally write_errors;
    };

    /// feeds: where the datagrams of feed 0, 1, ... were sent to. Opens the first file. Throws std::system_error that
    /// names it.
    Capture(Options options, std::vector<net::SocketAddress> feeds, service::LogFunction log);
    /// Writes the rest of the ring, if there is space on the disk.
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /// before: whether the datagram belongs to the previous session.
    void put(std::uint32_t feed, std::int64_t utc_ns, std::span<const std::byte> bytes, bool before = false) noexcept {
        ring_.put(before ? feed | kBefore : feed, utc_ns, bytes);
    }
    /// Starts a new file for the datagrams that follow. False if the ring is full.
    [[nodiscard]] bool begin_session() noexcept { return ring_.put(kBegin, 0, {}); }

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    [[nodiscard]] const core::Tally& lost() const noexcept { return ring_.lost(); }

private:
    // Special feed numbers in the ring: start of a session; flag for a datagram of the previous session.
    static constexpr std::uint32_t kBegin = ~std::uint32_t{0};
    static constexpr std::uint32_t kBefore = std::uint32_t{1} << 31U;

    /// Text that waits for a file.
    struct Waiting {
        std::string text;
        std::size_t written{0};
        [[nodiscard]] std::string_view rest() const noexcept { return std::string_view{text}.substr(written); }
        void clear() noexcept {
            text.clear();
            written = 0;
        }
    };

    void run();
    /// Moves entries from the ring to the text that waits for the file. False if there was none.
    bool gather();
    /// Writes the waiting text. False if the disk refuses a write.
    bool write_out();
    bool begin_file();
    bool refused(std::string_view what);

    Options options_;
    std::vector<net::SocketAddress> feeds_;
    service::LogFunction log_;
    CaptureRing ring_;
    core::RotatedFile file_;
    Counters counters_;
    Waiting waiting_;
    Waiting before_;              // text for the previous session's file
    bool session_begins_{false};  // a new session begins after the waiting text
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace millpond::gateway
