#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <millpond/feed/event.hpp>
#include <millpond/market/depth_slot.hpp>

namespace millpond::market {

/// The most levels of a side that a composite publishes.
inline constexpr std::size_t kMaxCompositeDepth = 10;

/// The best levels of a side over several books: levels of the same price are one level with their total size. Exact if
/// each book has its best `depth` levels.
///
/// Cost:    O(depth) for each book.
/// Threads: one.
/// Memory:  264 bytes, in the object.
class LevelSums {
public:
    /// depth: 1 to kMaxCompositeDepth.
    LevelSums(feed::Side side, std::size_t depth) noexcept : side_(side), depth_(depth) {}

    /// levels: of a book, the best one first.
    void add(std::span<const BoardLevel> levels) noexcept;
    /// The best one first.
    [[nodiscard]] std::span<const BoardLevel> levels() const noexcept { return std::span{levels_}.first(count_); }

    /// Calls visit(side, level) for each level that a reader of `before`, who drops what is behind the depth, must
    /// learn. A level without a size is gone.
    template <class Visitor>
    void visit_changes(std::span<const BoardLevel> before, Visitor& visit) const;

private:
    [[nodiscard]] bool is_better(const BoardLevel& a, const BoardLevel& b) const noexcept {
        return side_ == feed::Side::bid ? a.price > b.price : a.price < b.price;
    }
    /// Calls visit(a, b) for each price of two lists from the best one on, until it returns false; null where a list
    /// does not have the price.
    template <class Visitor>
    void merge(std::span<const BoardLevel> a, std::span<const BoardLevel> b, Visitor&& visit) const {
        std::size_t i = 0;
        std::size_t j = 0;
        while (i < a.size() || j < b.size()) {
            const bool has_a = i < a.size() && (j == b.size() || !is_better(b[j], a[i]));
            const bool has_b = j < b.size() && (i == a.size() || !is_better(a[i], b[j]));
            if (!visit(has_a ? &a[i] : nullptr, has_b ? &b[j] : nullptr)) return;
            i += has_a ? 1U : 0U;
            j += has_b ? 1U : 0U;
        }
    }

    std::array<BoardLevel, kMaxCompositeDepth> levels_;
    std::size_t count_{0};
    feed::Side side_;
    std::size_t depth_;
};

inline void LevelSums::add(std::span<const BoardLevel> levels) noexcept {
    const auto before = levels_;
    const auto sum = [](std::uint64_t x, std::uint64_t y) {
        return x > std::numeric_limits<std::uint64_t>::max() - y ? std::numeric_limits<std::uint64_t>::max() : x + y;
    };
    std::size_t count = 0;
    merge(std::span{before}.first(count_), levels, [&](const BoardLevel* a, const BoardLevel* b) {
        if (count == depth_) return false;
        auto& level = levels_[count++];
        level = a != nullptr ? *a : *b;
        if (a != nullptr && b != nullptr) {
            level.size = sum(a->size, b->size);
            level.orders = a->orders == 0 || b->orders == 0 ? 0 : sum(a->orders, b->orders);  // 0: unknown
        }
        return true;
    });
    count_ = count;
}

template <class Visitor>
void LevelSums::visit_changes(std::span<const BoardLevel> before, Visitor& visit) const {
    merge(before, levels(), [&](const BoardLevel* old, const BoardLevel* now) {
        const bool is_dropped = now == nullptr && count_ == depth_ && is_better(levels_[count_ - 1], *old);
        if (is_dropped) return true;
        if (now == nullptr) {
            visit(side_, BoardLevel{.price = old->price, .size = 0, .orders = 0});
        } else if (old == nullptr || old->size != now->size || old->orders != now->orders) {
            visit(side_, *now);
        }
        return true;
    });
}

}  // namespace millpond::market
