#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <millpond/core/crc32c.hpp>
#include <millpond/fix/store_layout.hpp>

namespace millpond::fix {

/// A segment of a message store in memory: header, index and records of store_layout.hpp. Damaged contents never cause
/// access outside the memory.
///
/// Threads: one writes; any may read messages that it knows to be stored. Memory: none.
struct StoreSegment {
    static constexpr std::size_t kAlignment = 64;   ///< Alignment of the memory; data bytes are a multiple of it.
    static constexpr std::size_t kMinBytes = 4096;  ///< Minimum bytes of records.

    /// Messages of a segment: numbers in [first, next), of which some may be missing.
    struct Extent {
        std::uint64_t first{0};  ///< First number; 0: no messages.
        std::uint64_t next{0};
        std::uint64_t messages{0};
        std::uint64_t begin{0};  ///< Positions of the first record and after the last.
        std::uint64_t end{0};
        std::uint64_t damaged{0};  ///< Records that `extent` and `recover` found damaged.
    };

    StoreHeader* header{nullptr};
    std::atomic<std::uint64_t>* index{nullptr};
    std::uint64_t slot_mask{0};
    std::span<char> data;

    /// Size of a segment of `data_bytes`, including header and index.
    [[nodiscard]] static std::size_t memory_bytes(std::size_t data_bytes) noexcept;
    /// Rounds down to a valid size. Throws std::invalid_argument below kMinBytes.
    [[nodiscard]] static std::size_t checked_bytes(std::size_t data_bytes);
    /// Size of a record with `bytes` between its header and its CRC.
    [[nodiscard]] static constexpr std::uint64_t record_bytes(std::uint64_t bytes) noexcept {
        constexpr auto kUnit = sizeof(StoreRecord);
        return (sizeof(StoreRecord) + bytes + kStoreCrcBytes + kUnit - 1) / kUnit * kUnit;
    }
    [[nodiscard]] static std::uint64_t record_bytes(const StoreRecord& record) noexcept {
        return record_bytes(std::uint64_t{record.offset} + record.length);
    }
    /// Correct CRC of a record.
    [[nodiscard]] static std::uint32_t crc_of(std::uint64_t sequence, std::uint64_t position, std::uint64_t offset,
                                              std::string_view message) noexcept {
        const std::uint64_t words[]{sequence, position, offset << 32U | message.size()};
        return core::crc32c(words, std::as_bytes(std::span{message.data(), message.size()}));
    }

    /// Makes an empty segment in `memory`, which is zeroed, aligned, and has memory_bytes(data_bytes) or more.
    [[nodiscard]] static StoreSegment create(std::span<std::byte> memory, std::size_t data_bytes,
                                             std::int64_t creation_utc_ns) noexcept;
    /// Opens the segment in `memory` without changing it; nullopt if it is not a segment of this layout.
    [[nodiscard]] static std::optional<StoreSegment> open(std::span<std::byte> memory) noexcept;
    /// Error text for a segment of another layout; empty if the bytes are not one.
    [[nodiscard]] static std::string other_layout(std::span<const std::byte> memory, const std::string& file);

    [[nodiscard]] std::atomic<std::uint64_t>& entry(std::uint64_t sequence) const noexcept {
        return index[sequence & slot_mask];
    }
    [[nodiscard]] StoreRecord& record_at(std::uint64_t position) const noexcept {
        return *reinterpret_cast<StoreRecord*>(data.data() + position % data.size());
    }
    /// Record of the message, inside the memory; null if it is not in the segment or overwritten. The CRC is not
    /// checked.
    [[nodiscard]] const StoreRecord* find(std::uint64_t sequence) const noexcept {
        const auto position = entry(sequence).load(std::memory_order_relaxed);
        if (sequence == 0 || !is_kept(position)) return nullptr;
        const auto& record = record_at(position);
        // sync "message stored": commit
        return record.sequence.load(std::memory_order_acquire) == sequence && fits(position) ? &record : nullptr;
    }
    [[nodiscard]] static std::string_view message_of(const StoreRecord& record) noexcept {
        return {reinterpret_cast<const char*>(&record + 1) + record.offset, record.length};
    }
    /// Returns the message if it is stored and its CRC is correct.
    [[nodiscard]] std::optional<std::string_view> retrieve(std::uint64_t sequence) const noexcept;
    /// Whether the record in this number's slot is damaged.
    [[nodiscard]] bool is_damaged(std::uint64_t sequence) const noexcept;

    /// Whether the slot has a stored message; the CRC is not checked.
    [[nodiscard]] bool is_whole(std::uint64_t slot) const noexcept;
    /// Lowest number from `sequence` on whose message is stored; the CRC is not checked. UINT64_MAX if there is none.
    /// Linear in the slots unless it is `sequence` itself.
    [[nodiscard]] std::uint64_t next_kept(std::uint64_t sequence) const noexcept;
    /// Computes the extent by reading each slot once.
    [[nodiscard]] Extent extent() const noexcept;
    /// Extent at the time of sealing.
    [[nodiscard]] Extent sealed_extent() const noexcept;
    void seal(const Extent& extent) const noexcept;
    /// Rebuilds the index after a writer that may have died at any instruction, and returns the extent. `end` is the
    /// position of the next record.
    Extent recover() noexcept;
    /// Records that the numbers in [first, next) never have a message. The header keeps the newest kStoreSkips of such
    /// ranges; this one must follow those that it has.
    void remember_skip(std::uint64_t first, std::uint64_t next) const noexcept;
    /// Removes skipped numbers from this one on from the header.
    void forget_skips_from(std::uint64_t sequence) const noexcept;
    /// Count of the numbers in [first, next) that the header records as skipped.
    [[nodiscard]] std::uint64_t skipped(std::uint64_t first, std::uint64_t next) const noexcept;
    /// Removes messages with this number and above. Linear in the slots and the records.
    void forget_from(std::uint64_t sequence) const noexcept;
    /// Drops all messages and returns the next position: the segment continues empty from there.
    std::uint64_t give_up() const noexcept;
    /// End of the lap of data_bytes that contains the newest claim.
    [[nodiscard]] std::uint64_t lap_end() const noexcept;

private:
    /// Whether a record at this position would not be overwritten by a newer one.
    [[nodiscard]] bool is_kept(std::uint64_t position) const noexcept {
        const auto claimed_end = header->claimed_end.load(std::memory_order_relaxed);
        return position != 0 && position % sizeof(StoreRecord) == 0 && position < claimed_end &&
               claimed_end - position <= data.size();
    }
    /// Whether the record at this position ends inside the memory.
    [[nodiscard]] bool fits(std::uint64_t position) const noexcept {
        return record_bytes(record_at(position)) <= data.size() - position % data.size();
    }
    [[nodiscard]] bool is_sound(std::uint64_t position) const noexcept;
    [[nodiscard]] std::uint64_t last_named() const noexcept;
    [[nodiscard]] std::uint64_t next_sound(std::uint64_t position, std::uint64_t last) const noexcept;
    template <class Visit>
    std::uint64_t for_each_of_lap(Visit&& visit) const noexcept;
    void count_unreadable(Extent& all) const noexcept;
};

}  // namespace millpond::fix
