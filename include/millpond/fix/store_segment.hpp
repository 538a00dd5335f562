#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/fix/store_layout.hpp>

namespace millpond::fix {

/// A segment of a message store where it lies: header, index and records of store_layout.hpp.
///
/// Threads: one writes; any may read what it knows to be there. Memory: none.
struct StoreSegment {
    static constexpr std::size_t kAlignment = 64;     ///< Of the memory; data bytes are a multiple of it.
    static constexpr std::size_t kLeastBytes = 4096;  ///< Of records.

    /// Which messages a segment holds: numbers from `first` up to `next`, not all of them perhaps.
    struct Extent {
        std::uint64_t first{0};  ///< 0: none.
        std::uint64_t next{0};
        std::uint64_t messages{0};
        std::uint64_t begin{0};  ///< Positions of the first record and behind the last.
        std::uint64_t end{0};
    };

    StoreHeader* header{nullptr};
    std::atomic<std::uint64_t>* index{nullptr};
    std::uint64_t slot_mask{0};
    std::span<char> data;

    /// Bytes that a segment of `data_bytes` takes, header and index included.
    [[nodiscard]] static std::size_t memory_bytes(std::size_t data_bytes) noexcept;
    /// Rounded down to what a segment may have. Throws std::invalid_argument below kLeastBytes.
    [[nodiscard]] static std::size_t checked_bytes(std::size_t data_bytes);
    /// Of a record with so many bytes behind its header.
    [[nodiscard]] static constexpr std::uint64_t record_bytes(std::uint64_t bytes) noexcept {
        return (sizeof(StoreRecord) + bytes + sizeof(StoreRecord) - 1) / sizeof(StoreRecord) * sizeof(StoreRecord);
    }

    /// Makes an empty one of `memory`, which is zeroed, aligned, and of memory_bytes(data_bytes) or more.
    [[nodiscard]] static StoreSegment create(std::span<std::byte> memory, std::size_t data_bytes,
                                             std::int64_t creation_utc_ns) noexcept;
    /// Looks at what lies in `memory` and changes nothing. Nothing when it is no segment of this layout.
    [[nodiscard]] static std::optional<StoreSegment> open(std::span<std::byte> memory) noexcept;

    [[nodiscard]] std::atomic<std::uint64_t>& entry(std::uint64_t sequence) const noexcept {
        return index[sequence & slot_mask];
    }
    [[nodiscard]] StoreRecord& record_at(std::uint64_t position) const noexcept {
        return *reinterpret_cast<StoreRecord*>(data.data() + position % data.size());
    }
    /// The message's record; null when the segment does not hold it or it is overwritten.
    [[nodiscard]] const StoreRecord* find(std::uint64_t sequence) const noexcept {
        const auto position = entry(sequence).load(std::memory_order_relaxed);
        if (position == 0 || position + data.size() < header->claimed_end.load(std::memory_order_relaxed)) {
            return nullptr;
        }
        const auto& record = record_at(position);
        return record.sequence.load(std::memory_order_relaxed) == sequence ? &record : nullptr;
    }
    [[nodiscard]] static std::string_view message_of(const StoreRecord& record) noexcept {
        return {reinterpret_cast<const char*>(&record + 1) + record.offset, record.length};
    }
    [[nodiscard]] std::optional<std::string_view> retrieve(std::uint64_t sequence) const noexcept {
        const auto* record = sequence == 0 ? nullptr : find(sequence);
        return record == nullptr ? std::nullopt : std::optional{message_of(*record)};
    }

    /// Whether the slot leads to a message that is there.
    [[nodiscard]] bool is_whole(std::uint64_t slot) const noexcept;
    /// The lowest number from `sequence` on whose message is there; UINT64_MAX when there is none. Linear in the slots
    /// unless it is `sequence` itself.
    [[nodiscard]] std::uint64_t next_kept(std::uint64_t sequence) const noexcept;
    /// Looks at each slot once.
    [[nodiscard]] Extent extent() const noexcept;
    /// What it held when it was left.
    [[nodiscard]] Extent sealed_extent() const noexcept;
    void seal(const Extent& extent) const noexcept;
    /// The extent after a writer that may have died at any instruction: the index is rebuilt. `end` is where the next
    /// record begins.
    Extent recover() noexcept;
    /// The numbers from `first` up to `next`, which is not one of them, never have a message. The header remembers the
    /// newest kStoreSkips of such ranges; this one lies behind those that it knows.
    void remember_skip(std::uint64_t first, std::uint64_t next) const noexcept;
    /// The numbers from this one on may have messages.
    void forget_skips_from(std::uint64_t sequence) const noexcept;
    /// How many of the numbers from `first` up to `next` the header knows as skipped.
    [[nodiscard]] std::uint64_t skipped(std::uint64_t first, std::uint64_t next) const noexcept;
    /// Messages with this number and above are forgotten. Linear in the slots and the records.
    void forget_from(std::uint64_t sequence) const noexcept;
    /// Gives up all messages: it is empty, at positions behind them. Gives the first of these.
    std::uint64_t give_up() const noexcept;
    /// End of the stretch of data_bytes in which the newest claim lies.
    [[nodiscard]] std::uint64_t lap_end() const noexcept;

private:
    template <class Visit>
    std::uint64_t for_each_of_lap(Visit&& visit) const noexcept;
};

}  // namespace millpond::fix
