#pragma once

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

#include <millpond/core/rotated_file.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/engine/wire_tap.hpp>
#include <millpond/fix/secret_mask.hpp>
#include <millpond/queue/record_ring.hpp>

namespace millpond::engine {

class LogArchive;

/// Logs every byte that sessions receive and send, on a separate thread. The I/O thread only copies into a ring: it
/// never waits and makes no system call. Pieces that do not fit are lost and counted, and the file has a note in their
/// place. A piece is at most a quarter of the ring; longer ones are split. Each piece of the stream is a line, with
/// '\n' and '\\' in it written as two characters:
///
///     20261121-18:12:03.123456789 < FIX.4.4:HOUSE->CLIENT 8=FIX.4.4|9=63|35=A|...      | is the byte 0x01
///     20261121-18:12:03.234567891 > FIX.4.4:HOUSE->CLIENT 8=FIX.4.4|9=63|35=A|...      < came in, > went out
///     # lost: 3 pieces, 615 bytes
///     # rejected: FIX.4.4:HOUSE->CLIENT 34=2 35=D tag 44: Incorrect data format for value
///
/// Secret values are replaced by the same number of '*'; CheckSum is that of the original. After a loss everything is
/// hidden until the next message of the stream begins. An existing raw log is continued.
///
/// Another thread compresses full files and removes the oldest. If the process is killed meanwhile, either the plain
/// file or the complete compressed one remains; the next process compresses plain files.
///
/// Threads: on_connect and on_bytes on one I/O thread; the rest on any. It must outlive its sessions.
/// Memory:  the ring, allocated in the constructor, and two buffers of the writer.
class RawLog final : public WireTap {
public:
    struct Options {
        std::filesystem::path file{};              ///< Renamed to FILE.1, FILE.2, ... when full.
        std::size_t ring_bytes{4U << 20U};         ///< A power of two.
        std::uint64_t rotate_bytes{1ULL << 30U};   ///< A file of this size is full.
        std::chrono::nanoseconds rotate_after{0};  ///< A file of this age is full too; 0: unlimited.
        std::uint64_t keep{0};                     ///< Number of full files to keep; 0: all.
        bool compress{false};                      ///< FILE.N becomes FILE.N.zst.
        mode_t file_mode{core::kFileMode};         ///< Permissions of the files.
        std::chrono::milliseconds interval{2};     ///< Interval of the writer.
        fix::SecretTags secrets{};                 ///< Fields whose values are hidden.
    };

    /// Opens the file. Throws std::system_error that names it, or std::invalid_argument if ring_bytes is not a power of
    /// two.
    explicit RawLog(Options options);
    /// Writes the contents of the ring and closes the file.
    ~RawLog();
    RawLog(const RawLog&) = delete;
    RawLog& operator=(const RawLog&) = delete;

    void on_connect(std::string_view session) noexcept override { put_piece(session, {}, {}, 0, Kind::connect); }
    void on_bytes(std::string_view session, Direction direction, std::string_view bytes,
                  std::int64_t utc_ns) noexcept override;
    void on_rejected(std::string_view session, const fix::RejectedMessage& rejected) noexcept override;

    /// Hides these fields too, from now on.
    void hide_too(const fix::SecretTags& secrets);

    struct Counters {
        core::Tally pieces;         ///< Pieces written to the ring.
        core::Tally bytes;          ///< Bytes of these pieces.
        core::Tally lost_pieces;    ///< Pieces that did not fit.
        core::Tally lost_bytes;     ///< Bytes of lost pieces.
        core::Tally written_bytes;  ///< Bytes written to the file, with times and names.
        core::Tally failed_bytes;   ///< Bytes that could not be written to the file.
        core::Tally rotations;
        core::Tally compressed;         ///< Compressed files.
        core::Tally compress_failures;  ///< Files that stay uncompressed until the next run.
    };
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

private:
    enum class Kind : std::uint8_t { bytes, connect, rejected };
    struct Piece;

    void put_piece(std::string_view session, Direction direction, std::string_view bytes, std::int64_t utc_ns,
                   Kind kind) noexcept;
    void run();
    void write_waiting();
    void write_line(const Piece& piece, std::string_view session, std::string_view bytes);
    void write_name(std::string_view session);
    void begin_streams(std::string_view session);
    void hide_secrets(Direction direction, std::string_view session);
    [[nodiscard]] bool open_file();
    void write_out();

    Options options_;
    core::RotatedFile file_;
    std::chrono::steady_clock::time_point opened_;
    queue::RecordRing ring_;
    Counters counters_;
    std::string line_;   // used by the writer: text that waits for one write
    std::string piece_;  // used by the writer: bytes without secrets
    struct Stream {
        fix::SecretMask mask;
        std::uint64_t losses{0};  // losses that the mask was notified of
    };
    std::map<std::string, Stream, std::less<>> streams_;  // used by the writer, by direction and session
    std::uint64_t losses_{0};
    std::string stream_;                // scratch: a key of streams_
    std::uint64_t unwritten_bytes_{0};  // bytes that could not be written and that the file does not note yet
    std::mutex secrets_lock_;           // protects options_.secrets

    // Used by the I/O thread: losses since the last piece that fitted.
    std::uint64_t lost_pieces_{0};
    std::uint64_t lost_bytes_{0};

    std::mutex stop_lock_;
    std::condition_variable stop_;
    bool stopping_{false};
    std::thread writer_;
    std::unique_ptr<LogArchive> archive_;  // compresses and removes files
};

}  // namespace millpond::engine
