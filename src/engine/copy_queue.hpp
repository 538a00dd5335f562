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

/// In front of each message in the ring.
struct CopyHead {
    Direction direction;
    fix::ApplicationVersion version;
};

/// Copies on their way to a drop copy's session: a ring in memory, or in a file that outlives the process.
///
///     offset 0     8 bytes magic, then 0
///     3840         queue::RecordRing, whose records begin at 4096
///
/// Threads: made and destroyed on one; the ring's as RecordRing has them.
/// Memory:  the ring.
class CopyQueue {
public:
    /// In memory. bytes: as RecordRing.
    explicit CopyQueue(std::size_t bytes);
    /// In a new file. bytes: a page or more. Throws memory::RegionError.
    CopyQueue(const std::filesystem::path& file, std::size_t bytes, std::uint32_t file_mode);
    /// The queue that another process, or an earlier one, left there. Null: it is in use, or was never finished. An
    /// error says why it cannot be used; the file stays.
    [[nodiscard]] static std::expected<std::unique_ptr<CopyQueue>, std::string> left_in(
        const std::filesystem::path& file);
    /// An empty queue's file is removed, and with `discard` any.
    ~CopyQueue();
    CopyQueue(const CopyQueue&) = delete;
    CopyQueue& operator=(const CopyQueue&) = delete;

    /// FILE.1, FILE.2 and so on: the numbers that are there, in order.
    [[nodiscard]] static std::vector<std::size_t> numbers(const std::filesystem::path& file);
    [[nodiscard]] static std::filesystem::path numbered(const std::filesystem::path& file, std::size_t number);

    [[nodiscard]] queue::RecordRing& ring() noexcept { return *ring_; }
    /// Whether the copy at the front may be in the target's store: an earlier process may have ended between the two.
    [[nodiscard]] bool may_be_there() const noexcept { return may_be_there_; }
    /// The copy at the front is done with.
    void release() noexcept {
        ring_->release();
        may_be_there_ = false;
    }
    void discard() noexcept { discarded_ = true; }

private:
    explicit CopyQueue(memory::Region region);

    memory::Region region_;  // nothing: it is in memory
    std::unique_ptr<queue::RecordRing> ring_;
    bool may_be_there_{false};
    bool discarded_{false};
};

}  // namespace millpond::engine
