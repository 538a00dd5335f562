#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <millpond/memory/detail/thread_slots.hpp>
#include <millpond/memory/pool_policy.hpp>

namespace millpond::memory::detail {

/// Lets AddressSanitizer and valgrind report every access to [begin, begin + bytes); does nothing without them.
void hide(void* begin, std::size_t bytes) noexcept;

enum class Content : std::uint8_t {
    old,   ///< The contents count as written.
    none,  ///< Valgrind reports reads before the first write.
};
/// Makes the bytes accessible again.
void show(void* begin, std::size_t bytes, Content content) noexcept;

/// Stores the state of the blocks of a checked pool, outside the blocks.
///
/// Threads: any, for blocks that they own. A double release by two threads at once is detected when the block is
///          acquired for the second time.
/// Memory:  24 bytes per block in the pool's Region, 16 more after each block.
class BlockLedger {
public:
    struct Record {
        std::atomic<std::uint32_t> generation{0};  ///< Odd while the block is in use.
        std::uint32_t line{0};
        const char* file{""};
    };
    /// After each block; an overrun changes it.
    static constexpr std::size_t kGuardBytes = 16;

    BlockLedger(const char* pool, std::byte* records, std::uint32_t blocks, std::size_t block_bytes,
                bool fill) noexcept;

    /// The block at `index` is acquired.
    void acquired(std::uint32_t index, std::byte* block, Checked::Place place) noexcept;
    /// The block at `index` is released. Terminates the program with the fault if it was not in use or was overrun.
    void released(std::uint32_t index, std::byte* block) noexcept;

    [[nodiscard]] bool is_out(std::uint32_t index) const noexcept {
        return records_[index].generation.load(std::memory_order_relaxed) % 2 == 1;
    }
    void require_out(std::uint32_t index, const void* block) const noexcept {
        if (!is_out(index)) fault("was released twice", index, block);
    }
    [[noreturn]] void fault(const char* what, std::uint32_t index, const void* block) const noexcept {
        misuse(pool_, what, block, records_[index].file, records_[index].line);
    }

private:
    static constexpr std::uint64_t kGuard = 0xC0DE'FACE'5AFE'B10C;
    static constexpr unsigned char kReleased = 0xDD;

    // One by one, as they were written: a wider load would wait for the stores.
    static void put_word(std::byte* at, std::uint64_t word) noexcept { std::memcpy(at, &word, sizeof word); }
    static std::uint64_t word_at(const std::byte* at) noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof word);
        return word;
    }
    [[nodiscard]] bool is_filled(const std::byte* block) const noexcept;

    const char* pool_;
    Record* records_;
    std::size_t block_bytes_;
    bool fill_;
};

inline void BlockLedger::acquired(std::uint32_t index, std::byte* block, Checked::Place place) noexcept {
    auto& record = records_[index];
    const auto generation = record.generation.load(std::memory_order_relaxed);
    if (generation % 2 == 1) fault("was released twice", index, block);
    if (fill_ && generation > 0) {
        show(block, block_bytes_, Content::old);
        if (!is_filled(block)) fault("was written to after its release", index, block);
    }
    show(block, block_bytes_, Content::none);
    record.file = place.file();
    record.line = place.line();
    put_word(block + block_bytes_, kGuard);
    put_word(block + block_bytes_ + sizeof kGuard, kGuard ^ index);
    record.generation.store(generation + 1, std::memory_order_relaxed);
}

inline void BlockLedger::released(std::uint32_t index, std::byte* block) noexcept {
    auto& record = records_[index];
    const auto generation = record.generation.load(std::memory_order_relaxed);
    if (generation % 2 == 0) fault("was released twice", index, block);
    record.generation.store(generation + 1, std::memory_order_relaxed);
    if (word_at(block + block_bytes_) != kGuard || word_at(block + block_bytes_ + sizeof kGuard) != (kGuard ^ index)) {
        fault("was written beyond its end", index, block);
    }
    if (fill_) std::memset(block, kReleased, block_bytes_);
    hide(block, block_bytes_);
}

}  // namespace millpond::memory::detail
