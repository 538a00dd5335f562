#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <numeric>
#include <vector>

namespace millpond::feed {

/// A sorted run of up to kLevels price levels in contiguous memory.
struct LevelChunk {
    static constexpr std::size_t kLevels = 64;

    std::uint32_t count{0};
    std::array<std::uint32_t, kLevels> keys{};
    std::array<std::uint64_t, kLevels> shares{};
};

/// The chunks that all sides of all books share.
///
/// Threads: one.
/// Memory:  776 bytes a chunk, taken and touched once in the constructor, and in try_grow.
class LevelPool {
public:
    static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

    explicit LevelPool(std::size_t chunks, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : chunks_(chunks, LevelChunk{}, memory), free_(chunks, memory) {
        reset();
    }

    /// kNone when all are in use.
    [[nodiscard]] std::uint32_t acquire() noexcept {
        if (free_count_ == 0) return kNone;
        const auto index = free_[--free_count_];
        chunks_[index].count = 0;
        return index;
    }
    void release(std::uint32_t index) noexcept { free_[free_count_++] = index; }

    /// Takes all chunks back, in O(chunks) unless all are there.
    void reset() noexcept {
        if (free_count_ == free_.size()) return;
        std::iota(free_.begin(), free_.end(), std::uint32_t{0});
        free_count_ = free_.size();
    }

    [[nodiscard]] std::size_t chunks() const noexcept { return chunks_.size(); }
    [[nodiscard]] bool is_exhausted() const noexcept { return free_count_ == 0; }
    /// Makes it a pool of `chunks` in all; references to chunks are void then. False, with nothing changed, when there
    /// is no memory.
    [[nodiscard]] bool try_grow(std::size_t chunks) noexcept;

    [[nodiscard]] LevelChunk& operator[](std::uint32_t index) noexcept { return chunks_[index]; }
    [[nodiscard]] const LevelChunk& operator[](std::uint32_t index) const noexcept { return chunks_[index]; }

private:
    std::pmr::vector<LevelChunk> chunks_;
    std::pmr::vector<std::uint32_t> free_;
    std::size_t free_count_{0};
};

inline bool LevelPool::try_grow(std::size_t chunks) noexcept {
    const auto before = chunks_.size();
    if (chunks <= before) return true;
    try {
        free_.reserve(chunks);
        chunks_.resize(chunks);
    } catch (const std::bad_alloc&) {
        return false;
    }
    free_.resize(chunks);  // never allocates: reserved above
    for (auto index = before; index < chunks; ++index) free_[free_count_++] = static_cast<std::uint32_t>(index);
    return true;
}

/// The price levels of one side of a book, ordered by a key whose largest is the best: the price of a bid, the
/// complement of an ask's.
///
/// Levels stand in chunks, and a directory of up to kChunks chunks by their first key stands in the object itself. The
/// search begins at the best end, where nearly all orders come and go: one or two cache lines there. A change anywhere
/// moves at most one chunk (768 bytes) and one directory (512 bytes), so the worst case is bounded by constants. Two
/// neighbouring chunks that would fill three quarters of one are merged, so kChunks chunks hold at least 1,536 levels.
///
/// Threads: one.
/// Source:  a B+ tree of two levels (Bayer and McCreight 1972), without its root's growth.
class PriceLevels {
public:
    static constexpr std::size_t kChunks = 64;

    struct Level {
        std::uint32_t key{0};
        std::uint64_t shares{0};
    };

    /// False when there is no room for a new level; nothing has changed then.
    [[nodiscard]] bool add(LevelPool& pool, std::uint32_t key, std::uint64_t shares) noexcept;

    /// False when there is no such level. A level without shares goes.
    bool take(LevelPool& pool, std::uint32_t key, std::uint64_t shares) noexcept;

    /// Without shares when there is no level.
    [[nodiscard]] const Level& best() const noexcept { return best_; }

    /// Calls visit(level) from the best to the worst.
    template <class Visitor>
    void visit(const LevelPool& pool, Visitor&& visitor) const {
        for (auto d = used_; d-- > 0;) {
            const auto& chunk = pool[chunks_[d]];
            for (auto i = chunk.count; i-- > 0;) visitor(Level{chunk.keys[i], chunk.shares[i]});
        }
    }

    /// Asks for the memory that says where the chunks are, ahead of prefetch_best.
    void prefetch() const noexcept {
        __builtin_prefetch(&used_, 1);
        __builtin_prefetch(chunks_.data(), 1);
    }
    /// Asks for the best chunk's memory ahead of its use.
    void prefetch_best(const LevelPool& pool) const noexcept {
        if (used_ == 0) return;
        const auto& chunk = pool[chunks_[used_ - 1]];
        __builtin_prefetch(&chunk.count, 1);
        __builtin_prefetch(chunk.shares.data(), 1);
    }

    /// Forgets all levels without giving their chunks back: for LevelPool::reset.
    void forget() noexcept {
        used_ = 0;
        best_ = {};
    }

private:
    /// The chunk in which the key stands or belongs.
    [[nodiscard]] std::size_t chunk_of(std::uint32_t key) const noexcept {
        auto d = used_ - 1;
        while (d > 0 && first_keys_[d] > key) --d;
        return d;
    }
    /// Behind the last level of the chunk whose key is not above this one.
    [[nodiscard]] static std::size_t place_of(const LevelChunk& chunk, std::uint32_t key) noexcept {
        std::size_t i = chunk.count;
        while (i > 0 && chunk.keys[i - 1] > key) --i;
        return i;
    }
    [[nodiscard]] bool insert_chunk(LevelPool& pool, std::size_t at) noexcept;
    void remove_chunk(LevelPool& pool, std::size_t at) noexcept;
    [[nodiscard]] bool split(LevelPool& pool, std::size_t at) noexcept;
    void merge_if_sparse(LevelPool& pool, std::size_t left) noexcept;

