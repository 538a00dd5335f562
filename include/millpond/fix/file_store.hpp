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
#include <millpond/fix/store_identity.hpp>
#include <millpond/fix/store_standing.hpp>
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
/// number behind the name. When the current segment is full, the one that `maintain` has prepared becomes current, and
/// the oldest segments beyond the bounds are given up; their files go with the next `maintain`. Where none is prepared
/// the oldest segment is used again at once. Neither needs a system call. The layout is the same as in memory. A
/// restart scans the current segment and reads the headers of the others.
///
/// A store belongs to one session: it keeps the identity that it is first opened with, and refuses any other. Files of
/// layout 2 are rewritten when they are opened, messages and numbers included; a process that dies meanwhile leaves
/// either the old files or the new ones behind. Segments of any size are opened, so the bounds may change between runs.
///
/// Threads: as MessageStore, with trim and both kinds of sync; `maintain` may run on one other thread.
/// Memory:  the files, mapped and allocated: a full disk is an error when a segment is made, never later.
class FileStore final : public MessageStore {
public:
    static constexpr std::size_t kMostSegments = 1024;
    static constexpr std::size_t kFirstBytes = std::size_t{1} << 20U;  ///< Of a growing store's first segment.

    struct Options {
        /// Of messages, in all segments together. The segment that is prepared comes on top.
        std::size_t data_bytes = MemoryStore::kDefaultBytes;
        /// Of equal size, up to 64; 1: one file, used as a ring. 0: the store grows, each segment having twice the size
        /// of the one before, from kFirstBytes to 16 MiB or 1/512 of data_bytes.
        std::size_t segments = 4;
        std::size_t least_bytes = StoreSegment::kLeastBytes;  ///< Smaller segments, of an earlier run, are only read.
        std::int64_t keep_ns = 0;  ///< A segment is given up so long after it was left; 0: never for its age.
        /// Of messages, newest first. Older segments are dropped from memory, and read from the page cache or the
        /// disk when they are asked for.
        std::size_t resident_bytes = std::numeric_limits<std::size_t>::max();
        Durability durability = Durability::process;
        std::int64_t interval_ns = 1'000'000'000;
        bool prefault = true;            ///< The segments of resident_bytes, and what is prepared.
        StoreIdentity identity{};        ///< Of the session; empty: any store is opened, as it is.
        std::uint32_t file_mode = 0640;  ///< Permissions of the files that it creates.
    };

    /// Opens the chain, however long it is, or makes its first two segments. What a killed process left unfinished is
    /// removed.
    /// Throws memory::RegionError when a file cannot be had (ENOSPC: the disk is full; EBUSY: another process owns it),
    /// std::invalid_argument when one is no segment or of another session, or the one with the newest messages is gone;
    /// files that it has made are removed then.
    FileStore(const std::filesystem::path& path, std::int64_t utc_ns, const Options& options);
    ~FileStore() override;

    /// File of the segment with this number, from 0 on.
    [[nodiscard]] static std::filesystem::path segment_path(const std::filesystem::path& path, std::size_t number);
    /// Numbers of the files that are there, in order. Some may be missing: their segments were given up.
    [[nodiscard]] static std::vector<std::size_t> segment_numbers(const std::filesystem::path& path);
    /// Bytes of messages in the largest segment that these options make. Throws std::invalid_argument when they make
    /// none.
    [[nodiscard]] static std::size_t segment_bytes(const Options& options);

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
    [[nodiscard]] StoreStanding standing() const noexcept;
    /// The role is written last. sync_newest waits until the disk has it.
    void set_standing(const StoreStanding& standing) noexcept;
    /// Segments with messages, the current one, and the one that is prepared.
    [[nodiscard]] std::size_t segments() const noexcept;
    [[nodiscard]] std::size_t capacity_bytes() const noexcept override { return chain_bytes_; }
    void refresh() noexcept override;

