#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <millpond/core/prefetch.hpp>
#include <millpond/feed/detail/level_pool.hpp>

namespace millpond::feed {

/// The price levels of one side of a book, ordered by a key whose largest is the best: the price of a bid, the
/// complement of an ask's.
///
/// The best level is in the object itself, the others in chunks, sorted; of several chunks a directory holds the first
/// keys. What comes and goes at the best level touches no other memory, and what does so close to it one chunk. A
/// change anywhere moves at most one chunk (768 bytes) and one directory (576 bytes), so the worst case is bounded by
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
        std::uint64_t shares{0};
    };

    /// shares: 1 or more. False, with nothing changed, if there is no room for a new level.
    [[nodiscard]] bool add(LevelPool& pool, std::uint32_t key, std::uint64_t shares) noexcept;

    /// False if there is no such level. A level without shares is removed.
    bool take(LevelPool& pool, std::uint32_t key, std::uint64_t shares) noexcept;

    /// No shares and key 0 if there is no level.
    [[nodiscard]] Level best() const noexcept { return {best_key_, best_shares_}; }

    /// Calls visit(level) from the best to the worst.
    template <class Visitor>
    void visit(const LevelPool& pool, Visitor&& visitor) const {
        if (best_shares_ != 0) visitor(best());
        for (std::size_t d = used_; d-- > 0;) {
            const bool last = d + 1U == used_;
            const auto& chunk = pool[last ? last_ : pool.directory(directory_).chunks[d]];
            for (std::size_t i = last ? count_ : pool.directory(directory_).counts[d]; i-- > 0;)
                visitor(Level{chunk.keys[i], chunk.shares[i]});
        }
    }

    /// Whether a change of this level accesses memory outside of the object.
    [[nodiscard]] bool is_behind(std::uint32_t key) const noexcept { return used_ != 0 && key != best_key_; }
    /// Prefetches the keys of the best chunk, and then the shares of a level that is_behind.
    void prefetch_keys(const LevelPool& pool) const noexcept {
        constexpr std::size_t kKeysEach = core::kCacheLine / sizeof(std::uint32_t);
        const auto& chunk = pool[last_];
        for (std::size_t i = 0; i < count_; i += kKeysEach) core::prefetch_for_write(&chunk.keys[i]);
    }
    void prefetch_shares(const LevelPool& pool, std::uint32_t key) const noexcept {
        const auto& chunk = pool[last_];
        core::prefetch_for_write(&chunk.shares[std::max<std::size_t>(place_of(chunk, count_, key), 1) - 1]);
    }

    /// Drops all levels without returning their chunks: for LevelPool::reset.
    void forget() noexcept { *this = {}; }

private:
    static constexpr std::size_t kLevels = LevelChunk::kLevels;

    /// Number of keys in the chunk that are not above this one. Without branches, which would be unpredictable.
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

    /// Inserts a level that is worse than the best one into its chunk, or adds its shares there.
    [[nodiscard]] bool add_behind(LevelPool& pool, const Level& level) noexcept;
    [[nodiscard]] bool add_deep(LevelPool& pool, const Level& level) noexcept;
    bool take_behind(LevelPool& pool, const Level& level) noexcept;
    bool take_deep(LevelPool& pool, const Level& level) noexcept;
    /// Replaces the removed best level by the next one.
    void advance(LevelPool& pool) noexcept;
    [[nodiscard]] bool split(LevelPool& pool, std::size_t at) noexcept;
    /// After a level of chunk `at` was removed.
    void shrink(LevelPool& pool, std::size_t at) noexcept;
    void shrink_several(LevelPool& pool, std::size_t at) noexcept;
    void merge_if_sparse(LevelPool& pool, LevelDirectory& directory, std::size_t left) noexcept;
    void remove_chunk(LevelPool& pool, LevelDirectory& directory, std::size_t at) noexcept;
    /// Takes the last chunk and its number of levels from the directory, where they may have changed.
    void find_last(const LevelDirectory& directory) noexcept {
        last_ = directory.chunks[used_ - 1U];
        count_ = directory.counts[used_ - 1U];
    }

    std::uint64_t best_shares_{0};
    std::uint32_t best_key_{0};
    std::uint32_t last_{0};       // the chunk of the levels after the best one
    std::uint32_t directory_{0};  // with several chunks; the number of levels of the last one may be old
    std::uint8_t used_{0};        // chunks
    std::uint8_t count_{0};       // levels in the last chunk
};