    [[nodiscard]] Level find_best(const LevelPool& pool) const noexcept {
        if (used_ == 0) return {};
        const auto& chunk = pool[chunks_[used_ - 1]];
        return {chunk.keys[chunk.count - 1], chunk.shares[chunk.count - 1]};
    }

    std::size_t used_{0};
    Level best_;  // kept here, so that reading it touches no chunk
    std::array<std::uint32_t, kChunks> first_keys_{};
    std::array<std::uint32_t, kChunks> chunks_{};
};

inline bool PriceLevels::add(LevelPool& pool, std::uint32_t key, std::uint64_t shares) noexcept {
    if (used_ == 0 && !insert_chunk(pool, 0)) return false;
    auto d = chunk_of(key);
    auto* chunk = &pool[chunks_[d]];
    auto i = place_of(*chunk, key);
    if (i > 0 && chunk->keys[i - 1] == key) {
        chunk->shares[i - 1] += shares;
        if (key == best_.key) best_.shares += shares;
        return true;
    }
    if (chunk->count == LevelChunk::kLevels) {
        if (!split(pool, d)) return false;
        d += i > LevelChunk::kLevels / 2 ? 1 : 0;
        chunk = &pool[chunks_[d]];
        i = place_of(*chunk, key);
    }
    std::copy_backward(&chunk->keys[i], chunk->keys.data() + chunk->count, chunk->keys.data() + chunk->count + 1);
    std::copy_backward(&chunk->shares[i], chunk->shares.data() + chunk->count, chunk->shares.data() + chunk->count + 1);
    chunk->keys[i] = key;
    chunk->shares[i] = shares;
    ++chunk->count;
    first_keys_[d] = chunk->keys[0];
    if (key > best_.key || best_.shares == 0) best_ = {key, shares};
    return true;
}

inline bool PriceLevels::take(LevelPool& pool, std::uint32_t key, std::uint64_t shares) noexcept {
    if (used_ == 0) return false;
    const auto d = chunk_of(key);
    auto& chunk = pool[chunks_[d]];
    const auto behind = place_of(chunk, key);
    if (behind == 0 || chunk.keys[behind - 1] != key) return false;
    const auto i = behind - 1;
    chunk.shares[i] -= std::min(chunk.shares[i], shares);
    const bool was_best = key == best_.key;
    if (was_best) best_.shares = chunk.shares[i];
    if (chunk.shares[i] != 0) return true;
    std::copy(chunk.keys.data() + behind, chunk.keys.data() + chunk.count, &chunk.keys[i]);
    std::copy(chunk.shares.data() + behind, chunk.shares.data() + chunk.count, &chunk.shares[i]);
    --chunk.count;
    if (chunk.count == 0) {
        remove_chunk(pool, d);
    } else {
        first_keys_[d] = chunk.keys[0];
        if (d + 1 < used_) merge_if_sparse(pool, d);
        if (d > 0) merge_if_sparse(pool, d - 1);
    }
    if (was_best) best_ = find_best(pool);
    return true;
}

inline bool PriceLevels::insert_chunk(LevelPool& pool, std::size_t at) noexcept {
    if (used_ == kChunks) return false;
    const auto index = pool.acquire();
    if (index == LevelPool::kNone) return false;
    std::copy_backward(&first_keys_[at], first_keys_.data() + used_, first_keys_.data() + used_ + 1);
    std::copy_backward(&chunks_[at], chunks_.data() + used_, chunks_.data() + used_ + 1);
    first_keys_[at] = 0;
    chunks_[at] = index;
    ++used_;
    return true;
}

inline void PriceLevels::remove_chunk(LevelPool& pool, std::size_t at) noexcept {
    pool.release(chunks_[at]);
    std::copy(first_keys_.data() + at + 1, first_keys_.data() + used_, &first_keys_[at]);
    std::copy(chunks_.data() + at + 1, chunks_.data() + used_, &chunks_[at]);
    --used_;
}

inline bool PriceLevels::split(LevelPool& pool, std::size_t at) noexcept {
    constexpr auto kHalf = LevelChunk::kLevels / 2;
    if (!insert_chunk(pool, at + 1)) return false;
    auto& left = pool[chunks_[at]];
    auto& right = pool[chunks_[at + 1]];
    std::copy(left.keys.data() + kHalf, left.keys.data() + left.count, right.keys.data());
    std::copy(left.shares.data() + kHalf, left.shares.data() + left.count, right.shares.data());
    right.count = static_cast<std::uint32_t>(left.count - kHalf);
    left.count = kHalf;
    first_keys_[at + 1] = right.keys[0];
    return true;
}

inline void PriceLevels::merge_if_sparse(LevelPool& pool, std::size_t left_at) noexcept {
    constexpr auto kSparse = LevelChunk::kLevels * 3 / 4;
    auto& left = pool[chunks_[left_at]];
    auto& right = pool[chunks_[left_at + 1]];
    if (left.count + right.count > kSparse) return;
    std::copy_n(right.keys.data(), right.count, left.keys.data() + left.count);
    std::copy_n(right.shares.data(), right.count, left.shares.data() + left.count);
    left.count += right.count;
    remove_chunk(pool, left_at + 1);
}

}  // namespace millpond::feed
