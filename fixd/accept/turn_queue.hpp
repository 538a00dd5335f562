#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <list>
#include <utility>

namespace millpond::fixd {

/// One queue for each key: first in, first out within a queue, and the queues take turns. A queue that is always full
/// delays the items of another by one item each.
///
/// Threads: one at a time.
template <class Key, class Item>
class TurnQueue {
public:
    void push(const Key& key, Item item) {
        const auto known = find(key);
        auto& line = known != lines_.end() ? *known : lines_.emplace_back(Line{key, {}});
        line.items.push_back(std::move(item));
        ++size_;
    }
    /// The first item of the line whose turn it is; there must be one.
    [[nodiscard]] Item pop() {
        auto& line = lines_.front();
        auto item = std::move(line.items.front());
        line.items.pop_front();
        --size_;
        if (line.items.empty()) {
            lines_.pop_front();
        } else {
            lines_.splice(lines_.end(), lines_, lines_.begin());
        }
        return item;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t size_of(const Key& key) const {
        const auto known = find(key);
        return known == lines_.end() ? 0 : known->items.size();
    }

private:
    struct Line {
        Key key;
        std::deque<Item> items;
    };
    [[nodiscard]] auto find(const Key& key) { return std::ranges::find(lines_, key, &Line::key); }
    [[nodiscard]] auto find(const Key& key) const { return std::ranges::find(lines_, key, &Line::key); }

    std::list<Line> lines_;
    std::size_t size_{0};
};

}  // namespace millpond::fixd
