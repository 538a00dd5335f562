#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/rotated_file.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/engine/wire_tap.hpp>
#include <millpond/fix/secret_mask.hpp>

namespace millpond::engine {

class LogArchive;

/// Logs every byte that sessions receive and send, on a separate thread. The I/O thread only copies into a
/// ring: it never waits and makes no system call. Pieces that do not fit are lost and counted, and the file notes that
/// at that place. A line a piece of the stream, with '\n' and '\\' in it written as two characters:
///
///     20261121-18:12:03.123456789 < FIX.4.4:HOUSE->CLIENT 8=FIX.4.4|9=63|35=A|...      | is the byte 0x01
///     20261121-18:12:03.234567891 > FIX.4.4:HOUSE->CLIENT 8=FIX.4.4|9=63|35=A|...      < came in, > went out
///     # lost: 3 pieces, 615 bytes
///
/// Secret values are written as '*', their length kept; CheckSum is that of the original. After a loss all is hidden
/// until the next message of the stream begins. At the start a file of this kind is continued.
///
/// Another thread compresses full files and removes the oldest. A process that is killed meanwhile leaves the plain
/// file or the whole compressed one; the next one compresses what it finds plain.
///
/// Threads: on_connect and on_bytes on one I/O thread; the rest on any. It must outlive the sessions that it is a tap
/// of.
/// Memory:  the ring, taken in the constructor, and two buffers of the writer's.
class RawLog final : public WireTap {
public:
    struct Options {
        std::filesystem::path file{};              ///< Renamed to FILE.1, FILE.2, ... when it is full.
        std::size_t ring_bytes{4U << 20U};         ///< A power of two.
        std::uint64_t rotate_bytes{1ULL << 30U};   ///< A file of this size is full.
        std::chrono::nanoseconds rotate_after{0};  ///< One that was opened so long ago is full too; 0: at no age.
        std::uint64_t keep{0};                     ///< Full files that may stay, the newest ones; 0: all.
        bool compress{false};                      ///< FILE.N becomes FILE.N.zst.
        mode_t file_mode{core::kFileMode};         ///< Permissions of the files.
        std::chrono::milliseconds interval{2};     ///< How long the writer sleeps when there is nothing to do.
        fix::SecretTags secrets{};                 ///< Values that are not written.
    };

    /// Opens the file. Throws std::system_error that names it, std::invalid_argument: ring_bytes is no power of two.
    explicit RawLog(Options options);
    /// Writes the contents of the ring.
    ~RawLog();
    RawLog(const RawLog&) = delete;
    RawLog& operator=(const RawLog&) = delete;

    void on_connect(std::string_view session) noexcept override { put_piece(session, {}, {}, 0, true); }
    void on_bytes(std::string_view session, Direction direction, std::string_view bytes,
                  std::int64_t utc_ns) noexcept override {
        put_piece(session, direction, bytes, utc_ns, false);
    }

    /// Hides these too, in all that comes after the call.
    void hide_too(const fix::SecretTags& secrets);

    struct Counters {
        core::Tally pieces;         ///< Taken into the ring.
        core::Tally bytes;          ///< Of these.
        core::Tally lost_pieces;    ///< The ring was full.
        core::Tally lost_bytes;     ///< Of these.
        core::Tally written_bytes;  ///< Of the file, with times and names.
        core::Tally failed_bytes;   ///< Of the file: the disk did not take them.
        core::Tally rotations;
        core::Tally compressed;         ///< Files.
        core::Tally compress_failures;  ///< Files that stay as they are until the next run.
    };
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

private:
    struct Piece;

    void put_piece(std::string_view session, Direction direction, std::string_view bytes, std::int64_t utc_ns,
                   bool connects) noexcept;
    void put(std::uint64_t& at, const void* data, std::size_t size) noexcept;
    void get(std::uint64_t& at, void* data, std::size_t size) const noexcept;
    void run();
    void write_waiting();
    void write_line(const Piece& piece, std::uint64_t& at);
    void begin_streams(std::string_view session);
    void hide_secrets(const Piece& piece);
    [[nodiscard]] bool open_file();
    void write_out();

    Options options_;
    core::RotatedFile file_;
    std::chrono::steady_clock::time_point opened_;
    std::unique_ptr<char[]> ring_;
    std::uint64_t mask_;
    Counters counters_;
    std::string line_;  // of the writer: text that waits for one write
    std::string piece_;
    struct Stream {
        fix::SecretMask mask;
        std::uint64_t losses{0};  // that the mask knows of
    };
    std::map<std::string, Stream, std::less<>> streams_;  // of the writer, by direction and session
    std::uint64_t losses_{0};
    std::string stream_;                // scratch: a key of streams_
    std::uint64_t unwritten_bytes_{0};  // that the disk did not take and the file does not say yet
    std::mutex secrets_lock_;           // of options_.secrets

    // Positions count on for ever; their place is modulo the ring's size.
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> taken_{0};  // by the writer
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> given_{0};  // by the I/O thread
    std::uint64_t taken_seen_{0};                                            // the I/O thread's copy of taken_
    std::uint64_t lost_pieces_{0};                                           // since the last piece that found room
    std::uint64_t lost_bytes_{0};

    std::mutex stop_lock_;
    std::condition_variable stop_;
    bool stopping_{false};
    std::thread writer_;
    std::unique_ptr<LogArchive> archive_;  // where files are compressed or removed
};

}  // namespace millpond::engine
