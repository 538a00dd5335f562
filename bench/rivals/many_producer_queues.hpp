#pragma once

#include <cstddef>

#include <boost/lockfree/queue.hpp>

#if __has_include(<concurrentqueue/concurrentqueue.h>)
#include <concurrentqueue/concurrentqueue.h>
#define MILLPOND_BENCH_CONCURRENTQUEUE 1
#endif

/// Widely used queues from many threads to one: push(message) and pop(message), false if full or empty.
namespace millpond::bench {

template <class Message>
class BoostQueue {
public:
    explicit BoostQueue(std::size_t capacity) : queue_(capacity) {}
    bool push(const Message& message) { return queue_.bounded_push(message); }
    bool pop(Message& into) { return queue_.pop(into); }

private:
    boost::lockfree::queue<Message> queue_;
};

#ifdef MILLPOND_BENCH_CONCURRENTQUEUE
/// Keeps the order of each producer only, which is sufficient for the bench.
template <class Message>
class ConcurrentQueue {
public:
    explicit ConcurrentQueue(std::size_t capacity) : queue_(capacity) {}
    bool push(const Message& message) { return queue_.enqueue(message); }
    bool pop(Message& into) { return queue_.try_dequeue(into); }

private:
    moodycamel::ConcurrentQueue<Message> queue_;
};
#endif

}  // namespace millpond::bench
