#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <millpond/core/prefetch.hpp>
#include <millpond/feed/detail/level_pool.hpp>

namespace millpond::feed {

/// The price levels of one side of a book, ordered by a key; the largest key is the best. The key is the price of a
/// bid, or the complement of the price of an ask.
///
/// The best level is in the object itself, the others are sorted in chunks; with several chunks, a directory holds the
/// first key of each. A change at the best level touches no other memory, and a change close to it touches one chunk.
/// Any change moves at most one chunk (768 bytes) and one directory (576 bytes), so the worst case is bounded by
/// constants. Two neighbouring chunks that would fill three quarters of one are merged, so kChunks chunks hold at least
/// 1,536 levels.
///
/// Threads: one.
/// Source:  a B+ tree of two levels (Bayer and McCreight 1972), without its root's growth.
class PriceLevels {
public:
    static constexpr std::size_t kChunks = LevelDirectory::kChunks;

    struct Level {
        std::uint32_t key{0};
        std::uint64_t total{0};  ///< A LevelTotal.
    };

    /// Adds to a level. total: 1 or more. Returns false, with nothing changed, if the memory for a new level is
    /// exhausted or the sum is no LevelTotal.
    [[nodiscard]] bool add(LevelPool& pool, std::uint32_t key, std::uint64_t total) noexcept;

    /// Reduces the total of a level, and removes the level if it is 0 then. Returns false if there is no such level.
    bool reduce(LevelPool& pool, std::uint32_t key, std::uint64_t total) noexcept;

    /// The best level; total and key are 0 if there is none.
    [[nodiscard]] Level best() const noexcept { return {best_key_, best_total_}; }

    /// The level of the key; its total is 0 if there is none. O(log levels).
    [[nodiscard]] Level find(const LevelPool& pool, std::uint32_t key) const noexcept;
    /// The level at a place, 0 for the best; its total is 0 if there are fewer. O(1) for the 64 best levels or less,
    /// then O(chunks).
    [[nodiscard]] Level at(const LevelPool& pool, std::size_t place) const noexcept;
    [[nodiscard]] std::size_t size(const LevelPool& pool) const noexcept;
    /// True if the key is behind `places` levels, 1 or more. O(1) as `at`.
    [[nodiscard]] bool is_behind(const LevelPool& pool, std::uint32_t key, std::size_t places) const noexcept {
        if (places > 1 && places <= count_ + 1U) [[likely]]
            return key < pool[last_].keys[count_ + 1U - places];
        return key < at(pool, places - 1).key;
    }

    /// Calls visit(level) from the best to the worst, at most `most` times.
    template <class Visitor>
    void visit(const LevelPool& pool, Visitor&& visitor,
               std::size_t most = std::numeric_limits<std::size_t>::max()) const {
        if (best_total_ == 0 || most == 0) return;
        visitor(best());
        --most;
        for (std::size_t d = used_; d-- > 0;) {
            const auto [chunk, count] = chunk_at(pool, d);
            for (std::size_t i = count; i-- > 0; --most) {
                if (most == 0) return;
                visitor(Level{chunk->keys[i], chunk->totals[i]});
            }
        }
    }

    /// True if a change of this level accesses memory outside the object.
    [[nodiscard]] bool is_behind(std::uint32_t key) const noexcept { return used_ != 0 && key != best_key_; }
    /// Prefetches the keys of the best chunk, and with them the total of a level for which is_behind is true.
    void prefetch_keys(const LevelPool& pool) const noexcept {
        constexpr std::size_t kKeysEach = core::kCacheLine / sizeof(std::uint32_t);
        const auto& chunk = pool[last_];
        for (std::size_t i = 0; i < count_; i += kKeysEach) core::prefetch_for_write(&chunk.keys[i]);
    }
    void prefetch_totals(const LevelPool& pool, std::uint32_t key) const noexcept {
        const auto& chunk = pool[last_];
        core::prefetch_for_write(&chunk.totals[std::max<std::size_t>(place_of(chunk, count_, key), 1) - 1]);
    }

    /// Drops all levels without returning their chunks; use with LevelPool::reset.
    void forget() noexcept { *this = {}; }

private:
    static constexpr std::size_t kLevels = LevelChunk::kLevels;

