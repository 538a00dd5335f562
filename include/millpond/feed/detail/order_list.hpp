#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

#include <millpond/feed/order_books.hpp>

namespace millpond::feed {

/// The orders of each book in the order of their numbers, for snapshots of books: OrderBooks finds an order by its
/// number only. They are listed in parts, between which orders may come and go.
///
/// Threads: one.
/// Memory:  16 bytes per order and per book, and 128 KiB, allocated and touched once in the constructor; none if
///          `orders` is 0.
class OrderList {
public:
    /// orders: maximum number of live orders.
    OrderList(std::size_t books, std::size_t orders, std::pmr::memory_resource* memory)
        : entries_(orders == 0 ? 0 : orders + kMargin, memory), lists_(orders == 0 ? 0 : books, memory) {}

    /// Removes all orders and starts to list those of the books. OrderBooks must not grow. O(1).
    void begin(const OrderBooks& books) noexcept {
        ++generation_;
        used_ = 0;
        free_ = kNone;
        left_ = books.order_slots();
    }
    /// Lists the orders in the next `slots` slots, of the books for which is_needed(book). O(slots).
    template <class IsNeeded>
    void list(const OrderBooks& books, std::size_t slots, IsNeeded&& is_needed) noexcept {
        left_ = books.visit_orders(left_, slots, [&](const OrderStore::Order& order) {
            if (is_needed(order.book)) add(order.book, order.number);
        });
    }
    /// True while there are slots left to list.
    [[nodiscard]] bool is_listing() const noexcept { return left_ != 0; }
    /// Lists an order that was added to the books since `begin`. O(1).
    void add(std::uint16_t book, std::uint64_t number) noexcept {
        auto& list = current(book);
        const auto entry = take();
        if (entry == kNone) [[unlikely]] {
            list.is_whole = false;
            return;
        }
        entries_[entry] = {number, kNone};
        (list.first == kNone ? list.first : entries_[list.last].next) = entry;
        list.last = entry;
    }
    /// False if there was no room for an order of the book since `begin`.
    [[nodiscard]] bool is_whole(std::uint16_t book) const noexcept {
        return lists_[book].generation != generation_ || lists_[book].is_whole;
    }

    /// Sorts the orders of a book by number. O(orders of the book x log of their ascending runs), so one pass if they
    /// are sorted.
    void sort(std::uint16_t book) noexcept;
    /// Calls visit(number) for the orders of a sorted book, once for each. They may be gone from the books.
    template <class Visitor>
    void visit(std::uint16_t book, Visitor&& visitor) const {
        if (lists_[book].generation != generation_) return;
        std::optional<std::uint64_t> before;  // an order that moved in the store was listed twice
        for (auto entry = lists_[book].first; entry != kNone; entry = entries_[entry].next) {
            const auto number = entries_[entry].number;
            if (before != number) visitor(number);
            before = number;
        }
    }
    /// Removes the orders of a book. O(1).
    void remove(std::uint16_t book) noexcept {
        auto& list = current(book);
        if (list.first == kNone) return;
        entries_[list.last].next = free_;
        free_ = std::exchange(list.first, kNone);
    }

private:
    using Index = std::uint32_t;
    static constexpr Index kNone = std::numeric_limits<Index>::max();
    static constexpr std::size_t kMargin = 8'192;  // for orders that are gone or were listed twice
    struct Entry {
        std::uint64_t number{0};
        Index next{kNone};
    };
    struct List {
        Index first{kNone};
        Index last{kNone};            // valid if there is a first one
        std::uint32_t generation{0};  // lists of other generations are empty
        bool is_whole{true};
    };

    [[nodiscard]] List& current(std::uint16_t book) noexcept {
        auto& list = lists_[book];
        if (list.generation != generation_) list = {.generation = generation_};
        return list;
    }
    [[nodiscard]] Index take() noexcept {
        if (free_ != kNone) return std::exchange(free_, entries_[free_].next);
        return used_ == entries_.size() ? kNone : static_cast<Index>(used_++);
    }
    /// Cuts the first ascending run off a list.
    [[nodiscard]] Index cut_run(Index& list) noexcept {
        auto last = list;
        auto next = entries_[last].next;
        for (; next != kNone && entries_[last].number <= entries_[next].number; next = entries_[last].next) last = next;
        entries_[last].next = kNone;
        return std::exchange(list, next);
    }
    [[nodiscard]] Index merge(Index one, Index other) noexcept;

    std::pmr::vector<Entry> entries_;
    std::pmr::vector<List> lists_;
    std::uint32_t generation_{0};
    std::size_t used_{0};  // entries before it are or were in a list
    Index free_{kNone};
    std::size_t left_{0};  // slots of the books that are not listed yet
};

inline OrderList::Index OrderList::merge(Index one, Index other) noexcept {
    if (one == kNone || other == kNone) return one == kNone ? other : one;
    if (entries_[other].number < entries_[one].number) std::swap(one, other);
    const auto first = one;
    for (auto last = one; other != kNone; last = entries_[last].next) {
        const auto next = entries_[last].next;
        if (next == kNone || entries_[other].number < entries_[next].number) {
            entries_[last].next = other;
            other = next;
        }
    }
    return first;
}

inline void OrderList::sort(std::uint16_t book) noexcept {
    if (lists_[book].generation != generation_) return;
    auto& list = lists_[book];
    std::array<Index, 32> merged;  // place i has 2^i runs, or none
    merged.fill(kNone);
    while (list.first != kNone) {
        auto run = cut_run(list.first);
        std::size_t place = 0;
        for (; merged[place] != kNone; ++place) run = merge(std::exchange(merged[place], kNone), run);
        merged[place] = run;
    }
    for (const auto run : merged) list.first = merge(run, list.first);
    if (list.first == kNone) return;
    for (list.last = list.first; entries_[list.last].next != kNone;) list.last = entries_[list.last].next;
}

}  // namespace millpond::feed
