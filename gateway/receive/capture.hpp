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
/// datagrams are lost and counted. A new session starts a new file; datagrams of the old one on a slower line
/// goes to that one's last file.
///
/// Threads: put and begin_session on the receive thread; the counters on any; the files belong to a separate thread.
class Capture {
public:
    struct Options {
        std::string
            folder;        ///< Files are FOLDER/NAME.pcap (the newest) and NAME.pcap.1, .2, ...; it is made if missing.
        std::string name;  ///< The ring's.
        std::size_t buffer_bytes{std::size_t{16} * 1024 * 1024};
        std::uint64_t rotate_bytes{256ULL * 1024 * 1024};
        std::uint64_t keep{0};  ///< Full files that are kept, the oldest goes first; 0: all.
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
    Capture(Options options, std::vector<net::SocketAddress> feeds, service::Say say);
    /// Writes the contents of the ring, if there is space on the disk.
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /// before: it belongs to the session before the one that began last.
    void put(std::uint32_t feed, std::int64_t utc_ns, std::span<const std::byte> bytes, bool before = false) noexcept {
        ring_.put(before ? feed | kBefore : feed, utc_ns, bytes);
    }
    /// What follows belongs to a new session and goes into another file. False when there is no room to say so.
    [[nodiscard]] bool begin_session() noexcept { return ring_.put(kBegin, 0, {}); }

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    [[nodiscard]] const core::Tally& lost() const noexcept { return ring_.lost(); }

private:
    // Instead of a feed's number, and in addition to it.
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
    /// Takes entries from the ring into the text that waits for the file. False when there was none.
    bool gather();
    /// False when the disk refuses.
    bool write_out();
    bool begin_file();
    bool refused(std::string_view what);

    Options options_;
    std::vector<net::SocketAddress> feeds_;
    service::Say say_;
    CaptureRing ring_;
    core::RotatedFile file_;
    Counters counters_;
    Waiting waiting_;
    Waiting before_;              // for the file of the session before
    bool session_begins_{false};  // behind what waits
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace millpond::gateway
