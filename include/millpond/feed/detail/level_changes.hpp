#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <millpond/feed/detail/level_groups.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/order_books.hpp>

namespace millpond::feed {

/// Collects the changes that one group makes to the levels of a book, for its events.
///
/// Memory:  4 KiB, and 24 KiB for Levels: keep them.
class LevelChanges {
public:
    /// Changes of a group that waited, and the last one.
    static constexpr std::size_t kMost = LevelGroups::kMaxChanges;

    /// A level of a side.
    struct Sided {
        bool is_bid;
        OrderBooks::Level level;  ///< Without shares if it is gone.
    };

    /// Begins a group; call it before its first change.
    void watch(const OrderBooks& books, std::uint16_t book, std::uint32_t depth) noexcept {
        count_ = 0;
        if (depth == 0 || depth == kFullDepth) return;
        bid_edge_ = books.level_at(book, true, depth - 1);
        ask_edge_ = books.level_at(book, false, depth - 1);
    }
    /// Call it before each change of a level.
    void touch(const OrderBooks& books, std::uint16_t book, bool is_bid, std::uint32_t price) noexcept {
        const auto known = std::ranges::any_of(std::span{touched_}.first(count_), [&](const Touched& each) {
            return each.price == price && each.is_bid == is_bid;
        });
        if (known) return;
        touched_[count_++] = {price, is_bid, books.level(book, is_bid, price).shares};
    }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

    /// The levels that a reader of this depth must learn, after the changes.
    class Levels {
    public:
        [[nodiscard]] std::span<const Sided> all() const noexcept { return std::span{levels_}.first(count_); }

    private:
        friend class LevelChanges;
        void clear() noexcept { count_ = 0; }
        [[nodiscard]] bool has(bool is_bid, std::uint32_t price) const noexcept {
            return std::ranges::any_of(
                all(), [&](const Sided& each) { return each.is_bid == is_bid && each.level.price == price; });
        }
        void put(bool is_bid, const OrderBooks::Level& level) noexcept { levels_[count_++] = {is_bid, level}; }

        std::array<Sided, 3 * kMost> levels_;
        std::size_t count_{0};
    };
    /// depth: 1 to 255, or kFullDepth.
    void levels(const OrderBooks& books, std::uint16_t book, std::uint32_t depth, Levels& levels) const noexcept;

private:
    struct Touched {
        std::uint32_t price;
        bool is_bid;
        std::uint64_t before;  // its shares
    };
    [[nodiscard]] static bool is_behind(bool is_bid, std::uint32_t price, const OrderBooks::Level& last) noexcept {
        return last.shares != 0 && (is_bid ? price < last.price : price > last.price);
    }

    std::array<Touched, kMost> touched_;
    std::size_t count_{0};
    OrderBooks::Level bid_edge_{};  // at the last place before the changes; none if there were fewer levels
    OrderBooks::Level ask_edge_{};
};

inline void LevelChanges::levels(const OrderBooks& books, std::uint16_t book, std::uint32_t depth,
                                 Levels& levels) const noexcept {
    levels.clear();
    const bool is_full = depth == kFullDepth;
    const auto last_of = [&](bool is_bid) {
        return is_full ? OrderBooks::Level{} : books.level_at(book, is_bid, depth - 1);
    };
    const auto bid_last = last_of(true);
    const auto ask_last = last_of(false);
    for (const auto& each : std::span{touched_}.first(count_)) {
        auto level = books.level(book, each.is_bid, each.price);
        level.price = each.price;
        const bool is_gone = level.shares == 0;
        const auto& edge = each.is_bid ? (is_gone ? bid_edge_ : bid_last) : (is_gone ? ask_edge_ : ask_last);
        if (level.shares != each.before && !is_behind(each.is_bid, each.price, edge)) levels.put(each.is_bid, level);
    }
    // Levels that were behind the last place are inside now, because some before them are gone.
    for (const bool is_bid : {true, false}) {
        const auto& edge = is_bid ? bid_edge_ : ask_edge_;
        if (is_full || edge.shares == 0) continue;
        books.visit_levels(
            book, is_bid,
            [&](const OrderBooks::Level& level) {
                if (is_behind(is_bid, level.price, edge) && !levels.has(is_bid, level.price)) levels.put(is_bid, level);
            },
            depth);
    }
}

}  // namespace millpond::feed
