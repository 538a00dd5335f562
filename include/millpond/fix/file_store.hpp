#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <millpond/core/moment.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/fix/standby_state.hpp>
#include <millpond/fix/store_identity.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::fix {

/// When a FileStore waits for the disk. Committed messages survive the death of the process in each mode; the modes
/// differ in what survives a crash of the machine.
enum class Durability : std::uint8_t {
    process,   ///< Never waits: the kernel decides when to write.
    interval,  ///< `maintain` waits once per interval: later commits may be lost.
    message,   ///< The caller calls `sync_newest` after each commit, before the message goes out.
};

/// A MessageStore in mapped files: a chain of segments, the first at the given path, the others beside it with a number
/// appended to the name. When the current segment is full, the segment that `maintain` has prepared becomes current,
/// and the oldest segments beyond the bounds are dropped; the next `maintain` removes their files. If no segment is
/// prepared, the oldest is reused at once. Neither needs a system call. The layout is the same as in memory. A restart
/// scans the current segment and reads the headers of the others.
///
/// A store belongs to one session: it records the identity of its first owner and refuses others. Files of another
/// layout are refused. Segments of any size can be opened, so the bounds may change between runs. Damaged messages are
/// counted and not returned.
///
/// Threads: see MessageStore, also for trim and both kinds of sync; `maintain` may run on one other thread.
/// Memory:  the files, mapped and allocated: a full disk is an error when a segment is created, never later.
class FileStore final : public MessageStore {
public:
    static constexpr std::size_t kMaxSegments = 1024;
    static constexpr std::size_t kFirstBytes = std::size_t{1} << 20U;  ///< Size of a growing store's first segment.

    struct Options {
        /// Capacity for messages of all segments together, not including the prepared segment.
        std::size_t data_bytes = MemoryStore::kDefaultBytes;
        /// Number of segments of equal size, up to 64; 1: one file, used as a ring. 0: the store grows, each segment
        /// twice as large as the one before, from kFirstBytes to 16 MiB or 1/512 of data_bytes.
        std::size_t segments = 4;
        std::size_t min_bytes = StoreSegment::kMinBytes;  ///< Smaller segments of an earlier run are only read.
        std::int64_t keep_ns = 0;                         ///< Age at which a full segment is dropped; 0: unlimited.
        /// Newest bytes of messages that stay in memory. Older segments are unmapped from memory, and read from the
        /// page cache or the disk when they are requested.
        std::size_t resident_bytes = std::numeric_limits<std::size_t>::max();
        Durability durability = Durability::process;
        std::int64_t interval_ns = 1'000'000'000;
        bool prefault = true;            ///< Prefault the segments of resident_bytes and the prepared one.
        StoreIdentity identity{};        ///< Identity of the session; empty: open any store.
        std::uint32_t file_mode = 0640;  ///< Permissions of created files.
    };

    /// Opens a chain of any length, or creates its first two segments. Removes unfinished segments of a killed process.
    /// Throws memory::RegionError if a file cannot be opened (ENOSPC: the disk is full; EBUSY: another process owns
    /// it), std::invalid_argument if a file is not a segment or belongs to another session, or the one with the newest
    /// messages is missing; files that it has created are removed then.
    FileStore(const std::filesystem::path& path, std::int64_t utc_ns, const Options& options);
    ~FileStore() override;

    /// File of the segment with this number, counted from 0.
    [[nodiscard]] static std::filesystem::path segment_path(const std::filesystem::path& path, std::size_t number);
    /// Numbers of the existing files, ascending. Numbers of dropped segments are missing.
    [[nodiscard]] static std::vector<std::size_t> segment_numbers(const std::filesystem::path& path);
    /// Capacity of the largest segment with these options. Throws std::invalid_argument if they are invalid.
    [[nodiscard]] static std::size_t segment_bytes(const Options& options);

    /// Whether the files existed before.
    [[nodiscard]] bool recovered() const noexcept { return recovered_; }
    /// Removes the files if the constructor created them: for a store that is not needed. No thread may be in
    /// `maintain`.
    void remove_new_files() noexcept;
    /// Identity of the store's session; empty: none yet.
    [[nodiscard]] StoreIdentity identity() const { return identity_of(*current().header); }
    /// Identity in a segment's header.
    [[nodiscard]] static StoreIdentity identity_of(const StoreHeader& header);
    [[nodiscard]] Durability durability() const noexcept { return options_.durability; }
    [[nodiscard]] StandbyState standby_state() const noexcept;
    /// Writes the state, the role last. sync_newest waits until it is on the disk.
    void set_standby_state(const StandbyState& standby_state) noexcept;
    /// Number of segments: with messages, current, and prepared.
    [[nodiscard]] std::size_t segments() const noexcept;
    [[nodiscard]] std::size_t capacity_bytes() const noexcept override { return chain_bytes_; }
    void refresh() noexcept override;

