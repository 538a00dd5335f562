#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <millpond/fix/message_store.hpp>
#include <millpond/fix/store_identity.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::fix {

/// When a FileStore waits for the disk. Whatever is committed survives the death of the process in all three; the
/// choice is about the death of the machine.
enum class Durability : std::uint8_t {
    process,   ///< Never waits: the kernel writes when it likes.
    interval,  ///< `maintain` waits once per interval: what was committed since the last one may be lost.
    message,   ///< The caller calls `sync_newest` after each commit, before the message goes out.
};

/// A MessageStore in mapped files: a chain of segments, the first one at the path given, the others beside it with a
/// number behind the name. When the current segment is full the next one becomes current: one that `maintain` has made
/// ready meanwhile, else the oldest, whose messages make room. Neither needs a system call. The layout is the same as
/// in memory. A restart scans the current segment and reads the headers of the others.
///
/// A store belongs to one session: it keeps the identity that it is first opened with, and refuses any other. Files of
/// layout 2 are rewritten when they are opened, messages and numbers included; a process that dies meanwhile leaves
/// either the old files or the new ones behind.
///
/// Threads: as MessageStore; `maintain` and `sync` may run on one other thread.
/// Memory:  the files, mapped and allocated: a full disk is an error when a segment is made, never later.
class FileStore final : public MessageStore {
public:
    static constexpr std::size_t kMostSegments = 64;

    struct Options {
        std::size_t data_bytes = MemoryStore::kDefaultBytes;  ///< Of messages, in all segments together.
        std::size_t segments = 4;                             ///< 1: one file, used as a ring.
        Durability durability = Durability::process;
        std::int64_t interval_ns = 1'000'000'000;
        bool prefault = true;
        StoreIdentity identity{};        ///< Of the session; empty: any store is opened, as it is.
        std::uint32_t file_mode = 0640;  ///< Permissions of the files that it creates.
    };

    /// Opens the chain, however long it is, or makes its first two segments.
    /// Throws memory::RegionError when a file cannot be had (ENOSPC: the disk is full; EBUSY: another process owns it),
    /// std::invalid_argument when one is no segment, of another size, or of another session; files that it has made are
    /// removed then.
    FileStore(const std::filesystem::path& path, std::int64_t utc_ns, const Options& options);

    /// File of the segment with this number, from 0 on.
    [[nodiscard]] static std::filesystem::path segment_path(const std::filesystem::path& path, std::size_t number);

    /// Whether the files were there already.
    [[nodiscard]] bool recovered() const noexcept { return recovered_; }
    /// Removes the files if the constructor made them: for a store that turned out not to be needed. No thread may be
    /// in `maintain`.
    void remove_new_files() noexcept;
    /// Of the session that it belongs to; empty: none yet.
    [[nodiscard]] StoreIdentity identity() const { return identity_of(*current().header); }
    /// What a segment's header says.
    [[nodiscard]] static StoreIdentity identity_of(const StoreHeader& header);
    [[nodiscard]] Durability durability() const noexcept { return options_.durability; }
    [[nodiscard]] std::size_t segments() const noexcept { return ready_.load(std::memory_order_acquire); }
    [[nodiscard]] std::size_t capacity_bytes() const noexcept override;
    void refresh() noexcept override;

    /// What needs time, for a thread that has it: makes the next segment ready while fewer than Options::segments are
    /// there, and waits for the disk with Durability::interval when the interval is over. An error (ENOSPC: the disk is
    /// full) costs nothing but history: the store goes on with the segments it has.
    [[nodiscard]] std::error_code maintain(std::int64_t monotonic_ns) noexcept;
    /// Waits until the disk has everything.
    [[nodiscard]] std::error_code sync() noexcept;
    /// Waits until the disk has the newest message and both numbers.
    [[nodiscard]] std::error_code sync_newest() noexcept;

protected:
    [[nodiscard]] Turn turn() noexcept override;
    [[nodiscard]] std::optional<std::string_view> retrieve_elsewhere(std::uint64_t sequence) const noexcept override;
    [[nodiscard]] std::uint64_t next_kept_elsewhere(std::uint64_t sequence) const noexcept override;
    void forget_elsewhere(std::uint64_t sequence) noexcept override;

private:
    /// A segment's file. The extent tells what it held when another became current.
    struct Link {
        memory::Region region;
        StoreSegment segment;
        StoreSegment::Extent extent;
        bool is_new{false};  // no file was there

        [[nodiscard]] std::uint64_t generation() const noexcept {
            return segment.header->generation.load(std::memory_order_acquire);  // sync "segment current": turn
        }
    };

    /// False when there is no such file and `make` is not set.
    bool add_link(bool make);
    void bind(StoreHeader& header, const std::filesystem::path& file) const;
    void recover();
    void enter(std::size_t number, const Start& start) noexcept;
    void count_all(std::uint64_t overwritten) noexcept;

    std::filesystem::path path_;
    Options options_;
    std::size_t segment_bytes_;
    std::int64_t created_utc_ns_;
    std::array<Link, kMostSegments> links_;
    std::atomic<std::size_t> ready_{0};  // links that are there
    std::size_t current_link_{0};
    std::uint64_t stored_before_{0};  // messages stored when the current link was entered
    bool recovered_{false};
    std::int64_t synced_ns_{0};           // monotonic
    std::uint64_t synced_generation_{0};  // the generations before it are on the disk
};

}  // namespace millpond::fix
