#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <queue>
#include <utility>

namespace millpond::bench {

/// The textbook queue: unbounded, with a mutex and a condition variable.
template <class T>
class LockedQueue {
public:
    void push(T value) {
        {
            const std::scoped_lock lock(mutex_);
            queue_.push(std::move(value));
        }
        filled_.notify_one();
    }

    /// Waits for a value; empty after close().
    std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [this] { return closed_ || !queue_.empty(); });
        return pop_front();
    }

    std::optional<T> try_pop() {
        const std::scoped_lock lock(mutex_);
        return pop_front();
    }

    void close() {
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
        }
        filled_.notify_all();
    }

private:
    std::optional<T> pop_front() {
        if (queue_.empty()) return std::nullopt;
        std::optional<T> value{std::move(queue_.front())};
        queue_.pop();
        return value;
    }

    std::mutex mutex_;
    std::condition_variable filled_;
    std::queue<T> queue_;
    bool closed_{false};
};

}  // namespace millpond::bench
