#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace millpond::feed {

/// Changes of price levels that wait until the last one of their group, by book.
///
/// Threads: one.
/// Memory:  24 bytes per book and 16 per change of kChanges, allocated and touched once in the constructor.
class LevelGroups {
public:
    /// Changes of a group.
    static constexpr std::size_t kMaxChanges = 256;
    /// Changes of all open groups.
    static constexpr std::size_t kChanges = 16'384;

    struct Change {
        std::uint32_t price{0};
        std::uint32_t shares{0};
        bool is_bid{false};
    };

    /// What a book in transition lacks of its group, beside the changes that wait.
    enum class Missing : std::uint8_t {
        nothing,
        in_book,  ///< Changes that the book has already.
        lost,     ///< Changes that were dropped.
    };

    LevelGroups(std::size_t books, std::pmr::memory_resource* memory)
        : groups_(books, Group{}, memory), slots_(kChanges, Slot{}, memory) {
        clear();
    }

    [[nodiscard]] bool is_open(std::uint16_t book) const noexcept { return groups_[book].first != kNone; }
    /// Whether the book is as after its last complete group.
    [[nodiscard]] bool is_settled(std::uint16_t book) const noexcept {
        return groups_[book].first == kNone && groups_[book].missing == Missing::nothing;
    }
    [[nodiscard]] Missing missing(std::uint16_t book) const noexcept { return groups_[book].missing; }
    /// The group lacks more changes, until settle.
    void set_missing(std::uint16_t book, Missing missing) noexcept {
        auto& now = groups_[book].missing;
        if (now == Missing::nothing) ++unsettled_;
        now = missing;
    }
    /// The book's group is complete. Returns what it lacked.
    Missing settle(std::uint16_t book) noexcept {
        close(book);
        if (groups_[book].missing != Missing::nothing) --unsettled_;
        return std::exchange(groups_[book].missing, Missing::nothing);
    }
    /// Number of changes that wait.
    [[nodiscard]] std::size_t size(std::uint16_t book) const noexcept { return groups_[book].count; }
    /// Number of open groups.
    [[nodiscard]] std::size_t open() const noexcept { return open_; }

    /// Adds a change to the book's group, which it opens if there is none. Returns false, with nothing changed, if the
    /// group or all groups have too many.
    [[nodiscard]] bool add(std::uint16_t book, const Change& change, std::int64_t utc_ns) noexcept {
        auto& group = groups_[book];
        if (free_ == kNone || group.count == kMaxChanges) return false;
        const auto slot = free_;
        free_ = slots_[slot].next;
        slots_[slot] = {change, kNone};
        if (group.first == kNone) {
            group.first = slot;
            group.opened_utc_ns = utc_ns;
            link(book);
        } else {
            slots_[group.last].next = slot;
        }
        group.last = slot;
        ++group.count;
        return true;
    }
    /// The changes of the book's group, in order; valid until the next call.
    [[nodiscard]] std::span<const Change> changes(std::uint16_t book) noexcept {
        std::size_t count = 0;
        for (auto slot = groups_[book].first; slot != kNone; slot = slots_[slot].next)
            copied_[count++] = slots_[slot].change;
        return std::span{copied_}.first(count);
    }
    /// Forgets the changes of the book's group, if it is open.
    void close(std::uint16_t book) noexcept {
        auto& group = groups_[book];
        if (group.first == kNone) return;
        slots_[group.last].next = free_;
        free_ = group.first;
        unlink(book);
        group.first = kNone;
        group.count = 0;
    }
    /// Forgets all groups. O(open groups), or O(books) if a group lacks changes.
    void clear() noexcept {
        while (oldest_ != kNoBook) close(oldest_);
        if (std::exchange(unsettled_, 0) != 0) {
            for (auto& group : groups_) group.missing = Missing::nothing;
        }
        if (free_ != kNone) return;
        for (std::uint32_t i = 0; i < kChanges; ++i) slots_[i].next = i + 1 == kChanges ? kNone : i + 1;
        free_ = 0;
    }
    /// Gives all open groups this time. O(open groups).
    void set_opened(std::int64_t utc_ns) noexcept {
        for (auto book = oldest_; book != kNoBook; book = groups_[book].after) groups_[book].opened_utc_ns = utc_ns;
    }
    /// The book of the group that was opened first, if that was at this time or before.
    [[nodiscard]] std::optional<std::uint16_t> oldest(std::int64_t utc_ns) const noexcept {
        if (oldest_ == kNoBook || groups_[oldest_].opened_utc_ns > utc_ns) [[likely]]
            return std::nullopt;
        return oldest_;
    }

private:
    static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
    static constexpr std::uint16_t kNoBook = 0xFFFF;

    struct Group {
        std::uint32_t first{kNone};
        std::uint32_t last{kNone};
        std::int64_t opened_utc_ns{0};
        std::uint16_t count{0};
        std::uint16_t before{kNoBook};  // the book whose group was opened before, and after
        std::uint16_t after{kNoBook};
        Missing missing{Missing::nothing};
    };
    static_assert(sizeof(Group) == 24);
    struct Slot {
        Change change{};
        std::uint32_t next{kNone};
    };

    void link(std::uint16_t book) noexcept {
        auto& group = groups_[book];
        group.before = newest_;
        group.after = kNoBook;
        (newest_ == kNoBook ? oldest_ : groups_[newest_].after) = book;
        newest_ = book;
        ++open_;
    }
    void unlink(std::uint16_t book) noexcept {
        const auto& group = groups_[book];
        (group.before == kNoBook ? oldest_ : groups_[group.before].after) = group.after;
        (group.after == kNoBook ? newest_ : groups_[group.after].before) = group.before;
        --open_;
    }

    std::pmr::vector<Group> groups_;
    std::pmr::vector<Slot> slots_;
    std::array<Change, kMaxChanges> copied_{};
    std::uint32_t free_{kNone};
    std::uint16_t oldest_{kNoBook};
    std::uint16_t newest_{kNoBook};
    std::size_t open_{0};
    std::size_t unsettled_{0};  // groups that lack changes
};

}  // namespace millpond::feed
