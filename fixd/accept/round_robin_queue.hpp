#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <list>
#include <utility>

namespace millpond::fixd {

/// A queue for each key, served round-robin: first in, first out within a key, one item of each key in turn.
///
/// Threads: one at a time.
template <class Key, class Item>
class RoundRobinQueue {
public:
    void push(const Key& key, Item item) {
        const auto known = find(key);
        auto& queue = known != queues_.end() ? *known : queues_.emplace_back(Queue{key, {}});
        queue.items.push_back(std::move(item));
        ++size_;
    }
    /// Removes and returns the next item; the queue must not be empty.
    [[nodiscard]] Item pop() {
        auto& queue = queues_.front();
        auto item = std::move(queue.items.front());
        queue.items.pop_front();
        --size_;
        if (queue.items.empty()) {
            queues_.pop_front();
        } else {
            queues_.splice(queues_.end(), queues_, queues_.begin());
        }
        return item;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t size_of(const Key& key) const {
        const auto known = find(key);
        return known == queues_.end() ? 0 : known->items.size();
    }

private:
    struct Queue {
        Key key;
        std::deque<Item> items;
    };
    [[nodiscard]] auto find(const Key& key) { return std::ranges::find(queues_, key, &Queue::key); }
    [[nodiscard]] auto find(const Key& key) const { return std::ranges::find(queues_, key, &Queue::key); }

    std::list<Queue> queues_;
    std::size_t size_{0};
};

}  // namespace millpond::fixd