    /// Number of keys in the chunk that are not above this one. Branch-free, because the branches would be
    /// unpredictable.
    [[nodiscard]] static std::size_t place_of(const LevelChunk& chunk, std::size_t count, std::uint32_t key) noexcept {
        const auto* first = chunk.keys.data();
        for (auto rest = count; rest > 1;) {
            const auto half = rest / 2;
            first += first[half] <= key ? half : 0;
            rest -= half;
        }
        return static_cast<std::size_t>(first - chunk.keys.data()) + (count != 0 && *first <= key ? 1 : 0);
    }
    static void insert(LevelChunk& chunk, std::size_t count, std::size_t at, const Level& level) noexcept;
    static void erase(LevelChunk& chunk, std::size_t count, std::size_t at) noexcept;

    struct Run {
        const LevelChunk* chunk;
        std::size_t count;
    };
    /// A chunk and its number of levels; the last one is the best.
    [[nodiscard]] Run chunk_at(const LevelPool& pool, std::size_t d) const noexcept {
        if (d + 1U == used_) return {&pool[last_], count_};
        const auto& directory = pool.directory(directory_);
        return {&pool[directory.chunks[d]], directory.counts[d]};
    }

    /// Inserts a level that is worse than the best one into its chunk, or adds its total there.
    [[nodiscard]] bool add_behind(LevelPool& pool, const Level& level) noexcept;
    [[nodiscard]] bool add_deep(LevelPool& pool, const Level& level) noexcept;
    bool reduce_behind(LevelPool& pool, const Level& level) noexcept;
    bool reduce_deep(LevelPool& pool, const Level& level) noexcept;
    /// Replaces the removed best level by the next one.
    void advance(LevelPool& pool) noexcept;
    [[nodiscard]] bool split(LevelPool& pool, std::size_t at) noexcept;
    /// Merges or returns chunks after a level of chunk `at` was removed.
    void shrink(LevelPool& pool, std::size_t at) noexcept;
    void shrink_several(LevelPool& pool, std::size_t at) noexcept;
    void merge_if_sparse(LevelPool& pool, LevelDirectory& directory, std::size_t left) noexcept;
    void remove_chunk(LevelPool& pool, LevelDirectory& directory, std::size_t at) noexcept;
    /// Sets the last chunk and its number of levels from the directory, where they may have changed.
    void find_last(const LevelDirectory& directory) noexcept {
        last_ = directory.chunks[used_ - 1U];
        count_ = directory.counts[used_ - 1U];
    }

