#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include <sys/types.h>

#include <millpond/core/rotated_file.hpp>
#include <millpond/core/tally.hpp>

namespace millpond::engine {

/// Compresses the files that a RotatedFile has renamed, and removes the oldest, on a separate thread with low priority.
/// At the start it also compresses files of an earlier run.
///
/// Threads: any. Memory: buffers for compression, while it runs.
class LogArchive {
public:
    struct Options {
        std::uint64_t keep{0};  ///< Number of files to keep; 0: all.
        bool compress{false};
        mode_t file_mode{core::kFileMode};
    };

    /// file: must outlive it; another thread may use it. compressed, failures: count files, written here.
    LogArchive(const core::RotatedFile& file, const Options& options, core::Tally& compressed, core::Tally& failures);
    /// Stops the thread even in the middle of a file, which is then left uncompressed.
    ~LogArchive();
    LogArchive(const LogArchive&) = delete;
    LogArchive& operator=(const LogArchive&) = delete;

    /// Called after the file was renamed.
    void on_renamed();

private:
    void run();
    void work();

    const core::RotatedFile* file_;
    Options options_;
    core::Tally* compressed_;
    core::Tally* failures_;
    std::uint64_t failed_to_{0};  // files up to this number are not tried again
    std::atomic<bool> stop_{false};
    std::mutex lock_;
    std::condition_variable changed_;
    bool due_{true};
    std::thread thread_;
};

}  // namespace millpond::engine