inline bool PriceLevels::add(LevelPool& pool, std::uint32_t key, std::uint64_t shares) noexcept {
    if (best_shares_ == 0) {
        best_key_ = key;
        best_shares_ = shares;
        return true;
    }
    if (key == best_key_) {
        best_shares_ += shares;
        return true;
    }
    if (key < best_key_) return add_behind(pool, {key, shares});
    if (!add_behind(pool, best())) return false;
    best_key_ = key;
    best_shares_ = shares;
    return true;
}

inline bool PriceLevels::take(LevelPool& pool, std::uint32_t key, std::uint64_t shares) noexcept {
    if (key != best_key_) return take_behind(pool, {key, shares});
    if (best_shares_ == 0) return false;
    best_shares_ -= std::min(best_shares_, shares);
    if (best_shares_ == 0) advance(pool);
    return true;
}

inline void PriceLevels::insert(LevelChunk& chunk, std::size_t count, std::size_t at, const Level& level) noexcept {
    std::copy_backward(&chunk.keys[at], chunk.keys.data() + count, chunk.keys.data() + count + 1);
    std::copy_backward(&chunk.shares[at], chunk.shares.data() + count, chunk.shares.data() + count + 1);
    chunk.keys[at] = level.key;
    chunk.shares[at] = level.shares;
}

inline void PriceLevels::erase(LevelChunk& chunk, std::size_t count, std::size_t at) noexcept {
    std::copy(chunk.keys.data() + at + 1, chunk.keys.data() + count, &chunk.keys[at]);
    std::copy(chunk.shares.data() + at + 1, chunk.shares.data() + count, &chunk.shares[at]);
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
    if (!above && at > 0 && chunk.keys[at - 1] == level.key) {
        chunk.shares[at - 1] += level.shares;
        return true;
    }
    if (count_ == kLevels) return split(pool, used_ - 1U) && add_behind(pool, level);
    insert(chunk, count_, at, level);
    ++count_;
    return true;
}

/// Into another chunk than the last one.
inline bool PriceLevels::add_deep(LevelPool& pool, const Level& level) noexcept {
    auto& directory = pool.directory(directory_);
    auto d = used_ - 2U;
    while (d > 0 && directory.first_keys[d] > level.key) --d;
    auto& chunk = pool[directory.chunks[d]];
    auto& count = directory.counts[d];
    const auto at = place_of(chunk, count, level.key);
    if (at > 0 && chunk.keys[at - 1] == level.key) {
        chunk.shares[at - 1] += level.shares;
        return true;
    }
    if (count == kLevels) return split(pool, d) && add_deep(pool, level);
    insert(chunk, count, at, level);
    ++count;
    directory.first_keys[d] = chunk.keys[0];
    return true;
}

inline bool PriceLevels::take_behind(LevelPool& pool, const Level& level) noexcept {
    if (used_ == 0) return false;
    auto& chunk = pool[last_];
    if (used_ > 1 && level.key < chunk.keys[0]) return take_deep(pool, level);
    const auto behind = place_of(chunk, count_, level.key);
    if (behind == 0 || chunk.keys[behind - 1] != level.key) return false;
    auto& shares = chunk.shares[behind - 1];
    shares -= std::min(shares, level.shares);
    if (shares != 0) return true;
    erase(chunk, count_--, behind - 1);
    shrink(pool, used_ - 1U);
    return true;
}

inline bool PriceLevels::take_deep(LevelPool& pool, const Level& level) noexcept {
    auto& directory = pool.directory(directory_);
    auto d = used_ - 2U;
    while (d > 0 && directory.first_keys[d] > level.key) --d;
    auto& chunk = pool[directory.chunks[d]];
    const auto behind = place_of(chunk, directory.counts[d], level.key);
    if (behind == 0 || chunk.keys[behind - 1] != level.key) return false;
    auto& shares = chunk.shares[behind - 1];
    shares -= std::min(shares, level.shares);
    if (shares != 0) return true;
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
    best_shares_ = chunk.shares[count_];
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