    std::uint64_t best_total_{0};
    std::uint32_t best_key_{0};
    std::uint32_t last_{0};       // the chunk that holds the levels after the best one
    std::uint32_t directory_{0};  // used with several chunks; its number of levels of the last chunk may be stale
    std::uint8_t used_{0};        // number of chunks
    std::uint8_t count_{0};       // number of levels in the last chunk
};

inline bool PriceLevels::add(LevelPool& pool, std::uint32_t key, std::uint64_t total) noexcept {
    if (best_total_ == 0) {
        best_key_ = key;
        best_total_ = total;
        return true;
    }
    if (key == best_key_) return LevelTotal::add(best_total_, total);
    if (key < best_key_) return add_behind(pool, {key, total});
    if (!add_behind(pool, best())) return false;
    best_key_ = key;
    best_total_ = total;
    return true;
}

inline bool PriceLevels::reduce(LevelPool& pool, std::uint32_t key, std::uint64_t total) noexcept {
    if (key != best_key_) return reduce_behind(pool, {key, total});
    if (best_total_ == 0) return false;
    best_total_ -= std::min(best_total_, total);
    if (best_total_ == 0) advance(pool);
    return true;
}

inline PriceLevels::Level PriceLevels::find(const LevelPool& pool, std::uint32_t key) const noexcept {
    if (key == best_key_) return best();
    for (std::size_t d = used_; d-- > 0;) {
        const auto [chunk, count] = chunk_at(pool, d);
        if (count == 0 || key < chunk->keys[0]) continue;
        const auto place = place_of(*chunk, count, key) - 1;
        return chunk->keys[place] == key ? Level{key, chunk->totals[place]} : Level{};
    }
    return {};
}

inline PriceLevels::Level PriceLevels::at(const LevelPool& pool, std::size_t place) const noexcept {
    if (place == 0) return best();
    --place;
    for (std::size_t d = used_; d-- > 0;) {
        const auto [chunk, count] = chunk_at(pool, d);
        if (place < count) return {chunk->keys[count - 1 - place], chunk->totals[count - 1 - place]};
        place -= count;
    }
    return {};
}

inline std::size_t PriceLevels::size(const LevelPool& pool) const noexcept {
    if (best_total_ == 0) return 0;
    std::size_t levels = 1;
    for (std::size_t d = used_; d-- > 0;) levels += chunk_at(pool, d).count;
    return levels;
}

inline void PriceLevels::insert(LevelChunk& chunk, std::size_t count, std::size_t at, const Level& level) noexcept {
    std::copy_backward(&chunk.keys[at], chunk.keys.data() + count, chunk.keys.data() + count + 1);
    std::copy_backward(&chunk.totals[at], chunk.totals.data() + count, chunk.totals.data() + count + 1);
    chunk.keys[at] = level.key;
    chunk.totals[at] = level.total;
}

inline void PriceLevels::erase(LevelChunk& chunk, std::size_t count, std::size_t at) noexcept {
    std::copy(chunk.keys.data() + at + 1, chunk.keys.data() + count, &chunk.keys[at]);
    std::copy(chunk.totals.data() + at + 1, chunk.totals.data() + count, &chunk.totals[at]);
}

inline bool PriceLevels::add_behind(LevelPool& pool, const Level& level) noexcept {
    if (used_ == 0) {
        const auto first = pool.acquire();
        if (first == LevelPool::kNone) return false;
        last_ = first;
        used_ = 1;
        count_ = 0;
    }
    auto& chunk = pool[last_];
    if (used_ > 1 && level.key < chunk.keys[0]) return add_deep(pool, level);
    const bool above = count_ == 0 || chunk.keys[count_ - 1U] < level.key;  // the former best level
    const auto at = above ? count_ : place_of(chunk, count_, level.key);
    if (!above && at > 0 && chunk.keys[at - 1] == level.key) return LevelTotal::add(chunk.totals[at - 1], level.total);
    if (count_ == kLevels) return split(pool, used_ - 1U) && add_behind(pool, level);
    insert(chunk, count_, at, level);
    ++count_;
    return true;
}

/// Adds a level to a chunk other than the last one.
inline bool PriceLevels::add_deep(LevelPool& pool, const Level& level) noexcept {
    auto& directory = pool.directory(directory_);
    auto d = used_ - 2U;
    while (d > 0 && directory.first_keys[d] > level.key) --d;
    auto& chunk = pool[directory.chunks[d]];
    auto& count = directory.counts[d];
    const auto at = place_of(chunk, count, level.key);
    if (at > 0 && chunk.keys[at - 1] == level.key) return LevelTotal::add(chunk.totals[at - 1], level.total);
    if (count == kLevels) return split(pool, d) && add_deep(pool, level);
    insert(chunk, count, at, level);
    ++count;
    directory.first_keys[d] = chunk.keys[0];
    return true;
}

inline bool PriceLevels::reduce_behind(LevelPool& pool, const Level& level) noexcept {
    if (used_ == 0) return false;
    auto& chunk = pool[last_];
    if (used_ > 1 && level.key < chunk.keys[0]) return reduce_deep(pool, level);
    const auto behind = place_of(chunk, count_, level.key);
    if (behind == 0 || chunk.keys[behind - 1] != level.key) return false;
    auto& total = chunk.totals[behind - 1];
    total -= std::min(total, level.total);
    if (total != 0) return true;
    erase(chunk, count_--, behind - 1);
    shrink(pool, used_ - 1U);
    return true;
}

inline bool PriceLevels::reduce_deep(LevelPool& pool, const Level& level) noexcept {
    auto& directory = pool.directory(directory_);
    auto d = used_ - 2U;
    while (d > 0 && directory.first_keys[d] > level.key) --d;
    auto& chunk = pool[directory.chunks[d]];
    const auto behind = place_of(chunk, directory.counts[d], level.key);
    if (behind == 0 || chunk.keys[behind - 1] != level.key) return false;
    auto& total = chunk.totals[behind - 1];
    total -= std::min(total, level.total);
    if (total != 0) return true;
    erase(chunk, directory.counts[d]--, behind - 1);
    shrink(pool, d);
    return true;
}

inline void PriceLevels::advance(LevelPool& pool) noexcept {
    if (used_ == 0) {
        best_key_ = 0;
        return;
    }
    const auto& chunk = pool[last_];
    --count_;
    best_key_ = chunk.keys[count_];
    best_total_ = chunk.totals[count_];
    shrink(pool, used_ - 1U);
}

inline void PriceLevels::shrink(LevelPool& pool, std::size_t at) noexcept {
    if (used_ > 1) {
        shrink_several(pool, at);
    } else if (count_ == 0) {
        pool.release(last_);
        used_ = 0;
    }
}

}  // namespace millpond::feed

#include <millpond/feed/detail/level_chunks_impl.hpp>
