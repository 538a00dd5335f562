#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <numeric>
#include <vector>

#include <millpond/core/cache_line.hpp>

namespace millpond::feed {

/// Shares and number of orders of a level in one word, so that both change in one addition.
struct LevelTotal {
    static constexpr int kSharesBits = 44;
    static constexpr std::uint64_t kOneOrder = std::uint64_t{1} << kSharesBits;
    /// The highest bit of both counts, which no total has.
    static constexpr std::uint64_t kOverflow = std::uint64_t{1} << 63 | kOneOrder >> 1;

    [[nodiscard]] static constexpr std::uint64_t shares(std::uint64_t total) noexcept {
        return total & (kOneOrder - 1);
    }
    [[nodiscard]] static constexpr std::uint32_t orders(std::uint64_t total) noexcept {
        return static_cast<std::uint32_t>(total >> kSharesBits);
    }
    /// Adds an order. False, with nothing changed, if the sum of the shares or of the orders does not fit.
    [[nodiscard]] static constexpr bool add(std::uint64_t& total, std::uint64_t more) noexcept {
        const auto sum = total + more;
        if ((sum & kOverflow) != 0) [[unlikely]]
            return false;
        total = sum;
        return true;
    }
};

/// A sorted run of up to kLevels price levels in contiguous memory. Its owner stores the number of levels.
struct alignas(core::kCacheLine) LevelChunk {
    static constexpr std::size_t kLevels = 64;

    std::array<std::uint32_t, kLevels> keys{};
    std::array<std::uint64_t, kLevels> totals{};
};

/// The chunks of a side that has several, from worst to best.
struct LevelDirectory {
    static constexpr std::size_t kChunks = 64;

    std::array<std::uint32_t, kChunks> first_keys{};
    std::array<std::uint32_t, kChunks> chunks{};
    std::array<std::uint8_t, kChunks> counts{};
};

/// A pool of slots, identified by index.
///
/// Threads: one.
/// Memory:  sizeof(T) + 4 bytes per slot, allocated and touched once in the constructor, and in try_grow.
template <class T>
class LevelSlots {
public:
    static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

    LevelSlots(std::size_t slots, std::pmr::memory_resource* memory)
        : slots_(slots, T{}, memory), free_(slots, memory) {
        reset();
    }

    /// Returns kNone if all slots are in use. A slot keeps the contents of its last owner.
    [[nodiscard]] std::uint32_t acquire() noexcept { return free_count_ == 0 ? kNone : free_[--free_count_]; }
    void release(std::uint32_t index) noexcept { free_[free_count_++] = index; }

    /// Returns all slots to the pool, in O(slots) unless none is in use.
    void reset() noexcept {
        if (free_count_ == free_.size()) return;
        std::iota(free_.begin(), free_.end(), std::uint32_t{0});
        free_count_ = free_.size();
    }

    [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
    [[nodiscard]] bool is_exhausted() const noexcept { return free_count_ == 0; }
    /// Reserves memory for `slots` in total; without memory throws std::bad_alloc, with no visible change.
    void reserve(std::size_t slots) {
        free_.reserve(slots);
        slots_.reserve(slots);
    }
    /// Grows to `slots`; requires an earlier reserve.
    void grow(std::size_t slots) noexcept {
        const auto before = slots_.size();
        slots_.resize(slots);
        free_.resize(slots);
        for (auto index = before; index < slots; ++index) release(static_cast<std::uint32_t>(index));
    }

    [[nodiscard]] T& operator[](std::uint32_t index) noexcept { return slots_[index]; }
    [[nodiscard]] const T& operator[](std::uint32_t index) const noexcept { return slots_[index]; }

private:
    std::pmr::vector<T> slots_;
    std::pmr::vector<std::uint32_t> free_;
    std::size_t free_count_{0};
};

/// Pool of the chunks of all sides of all books, and of the directories of sides with several chunks. There are at most
/// half as many directories as chunks.
///
/// Threads: one.
/// Memory:  1,062 bytes a chunk, allocated and touched once in the constructor, and in try_grow.
class LevelPool {
public:
    static constexpr std::uint32_t kNone = LevelSlots<LevelChunk>::kNone;

    explicit LevelPool(std::size_t chunks, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : chunks_(chunks, memory), directories_(chunks / 2, memory) {}

    /// Returns kNone if all chunks are in use.
    [[nodiscard]] std::uint32_t acquire() noexcept { return chunks_.acquire(); }
    void release(std::uint32_t index) noexcept { chunks_.release(index); }
    /// Acquires a directory for a side that has acquired its second chunk; never fails.
    [[nodiscard]] std::uint32_t acquire_directory() noexcept { return directories_.acquire(); }
    void release_directory(std::uint32_t index) noexcept { directories_.release(index); }

    /// Returns all chunks to the pool, in O(chunks) unless none is in use.
    void reset() noexcept {
        chunks_.reset();
        directories_.reset();
    }

    [[nodiscard]] std::size_t chunks() const noexcept { return chunks_.size(); }
    [[nodiscard]] bool is_exhausted() const noexcept { return chunks_.is_exhausted(); }
    /// Grows the pool to `chunks` in total, which invalidates references to chunks. False, with nothing changed, if
    /// there is no memory.
    [[nodiscard]] bool try_grow(std::size_t chunks) noexcept {
        if (chunks <= chunks_.size()) return true;
        try {
            chunks_.reserve(chunks);
            directories_.reserve(chunks / 2);
        } catch (const std::bad_alloc&) {
            return false;
        }
        chunks_.grow(chunks);
        directories_.grow(chunks / 2);
        return true;
    }

    [[nodiscard]] LevelChunk& operator[](std::uint32_t index) noexcept { return chunks_[index]; }
    [[nodiscard]] const LevelChunk& operator[](std::uint32_t index) const noexcept { return chunks_[index]; }
    [[nodiscard]] LevelDirectory& directory(std::uint32_t index) noexcept { return directories_[index]; }
    [[nodiscard]] const LevelDirectory& directory(std::uint32_t index) const noexcept { return directories_[index]; }

private:
    LevelSlots<LevelChunk> chunks_;
    LevelSlots<LevelDirectory> directories_;
};

}  // namespace millpond::feed
