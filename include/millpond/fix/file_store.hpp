#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include <millpond/fix/message_store.hpp>
#include <millpond/memory/region.hpp>

namespace millpond::fix {

/// When a FileStore waits for the disk. Whatever is committed survives the death of the process in all three; the
/// choice is about the death of the machine.
enum class Durability : std::uint8_t {
    process,   ///< Never waits: the kernel writes when it likes.
    interval,  ///< `sync_if_due` waits once per interval: what was committed since the last one may be lost.
    message,   ///< `sync` after each commit, before the message goes out.
};

/// A MessageStore in a mapped file: the same layout, so a restart takes it over by looking at its index once (a few
/// nanoseconds for each of its slots). The file has its full size from the start; a full disk is an error then, not
/// later.
///
/// Threads: as MessageStore. Memory: the file, mapped and allocated.
class FileStore final : public MessageStore {
public:
    struct Options {
        std::size_t data_bytes = MemoryStore::kDefaultBytes;
        Durability durability = Durability::process;
        std::int64_t interval_ns = 1'000'000'000;
        bool prefault = true;
    };

    /// Opens or makes the file. Throws memory::RegionError when it cannot be had (ENOSPC: the disk is full; EBUSY:
    /// another process owns it), std::invalid_argument when it is no store or one of another size.
    FileStore(const std::filesystem::path& path, std::int64_t utc_ns, const Options& options);

    /// Whether the file was there already.
    [[nodiscard]] bool recovered() const noexcept { return recovered_; }

    [[nodiscard]] Durability durability() const noexcept { return durability_; }

    /// Waits until the disk has everything.
    [[nodiscard]] std::error_code sync() noexcept;
    /// Does that with Durability::interval when the interval is over.
    [[nodiscard]] std::error_code sync_if_due(std::int64_t utc_ns) noexcept;

private:
    memory::Region region_;
    Durability durability_;
    std::int64_t interval_ns_;
    std::int64_t synced_utc_ns_;
    bool recovered_{false};
};

}  // namespace millpond::fix
