#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <millpond/engine/wire_tap.hpp>
#include <millpond/fix/application_version.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/record_ring.hpp>

namespace millpond::engine {

/// Header of each record in the ring; the message follows it.
struct CopyHead {
    Direction direction;
    fix::ApplicationVersion version;
};

/// A queue of copies for a drop copy's session: a ring in memory, or in a file that outlives the process.
///
///     offset 0     8 bytes magic, then 0
///     3840         queue::RecordRing, whose records begin at 4096
///
/// Threads: constructed and destroyed on one; the ring's see RecordRing.
/// Memory:  the ring.
class CopyQueue {
public:
    /// Creates a queue in memory. bytes: see RecordRing.
    explicit CopyQueue(std::size_t bytes);
    /// Creates a queue in a new file. bytes: at least a page. Throws memory::RegionError.
    CopyQueue(const std::filesystem::path& file, std::size_t bytes, std::uint32_t file_mode);
    /// Opens the queue of another or earlier process. Returns null if it is in use or was never completed, and an error
    /// if it cannot be used; the file is not removed.
    [[nodiscard]] static std::expected<std::unique_ptr<CopyQueue>, std::string> left_in(
        const std::filesystem::path& file);
    /// Removes the file if the queue is empty or discarded.
    ~CopyQueue();
    CopyQueue(const CopyQueue&) = delete;
    CopyQueue& operator=(const CopyQueue&) = delete;

    /// Numbers N of the existing files FILE.N, sorted.
    [[nodiscard]] static std::vector<std::size_t> numbers(const std::filesystem::path& file);
    [[nodiscard]] static std::filesystem::path numbered(const std::filesystem::path& file, std::size_t number);

    [[nodiscard]] queue::RecordRing& ring() noexcept { return *ring_; }
    /// Whether the front copy may be in the target's store already, because an earlier process ended while sending it.
    [[nodiscard]] bool may_be_there() const noexcept { return may_be_there_; }
    /// Releases the front copy.
    void release() noexcept {
        ring_->release();
        may_be_there_ = false;
    }
    void discard() noexcept { discarded_ = true; }

private:
    explicit CopyQueue(memory::Region region);

    memory::Region region_;  // empty: the queue is in memory
    std::unique_ptr<queue::RecordRing> ring_;
    bool may_be_there_{false};
    bool discarded_{false};
};

}  // namespace millpond::engine
