#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <millpond/fix/store_layout.hpp>

namespace millpond::fix {

/// A segment of a message store where it lies: header, index and messages of store_layout.hpp.
///
/// Threads: one writes; any may read what it knows to be there. Memory: none of its own.
struct StoreSegment {
    static constexpr std::size_t kAlignment = 64;     ///< Of the memory; data bytes are a multiple of it.
    static constexpr std::size_t kLeastBytes = 4096;  ///< Of messages.

    /// Which messages a segment holds: numbers from `first` up to `next`, not all of them perhaps.
    struct Extent {
        std::uint64_t first{0};  ///< 0: none.
        std::uint64_t next{0};
        std::uint64_t messages{0};
        std::uint64_t begin{0};  ///< Positions of the first byte and of the one behind the last.
        std::uint64_t end{0};
    };

    StoreHeader* header{nullptr};
    StoreEntry* entries{nullptr};
    std::uint64_t slot_mask{0};
    std::span<char> data;

    /// Bytes that a segment of `data_bytes` takes, header and index included.
    [[nodiscard]] static std::size_t memory_bytes(std::size_t data_bytes) noexcept;
    /// Rounded down to what a segment may have. Throws std::invalid_argument below kLeastBytes.
    [[nodiscard]] static std::size_t checked_bytes(std::size_t data_bytes);

    /// Makes an empty one of `memory`, which is zeroed, aligned, and of memory_bytes(data_bytes) or more.
    [[nodiscard]] static StoreSegment create(std::span<std::byte> memory, std::size_t data_bytes,
                                             std::int64_t utc_ns) noexcept;
    /// Looks at what lies in `memory` and changes nothing. Nothing when it is no segment of this layout.
    [[nodiscard]] static std::optional<StoreSegment> open(std::span<std::byte> memory) noexcept;

    [[nodiscard]] StoreEntry& entry(std::uint64_t sequence) const noexcept { return entries[sequence & slot_mask]; }
    /// Whether the entry tells of this message and its bytes are not overwritten.
    [[nodiscard]] bool holds(const StoreEntry& candidate, std::uint64_t sequence) const noexcept {
        return candidate.sequence.load(std::memory_order_relaxed) == sequence &&
               candidate.position + data.size() >= header->claimed_end.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::optional<std::string_view> retrieve(std::uint64_t sequence) const noexcept {
        const auto& slot = entry(sequence);
        if (sequence == 0 || !holds(slot, sequence)) return std::nullopt;
        return std::string_view{data.data() + slot.position % data.size(), slot.length};
    }

    /// Whether the slot tells of a message that is there.
    [[nodiscard]] bool is_whole(std::uint64_t slot) const noexcept;
    /// Looks at each slot once.
    [[nodiscard]] Extent extent() const noexcept;
    /// The same after a writer that may have died at any instruction; slots that tell of no message are cleared.
    Extent recover() noexcept;
    /// Messages with this number and above are forgotten. Linear in the slots.
    void forget_from(std::uint64_t sequence) noexcept;
    /// Gives up all messages: it is empty, at a position behind them.
    void begin_anew() noexcept;
    /// End of the stretch of data_bytes in which the newest claim lies.
    [[nodiscard]] std::uint64_t lap_end() const noexcept;
};

}  // namespace millpond::fix