    /// Gives up the segments that are empty or beyond the bounds and whose messages the socket has taken. A full
    /// segment brings that about; call it now and then for segments that became too old or were reset.
    void trim() noexcept;

    /// What needs time, for a thread that has it: prepares the next segment, removes the files of those that were given
    /// up, lets go of memory, and waits for the disk with Durability::interval when the interval is over. An error
    /// (ENOSPC: the disk is full) is counted in Counters::failures and costs only history: the store continues
    /// with the segments it has. The next attempt is a second later.
    [[nodiscard]] std::error_code maintain(core::Moment now) noexcept;
    /// Waits until the disk has everything.
    [[nodiscard]] std::error_code sync() noexcept;
    /// Waits until the disk has the newest message and both numbers.
    [[nodiscard]] std::error_code sync_newest() noexcept;

protected:
    [[nodiscard]] Turn turn() noexcept override;
    [[nodiscard]] Turn next_turn() const noexcept override;
    [[nodiscard]] std::optional<std::string_view> retrieve_elsewhere(std::uint64_t sequence) const noexcept override;
    [[nodiscard]] std::uint64_t next_kept_elsewhere(std::uint64_t sequence) const noexcept override;
    void forget_elsewhere(std::uint64_t sequence) noexcept override;

private:
    struct Link;

    [[nodiscard]] Link& last() const noexcept { return *chain_.back(); }
    [[nodiscard]] bool is_ring() const noexcept { return options_.segments == 1; }

    // Of the thread that maintains, or the constructor.
    [[nodiscard]] std::unique_ptr<Link> open_link(std::size_t number, std::size_t new_bytes) const;
    void open_all();
    void check_newest_is_there() const;
    void bind(StoreHeader& header, const std::filesystem::path& file) const;
    void offer(Link& link) noexcept;
    void prepare();
    [[nodiscard]] std::error_code sync_since_last() noexcept;
    void remove_given_up() noexcept;
    void let_go_of_old(bool all) noexcept;
    [[nodiscard]] std::size_t free_number() const;

    // Of the thread that uses the store, or the constructor.
    void take_over();
    void enter(Link& link, const Start& start) noexcept;
    void note_newest(const Link& before) noexcept;
    void give_up(Link& link) noexcept;
    void count_all(std::uint64_t overwritten) noexcept;
    [[nodiscard]] Link* oldest_to_use_again() const noexcept;
    [[nodiscard]] const Link* reserve_segment() const noexcept;
    [[nodiscard]] Turn use_again(const Link* oldest) const noexcept;

    std::filesystem::path path_;
    Options options_;
    std::size_t most_bytes_;  // of a segment that it makes
    std::int64_t created_utc_ns_;
    bool recovered_{false};

    // The maintaining thread's.
    std::vector<std::unique_ptr<Link>> links_;
    Link* spare_{nullptr};                // the first file, whose lock is the store's, while it holds nothing
    std::size_t next_bytes_{0};           // of the next segment
    std::int64_t retry_ns_{0};            // monotonic: when to try again after an error
    std::int64_t let_go_ns_{0};           // monotonic: when to drop old segments that were read; 0: none was
    std::uint64_t seen_{0};               // of changes_
    std::int64_t synced_ns_{0};           // monotonic
    std::uint64_t synced_generation_{0};  // the generations before it are on the disk

    // Between the two.
    std::atomic<Link*> fresh_{nullptr};      // prepared
    std::atomic<std::uint64_t> changes_{0};  // of the links' roles
    mutable std::atomic<bool> looked_back_{false};
    std::atomic<std::int64_t> utc_ns_;

    // The using thread's.
    Link* first_{nullptr};      // the first file
    std::vector<Link*> chain_;  // the oldest first, the current one last
    std::size_t chain_bytes_{0};
    mutable std::size_t found_{0};    // place in chain_ of the message that was asked for last
    std::uint64_t stored_before_{0};  // messages stored when the current link was entered
};

}  // namespace millpond::fix
