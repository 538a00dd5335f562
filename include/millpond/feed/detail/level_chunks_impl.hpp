#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <millpond/feed/detail/price_levels.hpp>

/// Splits, merges and returns the chunks of a side that has several.
namespace millpond::feed {

inline void PriceLevels::shrink_several(LevelPool& pool, std::size_t at) noexcept {
    auto& directory = pool.directory(directory_);
    directory.counts[used_ - 1U] = count_;
    if (directory.counts[at] == 0) {
        remove_chunk(pool, directory, at);
    } else {
        directory.first_keys[at] = pool[directory.chunks[at]].keys[0];
        if (at + 1 < used_) merge_if_sparse(pool, directory, at);
        if (at > 0) merge_if_sparse(pool, directory, at - 1);
    }
    find_last(directory);
    if (used_ == 1) pool.release_directory(directory_);
}

inline bool PriceLevels::split(LevelPool& pool, std::size_t at) noexcept {
    constexpr auto kHalf = kLevels / 2;
    if (used_ == kChunks) return false;
    const auto fresh = pool.acquire();
    if (fresh == LevelPool::kNone) return false;
    if (used_ == 1) {
        directory_ = pool.acquire_directory();
        pool.directory(directory_).chunks[0] = last_;
        pool.directory(directory_).first_keys[0] = pool[last_].keys[0];
    }
    auto& directory = pool.directory(directory_);
    directory.counts[used_ - 1U] = count_;
    const auto open_up = [&](auto& all) {
        std::copy_backward(all.data() + at + 1, all.data() + used_, all.data() + used_ + 1);
    };
    open_up(directory.first_keys);
    open_up(directory.chunks);
    open_up(directory.counts);
    const auto& left = pool[directory.chunks[at]];
    auto& right = pool[fresh];
    std::copy_n(left.keys.data() + kHalf, kHalf, right.keys.data());
    std::copy_n(left.totals.data() + kHalf, kHalf, right.totals.data());
    directory.chunks[at + 1] = fresh;
    directory.first_keys[at + 1] = right.keys[0];
    directory.counts[at] = directory.counts[at + 1] = kHalf;
    ++used_;
    find_last(directory);
    return true;
}

inline void PriceLevels::remove_chunk(LevelPool& pool, LevelDirectory& directory, std::size_t at) noexcept {
    pool.release(directory.chunks[at]);
    const auto close_up = [&](auto& all) { std::copy(all.data() + at + 1, all.data() + used_, all.data() + at); };
    close_up(directory.first_keys);
    close_up(directory.chunks);
    close_up(directory.counts);
    --used_;
}

inline void PriceLevels::merge_if_sparse(LevelPool& pool, LevelDirectory& directory, std::size_t left_at) noexcept {
    constexpr auto kSparse = kLevels * 3 / 4;
    auto& count = directory.counts[left_at];
    const auto more = directory.counts[left_at + 1];
    if (std::size_t{count} + more > kSparse) return;
    auto& left = pool[directory.chunks[left_at]];
    const auto& right = pool[directory.chunks[left_at + 1]];
    std::copy_n(right.keys.data(), more, left.keys.data() + count);
    std::copy_n(right.totals.data(), more, left.totals.data() + count);
    count = static_cast<std::uint8_t>(count + more);
    remove_chunk(pool, directory, left_at + 1);
}

}  // namespace millpond::feed