    /// Drops segments that are empty or beyond the bounds, if their messages were written to the socket. A full segment
    /// triggers this; also call it periodically, for segments that became too old or were reset.
    void trim() noexcept;

    /// Slow work for a background thread: prepares the next segment, removes files of dropped segments, releases
    /// memory, and with Durability::interval waits for the disk once per interval. An error (ENOSPC: the disk is full)
    /// is counted in Counters::failures and costs only history: the store continues with its segments and retries after
    /// a second.
    [[nodiscard]] std::error_code maintain(core::Moment now) noexcept;
    /// Waits until everything is on the disk.
    [[nodiscard]] std::error_code sync() noexcept;
    /// Waits until the newest message and both numbers are on the disk.
    [[nodiscard]] std::error_code sync_newest() noexcept;

protected:
    [[nodiscard]] Turn turn() noexcept override;
    [[nodiscard]] Turn next_turn() const noexcept override;
    [[nodiscard]] std::optional<std::string_view> retrieve_elsewhere(std::uint64_t sequence) const noexcept override;
    [[nodiscard]] bool is_damaged_elsewhere(std::uint64_t sequence) const noexcept override;
    [[nodiscard]] std::uint64_t next_kept_elsewhere(std::uint64_t sequence) const noexcept override;
    void forget_elsewhere(std::uint64_t sequence) noexcept override;

private:
    struct Link;

    [[nodiscard]] Link& last() const noexcept { return *chain_.back(); }
    [[nodiscard]] bool is_ring() const noexcept { return options_.segments == 1; }

    // Called by the maintaining thread, or the constructor.
    [[nodiscard]] std::unique_ptr<Link> open_link(std::size_t number, std::size_t new_bytes) const;
    void open_all();
    void check_newest_is_there() const;
    void bind(StoreHeader& header, const std::filesystem::path& file) const;
    void offer(Link& link) noexcept;
    void prepare();
    [[nodiscard]] std::error_code sync_since_last() noexcept;
    void remove_given_up() noexcept;
    void unmap_old(bool all) noexcept;
    [[nodiscard]] std::size_t free_number() const;

    // Called by the using thread, or the constructor.
    void recover_chain();
    void enter(Link& link, const Start& start) noexcept;
    void note_newest(const Link& before) noexcept;
    void give_up(Link& link) noexcept;
    void count_all(std::uint64_t overwritten) noexcept;
    [[nodiscard]] Link* oldest_reusable() const noexcept;
    [[nodiscard]] const Link* reserve_segment() const noexcept;
    [[nodiscard]] Turn reuse(const Link* oldest) const noexcept;

    std::filesystem::path path_;
    Options options_;
    std::size_t max_bytes_;  // of a created segment
    std::int64_t created_utc_ns_;
    bool recovered_{false};

    // Used by the maintaining thread.
    std::vector<std::unique_ptr<Link>> links_;
    Link* spare_{nullptr};                // the first file, whose lock is the store's, while it is empty
    std::size_t next_bytes_{0};           // of the next segment
    std::int64_t retry_ns_{0};            // monotonic: when to try again after an error
    std::int64_t unmap_ns_{0};            // monotonic: when to unmap old segments that were read; 0: none
    std::uint64_t seen_{0};               // value of changes_
    std::int64_t synced_ns_{0};           // monotonic
    std::uint64_t synced_generation_{0};  // earlier generations are on the disk

    // Shared by both threads.
    std::atomic<Link*> fresh_{nullptr};      // the prepared segment
    std::atomic<std::uint64_t> changes_{0};  // of the links' roles
    mutable std::atomic<bool> old_segment_read_{false};
    std::atomic<std::int64_t> utc_ns_;

    // Used by the using thread.
    Link* first_{nullptr};      // the first file
    std::vector<Link*> chain_;  // oldest first, the current segment last
    std::size_t chain_bytes_{0};
    mutable std::size_t found_{0};    // index in chain_ of the message that was requested last
    std::uint64_t stored_before_{0};  // messages stored when the current link was entered
};

}  // namespace millpond::fix
